/** `docs/a2a/conformance.md` and `docs/progress/conformance.md`, made from the requirements. */
import type { Answer, Requirement, Section } from "./requirement.ts";

export interface Page {
  readonly title: string;
  readonly intro: string;
  readonly sections: readonly Section[];
  /** From the page to the root of the repository. */
  readonly toRoot: string;
}

const MARK =
  "<!-- Made by test/conformance/generate.ts from test/conformance/sources/. Do not edit: `npm run generate`. -->";

export function pageText({ title, intro, sections, toRoot }: Page): string {
  const requirements = sections.flatMap((one) => one.requirements);
  const lines = [MARK, "", `# ${title}`, "", intro, "", ...countsOf(requirements), ""];
  const deviations = requirements.filter(({ answer }) => answer.kind === "deviates");
  if (deviations.length > 0) {
    lines.push("## Where we deviate", "", "| id | requirement | why |", "|---|---|---|");
    lines.push(...deviations.map((one) => `| \`${one.id}\` | ${cell(one.text)} | ${whyOf(one.answer)} |`), "");
  }
  for (const [name, group] of Map.groupBy(sections, (one) => one.document.name)) {
    const { at } = group[0]!.document;
    lines.push(`## ${name}`, "", `From [${nameOf(at)}](${at.startsWith("https:") ? at : `${toRoot}${at}`}).`, "");
    for (const one of group) lines.push(...sectionLines(one));
  }
  return `${lines.join("\n").trimEnd()}\n`;
}

function countsOf(requirements: readonly Requirement[]): string[] {
  const count = (kind: Answer["kind"]): number => requirements.filter(({ answer }) => answer.kind === kind).length;
  return [
    "| | |",
    "|---|---|",
    `| requirements | ${requirements.length} |`,
    `| kept, each with a test that fails when it is not | ${count("kept")} |`,
    `| deviated from on purpose, each with a test that fails when it no longer is | ${count("deviates")} |`,
    `| left to who runs or calls it | ${count("left")} |`,
  ];
}

function sectionLines({ number, title, requirements }: Section): string[] {
  const heading = /^\d/.test(number) ? `${number} ${title}` : title;
  const rows = requirements.map(
    ({ id, level, text, answer }) => `| \`${id}\` | ${level} | ${cell(text)} | ${answerText(answer)} |`,
  );
  return [`### ${heading}`, "", "| id | level | requirement | answer |", "|---|---|---|---|", ...rows, ""];
}

function answerText(answer: Answer): string {
  switch (answer.kind) {
    case "kept":
      return answer.how === undefined ? "yes" : cell(answer.how);
    case "deviates":
      return `**no**: ${cell(answer.why)}`;
    case "left":
      return `left to ${cell(answer.to)}`;
  }
}

function whyOf(answer: Answer): string {
  return answer.kind === "deviates" ? cell(answer.why) : "";
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

function nameOf(at: string): string {
  return at.startsWith("https:") ? new URL(at).pathname.split("/").slice(1, 3).join("/") : at;
}
