/**
 * The definition of an Agent: what its card says, and the function that does the work.
 * Everything is checked here, once; who holds an {@link Agent} need not check again.
 */
import { subjectProblem } from "@nylorun/protocol";

import type { Reply } from "./answer.ts";
import { AgentError } from "./errors.ts";
import type { Turn } from "./turn.ts";

/** What an author writes. {@link defineAgent} checks it and fills in the defaults. */
export interface AgentDefinition {
  /** Its name in URLs: `[a-z0-9][a-z0-9-]{0,63}`. */
  readonly id: string;
  /** Its name for people. */
  readonly name: string;
  /** What it does, for people and other agents that choose whom to ask. */
  readonly description: string;
  /** The version of this code, such as `1.0.0`. Each turn records the version that it began under. */
  readonly version: string;
  /** What it can do, each shown on the card (A2A 1.0, section 4.4.5). At least one. */
  readonly skills: readonly Skill[];
  /** Media types that it takes; wildcards as in `text/*`. A message with any other part is refused. Default: text/plain. */
  readonly inputModes?: readonly string[];
  /** Media types that it answers with. Default: text/plain, application/json. */
  readonly outputModes?: readonly string[];
  /**
   * Who may use it: subjects, each as callers authenticate, 1-200 visible ASCII characters, compared exactly. For all others it does not exist:
   * not its card, nor the tasks that they had with it before. Default: everybody with a key or a token.
   */
  readonly subjects?: readonly string[];
  /**
   * Does the work of one turn. After a crash it is run again from the start.
   *
   * What it returns is the output: a text, or any other JSON value, becomes the artifact `output`; `reply(…)` answers with a
   * Message; nothing at all completes the task without an artifact. What it throws fails the task (the caller sees that
   * it failed, never the error's text), unless it is {@link refuse}'s.
   */
  run(turn: Turn): Output | Promise<Output>;
}

/** A text, any other JSON value, a {@link Reply}, or nothing. */
// oxlint-disable-next-line typescript/no-invalid-void-type -- a run that returns nothing is typed void
export type Output = string | number | boolean | null | object | Reply | undefined | void;

export interface Skill {
  /** Unique within the agent. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Keywords, at least one. */
  readonly tags: readonly string[];
  /** Prompts that this skill can handle. */
  readonly examples?: readonly string[];
}

/** A checked definition, ready to be served. Made by {@link defineAgent}. */
export interface Agent extends AgentDefinition {
  readonly inputModes: readonly string[];
  readonly outputModes: readonly string[];
}

const agentBrand = Symbol.for("nylorun.agent");

/**
 * Defines an Agent. Export it as a module's default, and `nylorun serve <file>` serves it over A2A 1.0.
 *
 * ```ts
 * export default defineAgent({
 *   id: "echo",
 *   name: "Echo",
 *   description: "Answers with what it was told.",
 *   version: "1.0.0",
 *   skills: [{ id: "echo", name: "Echo", description: "Repeats a text.", tags: ["text"] }],
 *   run: (turn) => turn.text,
 * });
 * ```
 *
 * @throws AgentError `agent.invalid`: which field, what was expected, what came.
 */
export function defineAgent(definition: AgentDefinition): Agent {
  if (typeof definition !== "object" || definition === null) {
    throw new AgentError(
      "agent.invalid",
      `defineAgent() takes an object with id, name, … and run; it got ${typeof definition}.`,
    );
  }
  const id = text(definition.id, "id", "");
  const where = `Agent ${JSON.stringify(id)}`;
  if (!/^[a-z0-9][a-z0-9-]{0,63}$/.test(id)) {
    throw new AgentError(
      "agent.invalid",
      `${where}: id must be 1-64 of a-z, 0-9 and "-", and begin with a letter or a digit.`,
    );
  }
  if (typeof definition.run !== "function") {
    throw new AgentError(
      "agent.invalid",
      `${where}: run must be a function that takes the turn; it is ${typeof definition.run}.`,
    );
  }
  const agent: Agent = {
    id,
    name: text(definition.name, "name", where),
    description: text(definition.description, "description", where),
    version: text(definition.version, "version", where),
    skills: skills(definition.skills, where),
    inputModes: modes(definition.inputModes ?? ["text/plain"], "inputModes", where),
    outputModes: modes(definition.outputModes ?? ["text/plain", "application/json"], "outputModes", where),
    ...(definition.subjects !== undefined && { subjects: subjects(definition.subjects, where) }),
    run: (turn) => definition.run(turn),
  };
  return Object.freeze(Object.assign(agent, { [agentBrand]: true }));
}

/** Whether `value` was made by {@link defineAgent}, of this copy of the package or another one. */
export function isAgent(value: unknown): value is Agent {
  return typeof value === "object" && value !== null && agentBrand in value;
}

function text(value: unknown, field: string, where: string): string {
  if (typeof value === "string" && value.trim() !== "") return value;
  const came = value === undefined ? "it is missing" : value === "" ? "it is empty" : `it is ${JSON.stringify(value)}`;
  throw new AgentError("agent.invalid", `${where === "" ? "An agent" : where}: ${field} must be a text; ${came}.`);
}

function skills(value: unknown, where: string): readonly Skill[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw new AgentError("agent.invalid", `${where}: skills must list at least one {id, name, description, tags}.`);
  }
  const seen = new Set<string>();
  return value.map((skill: Partial<Skill> | null, index) => {
    const at = `skills[${index}]`;
    const checked = {
      id: text(skill?.id, `${at}.id`, where),
      name: text(skill?.name, `${at}.name`, where),
      description: text(skill?.description, `${at}.description`, where),
      tags: list(skill?.tags, `${at}.tags`, where),
    };
    if (seen.has(checked.id)) {
      throw new AgentError(
        "agent.invalid",
        `${where}: ${at}.id is ${JSON.stringify(checked.id)}, which an earlier skill has.`,
      );
    }
    seen.add(checked.id);
    return skill?.examples === undefined
      ? checked
      : { ...checked, examples: list(skill.examples, `${at}.examples`, where) };
  });
}

function list(value: unknown, field: string, where: string): readonly string[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw new AgentError("agent.invalid", `${where}: ${field} must list at least one text.`);
  }
  return value.map((item, index) => text(item, `${field}[${index}]`, where));
}

function subjects(value: unknown, where: string): readonly string[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw new AgentError(
      "agent.invalid",
      `${where}: subjects must list at least one; left out, everybody may use the agent.`,
    );
  }
  for (const subject of value as readonly unknown[]) {
    const problem = subjectProblem(subject);
    if (problem === undefined) continue;
    throw new AgentError(
      "agent.invalid",
      `${where}: subjects has ${JSON.stringify(subject)}, which is none: ${problem}. A subject is 1-200 visible ASCII characters.`,
    );
  }
  return Object.freeze([...(value as readonly string[])]);
}

function modes(value: unknown, field: string, where: string): readonly string[] {
  return list(value, field, where).map((mode) => {
    if (/^[\w.+*-]+\/[\w.+*-]+$/.test(mode)) return mode.toLowerCase();
    throw new AgentError(
      "agent.invalid",
      `${where}: ${field} has ${JSON.stringify(mode)}, which is no media type such as text/plain or image/*.`,
    );
  });
}
