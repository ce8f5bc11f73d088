/**
 * A small reader of ProtoJSON, driven by tables: what it is given is a parsed JSON value, what it returns has the right types.
 *
 * Names may be lowerCamelCase or snake_case, unknown fields are ignored, `null` is absent, and so is an empty string unless the
 * field is one of a choice; enums go by name. It copies what the tables name and nothing else; free-form JSON (`struct`,
 * `anyJson`) passes through as it is and is never assigned key by key, so a key named `__proto__` stays a key.
 *
 * It is on the path of every message: a reader returns `undefined` and notes what is wrong, and paths are put together only then.
 */
import type { FieldViolation } from "./errors.ts";
import type { Struct } from "./types.ts";

/** Levels of nesting in free-form JSON, as protobuf's own parsers allow. */
export const MAX_DEPTH = 100;

/** What is noted of a request that is wrong; then reading stops. */
const MAX_VIOLATIONS = 20;

/** Reads one value that is not null. `undefined`: absent, or wrong and noted, with the path from this value on. */
export type Reader<T> = (value: unknown, violations: FieldViolation[]) => T | undefined;

/** A field that must be there; `missing` says so in other words than "is required". */
export interface RequiredField<T> {
  readonly required: Reader<T>;
  readonly missing?: string;
}

export type Fields<T> = { readonly [Name in keyof T]-?: Reader<Exclude<T[Name], undefined>> | RequiredField<T[Name]> };

/** A second look at an object whose fields are all right by themselves. */
export type Refine<T> = (result: T, source: Readonly<Record<string, unknown>>, violations: FieldViolation[]) => void;

interface Row {
  readonly name: string;
  /** The same as `name` when it has no capital. */
  readonly snake: string;
  readonly read: Reader<unknown>;
  readonly missing: string | undefined;
}

