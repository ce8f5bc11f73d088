/** Where a file lies in an agent's outputs (files/v1): stricter than the schema, so that whoever unpacks it can keep it. */

const MOST_CHARACTERS = 1024;
/** Of a segment, in bytes of UTF-8: what file systems take for a name. */
const MOST_BYTES = 255;

/** What is wrong with a path, as the end of a sentence that begins with it; undefined when nothing is. */
export function pathProblem(path: string): string | undefined {
  if (typeof path !== "string") return `must be a text; it is ${path === null ? "null" : typeof path}`;
  if (path === "") return "must not be empty";
  if (!path.isWellFormed()) return "must be well-formed Unicode; it has half of a surrogate pair";
  if ([...path].length > MOST_CHARACTERS) return `must have at most ${MOST_CHARACTERS} characters`;
  if (path.startsWith("/")) return "must be relative; it begins with /";
  if (path.includes("\\")) return "must be divided by /; it has a backslash";
  if (/\p{Cc}/u.test(path)) return "must not have control characters";
  for (const segment of path.split("/")) {
    if (segment === "") return "must not have an empty segment";
    if (segment === "." || segment === "..") return `must not have the segment ${segment}`;
    if (utf8Length(segment) > MOST_BYTES) return `must have segments of at most ${MOST_BYTES} bytes`;
  }
  return undefined;
}

/** In bytes, counted by hand: TextEncoder is none of the language, and this runs where there is nothing else. */
function utf8Length(text: string): number {
  let length = 0;
  for (const character of text) {
    const point = character.codePointAt(0)!;
    length += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x1_0000 ? 3 : 4;
  }
  return length;
}
