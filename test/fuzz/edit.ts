/**
 * Changes to what is good: a value somewhere in JSON is replaced, doubled, moved or dropped; bytes are flipped, cut, put in. An edit is data,
 * so a failure shrinks to the few edits that matter.
 */
import * as fc from "fast-check";

/** What parsers, databases and people trip over. */
const ODD: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  1.5,
  2 ** 31,
  2 ** 53,
  1e308,
  "",
  " ",
  "0",
  "null",
  "\0",
  "\uD800",
  "\u202Eabc",
  "\u001B[2J",
  "__proto__",
  "constructor",
  "../../etc/passwd",
  "' OR 1=1 --",
  "%00%ff",
  "1970-01-01T00:00:00Z",
  "9999-12-31T23:59:59.999999999Z",
  "http://127.0.0.1/",
  "a".repeat(5_000),
  "💩".repeat(300),
  [],
  [[]],
  [null],
  {},
  { "": "" },
  JSON.parse('{"__proto__":{"approved":true}}'),
  JSON.parse(`${"[".repeat(300)}1${"]".repeat(300)}`),
  Array.from({ length: 500 }, () => ({ text: "a" })),
];

const ACTIONS = ["replace", "drop", "double", "add", "wrap", "copy"] as const;

interface Edit {
  readonly action: (typeof ACTIONS)[number];
  /** Picks a place: the remainder by how many there are. */
  readonly place: number;
  readonly other: number;
  readonly value: unknown;
}

const edits: fc.Arbitrary<Edit> = fc.record({
  action: fc.constantFrom(...ACTIONS),
  place: fc.nat(1_000),
  other: fc.nat(1_000),
  value: fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...ODD) }, { weight: 1, arbitrary: fc.jsonValue() }),
});

/** Good values, and values near them. */
export function near(good: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const some = fc.oneof(
    { weight: 1, arbitrary: fc.constant([]) },
    { weight: 4, arbitrary: fc.array(edits, { maxLength: 3 }) },
  );
  return fc.tuple(good, some).map(([value, changes]) => changes.reduce(change, value));
}

type Path = readonly (string | number)[];

function change(value: unknown, { action, place, other, value: odd }: Edit): unknown {
  const paths = pathsIn(value);
  const at = paths[place % paths.length]!;
  switch (action) {
    case "replace":
      return put(value, at, odd);
    case "copy":
      return put(value, at, at_(value, paths[other % paths.length]!));
    case "wrap":
      return put(value, at, other % 2 === 0 ? [at_(value, at)] : { value: at_(value, at) });
    case "drop":
      return put(value, at, undefined);
    case "double": {
      const there = at_(value, at);
      return put(value, at, Array.isArray(there) ? [...there, ...there] : [there, there]);
    }
    case "add": {
      const there = at_(value, at);
      const name = typeof odd === "string" ? odd : `more${other}`;
      return typeof there === "object" && there !== null && !Array.isArray(there)
        ? put(value, at, { ...there, [name]: odd })
        : put(value, at, odd);
    }
  }
}

function pathsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null || path.length > 8) return [path];
  const below = Object.keys(value).slice(0, 50);
  return [path, ...below.flatMap((key) => pathsIn((value as Record<string, unknown>)[key], [...path, key]))];
}

function at_(value: unknown, path: Path): unknown {
  let there = value;
  for (const key of path) there = (there as Record<string | number, unknown>)[key];
  return there;
}

/** A copy with another value at a path; undefined takes it out. */
function put(value: unknown, [key, ...rest]: Path, odd: unknown): unknown {
  if (key === undefined) return odd;
  if (Array.isArray(value)) {
    const copy = [...value];
    if (rest.length === 0 && odd === undefined) copy.splice(Number(key), 1);
    else copy[Number(key)] = put(copy[Number(key)], rest, odd);
    return copy;
  }
  const entries = Object.entries(value as object).flatMap(([name, one]) => {
    const now = name === String(key) ? put(one, rest, odd) : one;
    return now === undefined ? [] : [[name, now] as const];
  });
  return Object.fromEntries(entries);
}

const BYTE_ACTIONS = ["flip", "cut", "insert", "repeat", "swap"] as const;

interface ByteEdit {
  readonly action: (typeof BYTE_ACTIONS)[number];
  readonly place: number;
  readonly length: number;
  readonly bytes: string;
}

/** Pieces that mean something to one reader or another. */
const PIECES = [
  "\0",
  "\r\n",
  "\n",
  "\uFEFF",
  '"',
  "\\",
  "\\u0000",
  "\\ud800",
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  "1e999",
  "-",
  "ÿ",
  "\xc0\xaf",
  "\r\n\r\n",
  "HTTP/1.1",
  "Content-Length: 5",
  "Transfer-Encoding: chunked",
  "%00",
  "/../",
];

const byteEdits: fc.Arbitrary<ByteEdit> = fc.record({
  action: fc.constantFrom(...BYTE_ACTIONS),
  place: fc.nat(100_000),
  length: fc.nat(64),
  bytes: fc.oneof(fc.constantFrom(...PIECES), fc.string({ unit: "binary", maxLength: 8 })),
});

/** Texts, one character a byte (latin1), and texts near them. */
export function nearBytes(good: fc.Arbitrary<string>, most = 4): fc.Arbitrary<string> {
  return fc
    .tuple(good, fc.array(byteEdits, { maxLength: most }))
    .map(([text, changes]) => changes.reduce(changeBytes, text));
}

function changeBytes(text: string, { action, place, length, bytes }: ByteEdit): string {
  const at = text.length === 0 ? 0 : place % (text.length + 1);
  const end = Math.min(text.length, at + length);
  switch (action) {
    case "flip": {
      const code = (text.charCodeAt(at) || 0) ^ (1 << (length % 8));
      return `${text.slice(0, at)}${String.fromCharCode(code & 0xff)}${text.slice(at + 1)}`;
    }
    case "cut":
      return text.slice(0, at) + text.slice(end);
    case "insert":
      return text.slice(0, at) + latin1(bytes) + text.slice(at);
    case "repeat":
      return text.slice(0, end) + text.slice(at, end) + text.slice(end);
    case "swap":
      return text.slice(end) + text.slice(0, end);
  }
}

/** As characters of one byte each. */
export function latin1(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}
