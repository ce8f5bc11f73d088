/**
 * Rehearses the turns that have not ended, of a home or of a database that nodes share, with the agents of some files: reads only,
 * whoever serves them.
 */
import type { Agent } from "@nylorun/agents";

import { createTaskIds } from "../access/task-ids.ts";
import { keptFiles } from "../files/kept.ts";
import type { StoredTurns } from "../store/stored-turns.ts";
import type { TurnRecord } from "../turn/record.ts";
import { rehearse } from "../turn/rehearsal.ts";
import type { RehearsalPorts } from "../turn/rehearsal.ts";
import { loadAgents } from "./agents.ts";
import { createEntropy } from "./entropy.ts";
import { blobsOf } from "./files.ts";
import { databaseOf, isHome, missingHome } from "./home.ts";
import { misfit } from "./schema.ts";
import type { Settings } from "./settings.ts";
import { asyncContext, hearRejections } from "./unheard.ts";

/** A turn that would be held. */
export interface Misfit {
  readonly taskId: string;
  readonly agent: string;
  /** The version of the code that the turn began under. */
  readonly agentVersion: string;
  readonly subject: string;
  readonly contextId: string;
  readonly state: TurnRecord["state"];
  readonly statusAt: number;
  /** Which entry it is, what was recorded, and what the code does instead. */
  readonly why: string;
}

export interface ReplayCheck {
  /** How many turns were rehearsed. */
  readonly checked: number;
  readonly misfits: readonly Misfit[];
  /** The agents of the files, with their versions. */
  readonly agents: readonly { readonly id: string; readonly version: string }[];
}

export interface ReplayCheckOptions {
  readonly settings: Settings;
  /** Files of agents, relative to `cwd`. */
  readonly files: readonly string[];
  readonly cwd: string;
}

/** Turns that are read, and rehearsed, in one go. */
const atOnce = 32;
/** How long code may take to make a recorded call, when it awaits something outside, in milliseconds. */
const stallMs = 5000;

/** @throws RuntimeError `home.missing`, `agents.invalid`, `agents.duplicate`; StoreError. */
export async function replayCheck({ settings, files, cwd }: ReplayCheckOptions): Promise<ReplayCheck> {
  using _ = hearRejections();
  const agents = await loadAgents(files, cwd);
  const versions = agents.map(({ id, version }) => ({ id, version }));
  await using turns = await openTurns(settings);
  const ports = turns && (await portsOf(turns, settings));
  if (turns === undefined || ports === undefined) return { checked: 0, misfits: [], agents: versions };
  const misfits: Misfit[] = [];
  let checked = 0;
  for (const agent of agents) {
    for await (const page of unfinished(turns, agent.id)) {
      checked += page.length;
      const found = await Promise.all(page.map((turn) => check({ turn, turns, agent, ports })));
      misfits.push(...found.filter((one) => one !== undefined));
    }
  }
  return { checked, misfits, agents: versions };
}

async function check({
  turn,
  turns,
  agent,
  ports,
}: {
  readonly turn: TurnRecord;
  readonly turns: StoredTurns;
  readonly agent: Agent;
  readonly ports: RehearsalPorts;
}): Promise<Misfit | undefined> {
  // Somebody may be writing: what came after the turn was read is not part of it.
  const journal = (await turns.loadJournal(turn, 0)).slice(0, turn.length);
  const why = await rehearse({ turn, journal, agent }, ports);
  if (why === undefined) return undefined;
  const { agentVersion, subject, contextId, state, statusAt } = turn;
  const taskId = ports.taskIds.encode(turn);
  return { taskId, agent: agent.id, agentVersion, subject, contextId, state, statusAt, why };
}

async function* unfinished(turns: StoredTurns, agent: string): AsyncGenerator<readonly TurnRecord[]> {
  let after: string | undefined;
  do {
    const page = await turns.listUnfinished({ agent, limit: atOnce, ...(after !== undefined && { after }) });
    yield page.turns;
    after = page.next;
  } while (after !== undefined);
}

/** Undefined when nothing has been served from it yet. */
async function openTurns({ home, databaseUrl: url, databaseSchema: schema }: Settings) {
  if (url !== undefined) {
    const { openStoredTurns } = await import("../store/postgres/read-only.ts");
    return openStoredTurns({ url, schema });
  }
  if (!isHome(home)) throw missingHome(home);
  const { openStoredTurns } = await import("../store/sqlite/read-only.ts");
  return openStoredTurns(databaseOf(home));
}

/** Undefined when nothing has ever been served: then there are no turns either. */
async function portsOf(store: StoredTurns, settings: Settings): Promise<RehearsalPorts | undefined> {
  const key = await store.secret("task-id");
  const seed = await store.secret("turn-seed");
  if (key === undefined || seed === undefined) return undefined;
  return {
    store,
    taskIds: createTaskIds(key),
    entropy: createEntropy(seed),
    limits: { ...settings, replayStallMs: stallMs },
    files: keptFiles({ store, blobs: blobsOf(settings.home, settings) }),
    asyncContext,
    misfit,
  };
}
