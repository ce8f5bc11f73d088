import { AccessError } from "./errors.ts";

const LONGEST = 200;

/**
 * A subject's name, checked: 1-200 visible ASCII characters (`!` to `~`, so no blank either). They are compared exactly.
 * Every way in, be it a key, a token or an embedder's own `authenticate`, goes through here.
 *
 * @throws AccessError `subject.invalid`: what is wrong, and where.
 */
export function checkSubject(value: unknown): string {
  if (typeof value !== "string") throw invalid(`it is ${value === null ? "null" : typeof value}, not a text`);
  if (value === "") throw invalid("it is empty");
  if (value.length > LONGEST) throw invalid(`it has ${value.length} characters`);
  const index = value.search(/[^!-~]/);
  if (index === -1) return value;
  const point = value.codePointAt(index) ?? 0;
  const name = point === 0x20 ? "a blank" : `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
  throw invalid(`character ${index + 1} is ${name}`);
}

function invalid(why: string): AccessError {
  return new AccessError(
    "subject.invalid",
    `A subject must be 1-${LONGEST} visible ASCII characters, such as "ada" or "team/ada"; ${why}.`,
  );
}