/** A message of the protocol: the fields of the table, in the table's order. */
export function object<T extends object>(fields: Fields<T>, refine?: Refine<T>): Reader<T> {
  const rows: readonly Row[] = Object.entries<Reader<unknown> | RequiredField<unknown>>(fields).map(
    ([name, field]) => ({
      name,
      snake: name.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`),
      read: typeof field === "function" ? field : field.required,
      missing: typeof field === "function" ? undefined : (field.missing ?? "is required"),
    }),
  );
  return (value, violations) => {
    if (!isObject(value)) return note(violations, `must be an object; it is ${kindOf(value)}`);
    const before = violations.length;
    const result: Record<string, unknown> = {};
    for (let i = 0; i < rows.length && violations.length < MAX_VIOLATIONS; i++) {
      const row = rows[i] as Row;
      let given = value[row.name];
      if (row.snake !== row.name) {
        const other = value[row.snake];
        if (other !== undefined && other !== null) {
          if (given !== undefined && given !== null) {
            violations.push({ field: row.name, description: `is given twice, as ${row.name} and ${row.snake}` });
            continue;
          }
          given = other;
        }
      }
      const noted = violations.length;
      const read = given === undefined || given === null ? undefined : row.read(given, violations);
      if (violations.length > noted) prefix(violations, noted, row.name);
      else if (read !== undefined) result[row.name] = read;
      else if (row.missing !== undefined) violations.push({ field: row.name, description: row.missing });
    }
    if (refine !== undefined && violations.length === before) refine(result as T, value, violations);
    return result as T;
  };
}

/** A repeated field. Longer than `max` is refused before any item is looked at. Empty is absent. */
export function list<T>(item: Reader<T>, max: number): Reader<readonly T[]> {
  return (value, violations) => {
    if (!Array.isArray(value)) return note(violations, `must be an array; it is ${kindOf(value)}`);
    if (value.length === 0) return undefined;
    if (value.length > max) return note(violations, `must hold at most ${max} items; it holds ${value.length}`);
    const result: T[] = [];
    for (let i = 0; i < value.length && violations.length < MAX_VIOLATIONS; i++) {
      const noted = violations.length;
      const given: unknown = value[i];
      const read =
        given === undefined || given === null ? note(violations, "must not be null") : item(given, violations);
      if (violations.length > noted) prefix(violations, noted, `[${i}]`);
      else result.push(read as T);
    }
    return result;
  };
}

/** Says what is wrong with a text, or nothing. */
export type Check = (text: string) => string | undefined;

/** A string, `""` included. */
export function text(check?: Check): Reader<string> {
  return (value, violations) => {
    if (typeof value !== "string") return note(violations, `must be a string; it is ${kindOf(value)}`);
    const wrong = check?.(value);
    return wrong === undefined ? value : note(violations, wrong);
  };
}

/** A string; `""` is absent, as everywhere in proto3. */
export function string(check?: Check): Reader<string> {
  const read = text(check);
  return (value, violations) => (value === "" ? undefined : read(value, violations));
}

/**
 * A string that is kept as a key: 1 to `max` UTF-16 units. A lone surrogate would be stored as another string than was sent, and a NUL
 * not in every database.
 */
export function id(max: number): Reader<string> {
  return string((value) => {
    if (value.length > max) return `must have at most ${max} characters; it has ${value.length}`;
    if (!value.isWellFormed()) return "must be well-formed Unicode; it holds half of a surrogate pair";
    return value.includes("\0") ? "must not hold a NUL" : undefined;
  });
}

/** An int32 as a number or, as ProtoJSON allows, its decimal digits in a string. */
export function integer(min: number, max: number): Reader<number> {
  return (value, violations) => {
    const number = typeof value === "string" && /^-?\d{1,10}$/.test(value) ? Number(value) : value;
    if (typeof number === "number" && Number.isInteger(number) && number >= min && number <= max) return number + 0;
    const came = typeof value === "number" ? value : kindOf(value);
    return note(violations, `must be an integer from ${min} to ${max}; it is ${came}`);
  };
}

export const boolean: Reader<boolean> = (value, violations) =>
  typeof value === "boolean" ? value : note(violations, `must be true or false; it is ${kindOf(value)}`);

/** An enum by name. `unspecified`, if there is such a name, is absent. */
export function enumeration<Name extends string>(names: readonly Name[], unspecified?: string): Reader<Name> {
  return (value, violations) => {
    if (value === unspecified) return undefined;
    return names.includes(value as Name)
      ? (value as Name)
      : note(violations, `must be ${names.length === 1 ? "" : "one of "}${names.join(", ")}; it is ${shown(value)}`);
  };
}

/**
 * Base64, standard or URL-safe, padded or not; returned as standard and padded.
 */
export const bytes: Reader<string> = (value, violations) => {
  if (typeof value !== "string") return note(violations, `must be a base64 string; it is ${kindOf(value)}`);
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(value)) return note(violations, "must be base64; it holds other characters");
  const padding = value.endsWith("==") ? 2 : value.endsWith("=") ? 1 : 0;
  const over = (value.length - padding) % 4;
  if (over === 1 || (padding > 0 && value.length % 4 !== 0))
    return note(violations, "must be base64; its length is wrong");
  const standard = /[-_]/.test(value) ? value.replaceAll("-", "+").replaceAll("_", "/") : value;
  return padding > 0 || over === 0 ? standard : standard + "=".repeat(4 - over);
};

const TIMESTAMP = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))$/;

/**
 * ISO 8601 with a time zone, up to nanoseconds; returned as `YYYY-MM-DDTHH:mm:ss.sssZ`. Rounded **up** to milliseconds: then what
 * is recorded in milliseconds is at or after the one exactly when it is at or after the other.
 */
export const timestamp: Reader<string> = (value, violations) => {
  const wrong = `must be an ISO 8601 time such as 2026-10-28T10:30:00.000Z; it is ${shown(value)}`;
  const match = typeof value === "string" ? TIMESTAMP.exec(value) : null;
  if (!match) return note(violations, wrong);
  const [, date = "", time = "", fraction = "", sign, hours, minutes] = match;
  const seconds = Date.parse(`${date}${time}Z`);
  // Date.parse takes the 30th of February and 24:00 for the day after.
  if (Number.isNaN(seconds) || new Date(seconds).toISOString().slice(0, 10) !== date) return note(violations, wrong);
  if (sign !== undefined && (Number(hours) > 23 || Number(minutes) > 59)) return note(violations, wrong);
  const offset = sign === undefined ? 0 : (Number(hours) * 60 + Number(minutes)) * (sign === "-" ? -60_000 : 60_000);
  const utc = new Date(seconds + Math.ceil(Number(fraction.padEnd(9, "0")) / 1e6) - offset).toISOString();
  return utc.length === 24 ? utc : note(violations, wrong);
};

/** A JSON object with keys of the sender's own. */
export const struct: Reader<Struct> = (value, violations) => {
  if (!isObject(value)) return note(violations, `must be an object; it is ${kindOf(value)}`);
  return isDeeper(value, MAX_DEPTH) ? note(violations, TOO_DEEP) : value;
};

/** Any JSON value. null is for the message around it to find: here it would be absent. */
export const anyJson: Reader<unknown> = (value, violations) =>
  isDeeper(value, MAX_DEPTH) ? note(violations, TOO_DEEP) : value;

const TOO_DEEP = `must not be nested deeper than ${MAX_DEPTH} levels`;

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (isDeeper(value[i], levels - 1)) return true;
    return false;
  }
  for (const key in value) if (isDeeper((value as Record<string, unknown>)[key], levels - 1)) return true;
  return false;
}

/** Notes what is wrong with the value at hand; its path is completed by those who read what holds it. */
export function note(violations: FieldViolation[], description: string): undefined {
  violations.push({ field: "", description });
}

function prefix(violations: FieldViolation[], from: number, name: string): void {
  for (let i = from; i < violations.length; i++) {
    const { field, description } = violations[i] as FieldViolation;
    const path = field === "" || field.startsWith("[") ? name + field : `${name}.${field}`;
    violations[i] = { field: path, description };
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "missing";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value.slice(0, 60)) : kindOf(value);
}
