/**
 * The pages of docs/ and what is fenced in them. The first word after the backquotes is the language, as ever; the rest is the mark,
 * which says what a test does with it and which no reader sees:
 *
 * | mark                              | what it is                                                                |
 * |-----------------------------------|---------------------------------------------------------------------------|
 * | `json METHOD to AGENT`            | the params of a request that is sent                                      |
 * | `json METHOD to AGENT, plainly`   | the same, with no extension activated                                     |
 * | `json answer`, `json error`       | `result` or `error` of the answer to the request before                   |
 * | `json TYPE`                       | a value of a type of the protocol's                                       |
 * | `sh run`                          | a command that is run between the requests                                |
 * | `ts`, `tsx`                       | a whole file                                                              |
 * | `html`                            | what stands in a page, which is opened                                    |
 * | `ts test`                         | a whole file of tests, which pass                                         |
 * | `ts from FILE`                    | an excerpt of a file of the repository                                    |
 * | `python verify`, `bash verify`, … | how a webhook is verified in that language                                |
 * | `ts in run`                       | what stands in an agent's `run`                                           |
 * | `ts in run, throws`               | the same; what it throws is in the fence behind it, `text thrown`         |
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "../..");

export interface Fence {
  /** `docs/agents.md:12`: where its text begins. */
  readonly at: string;
  readonly language: string;
  /** What stands behind the language; empty when nothing does. */
  readonly mark: string;
  readonly text: string;
}

export interface Page {
  /** Below the root. */
  readonly path: string;
  readonly text: string;
  readonly fences: readonly Fence[];
}

/** @param path Below the root. */
export function readPage(path: string): Page {
  const text = readFileSync(join(ROOT, path), "utf8");
  return { path, text, fences: fencesIn(path, text) };
}

/** What comes with each package. */
export function packagePages(): readonly Page[] {
  return globSync("packages/*/README.md", { cwd: ROOT }).toSorted().map(readPage);
}

/** Those of docs/ that are text. */
export function docsPages(): readonly Page[] {
  return globSync("docs/**/*.md", { cwd: ROOT }).toSorted().map(readPage);
}

function fencesIn(path: string, text: string): Fence[] {
  const fences: Fence[] = [];
  let open: { at: string; language: string; mark: string; lines: string[] } | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    const [, language = "", mark = ""] = /^```(\S*) ?(.*)$/.exec(line) ?? [];
    if (open === undefined) {
      if (line.startsWith("```")) open = { at: `${path}:${index + 2}`, language, mark, lines: [] };
    } else if (line === "```") {
      fences.push({ at: open.at, language: open.language, mark: open.mark, text: `${open.lines.join("\n")}\n` });
      open = undefined;
    } else open.lines.push(line);
  }
  if (open !== undefined) throw new Error(`${open.at}: the fence is never closed.`);
  return fences;
}
