/**
 * Runs an agent's code against what a turn has recorded, as far as the record goes, to find out whether the code fits it (E5). Nothing
 * comes of it: no effect runs, nothing is written, and what the code asks for beyond the record never comes back.
 */
import type { Agent, Turn } from "@nylorun/agents";

import type { Store } from "../store/store.ts";
import { loadEarlier } from "./earlier.ts";
import type { Entry } from "./journal.ts";
import type { EngineOptions, EnginePorts, Files } from "./ports.ts";
import type { CalledTask } from "./recall.ts";
import type { TurnRecord } from "./record.ts";
import { Run } from "./run.ts";
import { pause, systemTimers } from "./timers.ts";
import { noTracer } from "./trace.ts";
import { released, stateOf } from "./view.ts";

export interface Rehearsed {
  readonly turn: TurnRecord;
  readonly journal: readonly Entry[];
  readonly agent: Agent;
}

/** Turns of the event loop after which nothing more follows from the last delivery. */
const aftermath = 3;
/** Turns of the event loop in which most code meets what is recorded. */
const promptly = 1000;

/** Of the store, a rehearsal asks for what came before. */
export type RehearsalPorts = Omit<EngineOptions, "agents" | "store" | "signal" | "log" | "files"> & {
  readonly store: Pick<Store, "loadEarlier" | "now">;
  readonly files: Pick<Files, "decode" | "stream">;
};

/**
 * @param ports `replayStallMs` is how long code may take, which awaits something that is not
 *   `turn`'s, until it makes a call that is recorded.
 * @returns Why the turn would be held; undefined when the code fits.
 */
export async function rehearse(rehearsed: Rehearsed, ports: RehearsalPorts): Promise<string | undefined> {
  const threw: unknown[] = [];
  return begin(rehearsed, ports, {
    onThrow: (error) => threw.push(error),
    then({ holding }) {
      const why = holding?.message;
      return why === undefined || threw.length === 0 ? why : `${why}; it threw ${String(threw[0])}`;
    },
  });
}

/**
 * The tasks at other agents that a parked turn waits for. What it takes to reach some of the agents only the code knows: then it is run as far as
 * the record goes.
 */
export async function calledBy(
  turn: TurnRecord,
  agent: Agent | undefined,
  ports: EnginePorts,
): Promise<readonly CalledTask[]> {
  const waits = (turn.view.waits ?? []).filter((wait) => wait.kind === "task");
  const plain = waits
    .filter(({ auth }) => auth !== true)
    .map(({ agent: to, task }) => ({ callee: { agent: to }, task }));
  if (plain.length === waits.length || agent === undefined) return plain;
  try {
    const journal = (await ports.store.loadJournal(turn, 0)).slice(0, turn.length);
    return await begin({ turn, journal, agent }, ports, {
      onThrow: () => undefined,
      then: ({ delegations }) => [...delegations].flatMap(({ open }) => open ?? []),
    });
  } catch (error) {
    ports.log.warn(
      { error, task: ports.taskIds.encode(turn) },
      "It is not known how to cancel what a turn has called for.",
    );
    return plain;
  }
}

async function begin<Found>(
  { turn, journal, agent }: Rehearsed,
  ports: RehearsalPorts,
  { onThrow, then }: { readonly onThrow: (error: unknown) => void; readonly then: (run: Run) => Found },
): Promise<Found> {
  const view = released(turn.view);
  const claim = { epoch: 0, turn: { ...turn, view, state: stateOf(view) }, journal, first: false };
  const run = new Run({
    claim,
    agent: inert(agent, onThrow),
    leaseUntil: Infinity,
    ports: withoutConsequence(ports, claim.turn),
    goesOn: () => false,
  });
  run.earlier = await loadEarlier(ports, turn);
  const end = run.start();
  await Promise.race([end, metOrHeld(run)]);
  const found = then(run);
  await run.stop();
  await end;
  return found;
}

/** Resolves when the run has met all that is recorded, or is to be held. */
async function metOrHeld(run: Run): Promise<void> {
  let quiet = 0;
  for (let turns = 0; quiet < aftermath && run.holding === undefined && run.isOurs; turns++) {
    quiet = run.behind ? 0 : quiet + 1;
    // Who is behind for so long awaits something outside: there is no hurry.
    if (turns < promptly) await new Promise((resolve) => setImmediate(resolve));
    else await pause(run.ports.timers, 1);
  }
}

const never = () => new Promise<never>(() => undefined);

/** The agent, whose effects and looks at connections never come back. */
function inert(agent: Agent, onThrow: (error: unknown) => void): Agent {
  const watched = (turn: Turn): Turn => ({
    ...turn,
    effect: (name, _run, options) => turn.effect(name, never, options),
    connect: (connection) => turn.connect({ ...connection, verify: never }),
  });
  return {
    ...agent,
    async run(turn) {
      try {
        return await agent.run(watched(turn));
      } catch (error) {
        onThrow(error);
        throw error;
      }
    },
  };
}

/** The ports of a run that is heard by nobody, and whose writes are taken and forgotten. */
function withoutConsequence(ports: RehearsalPorts, turn: TurnRecord): EnginePorts {
  const silent = () => undefined;
  // All that a run asks of a store.
  const store: Pick<Store, "commit" | "renew" | "loadTurn" | "loadJournal" | "now"> & {
    readonly files: Pick<Store["files"], "lastVersion">;
  } = {
    commit: async ({ length, entries = [] }) => ({
      kind: "committed",
      length: length + entries.length,
      next: undefined,
    }),
    renew: async () => [],
    loadTurn: async () => turn,
    loadJournal: async () => [],
    // What the function returns is nobody's output.
    files: { lastVersion: never },
    now: () => ports.store.now(),
  };
  return {
    timers: systemTimers,
    tracer: noTracer,
    ...ports,
    agents: [],
    files: { ...ports.files, keep: never, keepFolder: never, fetch: never },
    // No line comes about, so nothing is sent, and nobody is looked at.
    callees: { reach: never },
    store: store as unknown as Store,
    signal: {
      turnChanged: silent,
      onTurn: () => silent,
      onTurns: () => silent,
      due: silent,
      onDue: () => silent,
      announced: silent,
      onAnnounced: () => silent,
      erased: silent,
      onErased: () => silent,
      async [Symbol.asyncDispose]() {},
    },
    log: { debug: silent, info: silent, warn: silent, error: silent },
  };
}
