/**
 * Which tests say which requirements. A citation is a comment right above a test, or above a group of tests, of any `*.test.ts` file:
 *
 *     // keeps: a2a-3.1.4-order, profile-list-stable
 *     // deviates: a2a-3.2.2-blocking
 *     it("…", …
 *
 * One that is above nothing, or above a test that does not run (`skip`, `todo`), is an error: it would keep nothing.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Citation {
  readonly kind: "keeps" | "deviates";
  readonly id: string;
  readonly file: string;
  readonly line: number;
}

export interface Citations {
  readonly citations: readonly Citation[];
  /** What is written as a citation and is none: `file:line why`. */
  readonly problems: readonly string[];
}

const COMMENT = /^\s*\/\/ (keeps|deviates):(.*)$/;
const TEST = /^\s*(?:await )?(?:it|test|describe)\(/;
/** A comment, or the head of a loop that makes tests, may stand between. */
const BETWEEN = /^\s*(?:\/\/.*|for \(.*\{)$/;

/** @param root Of the repository. */
export function readCitations(root: string): Citations {
  const files = globSync("{packages,test,examples,scripts,bench}/**/*.test.ts", {
    cwd: root,
    exclude: ["**/node_modules/**", "**/dist/**"],
  }).toSorted();
  const found = files.map((file) => citationsIn(file, readFileSync(join(root, file), "utf8")));
  return {
    citations: found.flatMap(({ citations }) => citations),
    problems: found.flatMap(({ problems }) => problems),
  };
}

export function citationsIn(file: string, text: string): Citations {
  const lines = text.split("\n");
  const citations: Citation[] = [];
  const problems: string[] = [];
  lines.forEach((line, index) => {
    const [, kind, list] = COMMENT.exec(line) ?? [];
    if (kind === undefined || list === undefined) return;
    const below = lines.slice(index + 1).find((next) => !BETWEEN.test(next));
    const at = `${file}:${index + 1}`;
    if (below === undefined || !TEST.test(below)) {
      problems.push(`${at} stands above no test that runs: put it right above it(, test( or describe(`);
      return;
    }
    const ids = list.split(",").map((id) => id.trim());
    for (const id of ids) {
      if (id === "") problems.push(`${at} cites nothing between two commas`);
      else citations.push({ kind: kind as Citation["kind"], id, file, line: index + 1 });
    }
  });
  return { citations, problems };
}
