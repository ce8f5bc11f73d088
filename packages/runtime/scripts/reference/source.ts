/** What source files say that no module exports: numbers by name, and the codes of errors with what is said about each. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export const PACKAGES = join(import.meta.dirname, "../../..");

/** @param file Below `packages/`. */
export function sourceOf(file: string): string {
  return readFileSync(join(PACKAGES, file), "utf8");
}

/** The value of `const NAME = …;` whose value is arithmetic. @throws When there is none, or it is something else. */
export function numberIn(file: string, name: string): number {
  const [, sum] = new RegExp(`const ${name} = ([^;]+);`).exec(sourceOf(file)) ?? [];
  if (sum === undefined)
    throw new Error(`${file} has no const ${name}: say in scripts/reference/limits.ts where it is`);
  const factors = sum
    .replaceAll("_", "")
    .split("*")
    .map((factor) => factor.trim());
  const value = factors.map((factor) => (/^\d+$/.test(factor) ? Number(factor) : numberIn(file, factor)));
  return value.reduce((product, factor) => product * factor, 1);
}

export interface Code {
  readonly code: string;
  readonly text: string;
}

/** The members of `export type NAME = | "code" …`, each with the comment above it. */
export function codesIn(file: string, type: string): Code[] {
  // A semicolon in a comment ends nothing.
  const [, union] = new RegExp(`export type ${type} =((?:/\\*[^]*?\\*/|[^;])+);`).exec(sourceOf(file)) ?? [];
  if (union === undefined)
    throw new Error(`${file} has no type ${type}: say in scripts/reference/errors.ts where it is`);
  const codes: Code[] = [];
  let text = "";
  for (const [, comment, code] of union.matchAll(/\/\*\*([^]*?)\*\/|\| "([^"]+)"/g)) {
    if (comment !== undefined) text = comment.replaceAll(/\s*\n\s*\*?\s*/g, " ").trim();
    if (code !== undefined) codes.push({ code, text });
  }
  const bare = codes.find((one) => one.text === "");
  if (codes.length === 0 || bare) throw new Error(`${file}: each code of ${type} needs a comment above it`);
  return codes;
}
