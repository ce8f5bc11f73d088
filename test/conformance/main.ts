/**
 * `npm run conformance`: each requirement, how it is answered, and the tests that say so. With `--check` it prints what is wrong between
 * them (a requirement without a test, a citation of nothing), and exits with 1 if anything is.
 */
import { resolve } from "node:path";

import { readCitations } from "./citations.ts";
import type { Citation } from "./citations.ts";
import { problemsOf } from "./gate.ts";
import { SECTIONS } from "./requirements.ts";
import { TCK } from "./tck.ts";

const ROOT = resolve(import.meta.dirname, "../..");

function table(citations: readonly Citation[]): string {
  const byId = Map.groupBy(citations, ({ id }) => id);
  const lines = SECTIONS.flatMap(({ document, number, title, requirements }) => [
    `${document.name} ${number} ${title}`,
    ...requirements.flatMap(({ id, level, text, answer }) => [
      `  ${id}  ${level}  ${answer.kind}  ${text}`,
      ...(byId.get(id) ?? []).map(({ file, line }) => `      ${file}:${line}`),
    ]),
  ]);
  return lines.join("\n");
}

function main(check: boolean): void {
  const { citations, problems: misread } = readCitations(ROOT);
  if (!check) process.stdout.write(`${table(citations)}\n`);
  const problems = [...misread, ...problemsOf({ sections: SECTIONS, citations, tck: TCK })];
  const count = SECTIONS.flatMap((one) => one.requirements).length;
  if (problems.length === 0) process.stdout.write(`${count} requirements, ${citations.length} citations\n`);
  else {
    process.stderr.write(`${problems.join("\n")}\n${problems.length} problems\n`);
    process.exitCode = 1;
  }
}

main(process.argv.includes("--check"));
