/** What is wrong between the requirements, the tests that cite them, and the official test kit. */
import type { Citation } from "./citations.ts";
import type { Requirement, Section } from "./requirement.ts";

export interface Gate {
  readonly sections: readonly Section[];
  readonly citations: readonly Citation[];
  readonly tck: readonly string[];
}

/** One line for each problem; none: every requirement is answered, and every answer is tested. */
export function problemsOf({ sections, citations, tck }: Gate): string[] {
  const requirements = sections.flatMap((one) => one.requirements);
  const byId = new Map(requirements.map((one) => [one.id, one]));
  const problems: string[] = [];
  const seen = new Set<string>();
  for (const { id } of requirements) {
    if (seen.has(id)) problems.push(`${id} is the id of two requirements`);
    seen.add(id);
  }
  for (const citation of citations) {
    const problem = problemWith(citation, byId.get(citation.id));
    if (problem !== undefined) problems.push(`${citation.file}:${citation.line} ${problem}`);
  }
  const cited = new Set(citations.map(({ id }) => id));
  for (const { id, answer } of requirements) {
    if (cited.has(id) || answer.kind === "left") continue;
    problems.push(`${id} is cited by no test: // ${answer.kind === "kept" ? "keeps" : "deviates"}: ${id}`);
  }
  const restated = new Set(requirements.flatMap((one) => one.tck));
  for (const id of tck) if (!restated.has(id)) problems.push(`${id} of the test kit is re-stated by no requirement`);
  for (const id of restated) if (!tck.includes(id)) problems.push(`${id} is no requirement of the test kit`);
  return problems;
}

function problemWith({ kind, id }: Citation, requirement: Requirement | undefined): string | undefined {
  if (requirement === undefined) return `cites ${id}, which is no requirement`;
  const { answer } = requirement;
  if (answer.kind === "left") return `${kind} ${id}, which is left to ${answer.to}: say that it is kept here`;
  if (answer.kind === "kept" && kind === "deviates") return `deviates from ${id}, which is said to be kept`;
  if (answer.kind === "deviates" && kind === "keeps") return `keeps ${id}, which is said to be deviated from`;
  return undefined;
}
