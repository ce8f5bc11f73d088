const LONGEST = 200;

/**
 * What is wrong with the name of a subject (who a caller authenticated as), as the end of a sentence; undefined when nothing is. It is 1-200
 * visible ASCII characters, `!` to `~`.
 */
export function subjectProblem(value: unknown): string | undefined {
  if (typeof value !== "string") return `it is ${value === null ? "null" : typeof value}, not a text`;
  if (value === "") return "it is empty";
  if (value.length > LONGEST) return `it has ${value.length} characters`;
  const index = value.search(/[^!-~]/);
  if (index === -1) return undefined;
  const point = value.codePointAt(index) ?? 0;
  const name = point === 0x20 ? "a blank" : `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
  return `character ${index + 1} is ${name}`;
}
