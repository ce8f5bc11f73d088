/** Loads the files in which authors define their Agents. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { AgentError, isAgent } from "@nylorun/agents";
import type { Agent } from "@nylorun/agents";

import { RuntimeError } from "./errors.ts";

/** How long a file may take to load, in milliseconds: one that awaits for ever at its top level would hang the start. */
const PATIENCE = 60_000;
/** Characters of an error that a sentence has room for. */
const LONGEST_REASON = 300;

/**
 * The agents that the files export, by default or by name, in the order of the files. An agent that is exported twice counts once.
 *
 * @param files Relative to `cwd`, or absolute.
 * @throws RuntimeError `agents.invalid`, `agents.duplicate`: which file, and why.
 */
export async function loadAgents(
  files: readonly string[],
  cwd: string,
  { patienceMs = PATIENCE }: { readonly patienceMs?: number } = {},
): Promise<readonly Agent[]> {
  const found = new Map<string, { readonly agent: Agent; readonly file: string }>();
  for (const file of files) {
    for (const agent of await loadFile({ file, path: resolve(cwd, file), patienceMs })) {
      const earlier = found.get(agent.id);
      if (earlier?.agent === agent) continue;
      if (earlier !== undefined) throw duplicate(agent.id, earlier.file, file);
      found.set(agent.id, { agent, file });
    }
  }
  return [...found.values()].map(({ agent }) => agent);
}

/**
 * Makes sure that no two agents have one id.
 *
 * @throws RuntimeError `agents.duplicate`, `agents.invalid`.
 */
export function checkAgents(agents: readonly Agent[]): void {
  const ids = new Set<string>();
  for (const agent of agents) {
    if (!isAgent(agent)) throw new RuntimeError("agents.invalid", "agents must be made by defineAgent({…}).");
    if (ids.has(agent.id))
      throw new RuntimeError("agents.duplicate", `Two agents have the id "${agent.id}". Rename one.`);
    ids.add(agent.id);
  }
}

async function loadFile(options: {
  readonly file: string;
  readonly path: string;
  readonly patienceMs: number;
}): Promise<readonly Agent[]> {
  const { file, path, patienceMs } = options;
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new RuntimeError("agents.invalid", `${file}: there is no such file.`);
  if (stat.isDirectory()) throw new RuntimeError("agents.invalid", `${file} is a folder. Name the files in it.`);

  let exported: Record<string, unknown>;
  try {
    exported = (await within(patienceMs, import(pathToFileURL(path).href))) as Record<string, unknown>;
  } catch (error) {
    throw new RuntimeError("agents.invalid", `${file} does not load: ${reason(error, path)}`, { cause: error });
  }
  const agents = new Set(Object.values(exported).filter(isAgent));
  if (agents.size === 0) {
    throw new RuntimeError("agents.invalid", `${file} exports no agent. Write: export default defineAgent({…}).`);
  }
  return [...agents];
}

async function within<T>(patienceMs: number, loading: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  // The timer also keeps the process from ending silently when nothing else would wake the file up.
  const timer = setTimeout(() => reject(new Error(`it is not done after ${patienceMs / 1000} s`)), patienceMs);
  try {
    return await Promise.race([loading, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The error in one line, with the place in the file where there is one. */
function reason(error: unknown, path: string): string {
  if (!(error instanceof Error)) return `it throws ${String(error).replaceAll(/\s+/g, " ")}.`;
  const message = error.message.replaceAll(/\s+/g, " ").trim().replace(/\.$/, "");
  const place = placeOf(error, path);
  const kind = error instanceof AgentError || error.name === "Error" ? "" : `${error.name}: `;
  // Parsers name everything they would have taken instead.
  const short = message.length > LONGEST_REASON ? `${message.slice(0, LONGEST_REASON)}…` : message;
  return `${kind}${short}${place === undefined ? "" : ` (line ${place})`}.`;
}

/** The line of `path` that the error came from: a frame of the stack, or the place at the head of a syntax error's. */
function placeOf(error: Error, path: string): string | undefined {
  for (const line of error.stack?.split("\n") ?? []) {
    for (const name of [pathToFileURL(path).href, path]) {
      const at = line.indexOf(`${name}:`);
      const place = at === -1 ? undefined : /^\d+/.exec(line.slice(at + name.length + 1))?.[0];
      if (place !== undefined) return place;
    }
  }
  return undefined;
}

function duplicate(id: string, one: string, other: string): RuntimeError {
  const where = one === other ? `${one} exports two agents` : `${one} and ${other} export two agents`;
  return new RuntimeError("agents.duplicate", `${where} with the id "${id}". Rename one.`);
}
