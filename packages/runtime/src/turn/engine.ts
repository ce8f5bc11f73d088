/**
 * The engine's face: what the rooms around it ask for. Everything a caller may ask is scoped to its subject and one agent (I7).
 */
import { isInterrupted, isTerminal, taskNotCancelable, taskNotFound, taskStateOf } from "@nylorun/protocol";
import type { ExtensionUri, Message } from "@nylorun/protocol";

import type { PushTarget } from "../store/push.ts";
import type { Commit, TurnPage, TurnQuery } from "../store/store.ts";
import { noSuchAgent } from "./callee.ts";
import type { Callees } from "./callee.ts";
import { lineTo } from "./colleague.ts";
import { Inbox } from "./inbox.ts";
import { unfinished } from "./journal.ts";
import type { EffectEnded, EffectLost, EffectRetried } from "./journal.ts";
import { resultOf } from "./json.ts";
import type { EngineOptions, EnginePorts } from "./ports.ts";
import { recall } from "./recall.ts";
import type { TurnKey, TurnRecord } from "./record.ts";
import { calledBy } from "./rehearsal.ts";
import { Runner } from "./runner.ts";
import { systemTimers } from "./timers.ts";
import { noTracer, traceWaits } from "./trace.ts";
import { advance, advanceEnded, ended, released, stateOf } from "./view.ts";
import type { Ending } from "./view.ts";

/** Who asks, and whom. */
export interface Scope {
  readonly subject: string;
  readonly agent: string;
}

export interface Incoming extends Scope {
  readonly message: Message;
  /** The extensions that the request activated. */
  readonly active: ReadonlySet<ExtensionUri>;
  /** W3C trace context; made anew when the request had none. */
  readonly traceparent: string | undefined;
  /** A webhook that is to hear of the turn that takes the message. */
  readonly push?: PushTarget | undefined;
}

/** What an operator says of an effect whose outcome was lost (E9). */
export type Resolution =
  | { readonly outcome: "completed"; readonly value: unknown }
  | { readonly outcome: "failed"; readonly message: string }
  | { readonly outcome: "retry" };

/** An operator asked for what cannot be done. */
export class EngineError extends Error {
  override readonly name = "EngineError";
  readonly code: "effect.ended";

  constructor(code: EngineError["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/** What is to become of a turn as it is now; undefined: nothing. */
type Decision = Omit<Commit, "key" | "length"> | undefined;

/** Turns that need an operator, read in one go. */
const troubledAtOnce = 500;
/** Of those, so many are shown: the oldest. */
const troubledShown = 1000;
/** How often a turn that somebody waits for is looked at without a signal, where others than this process may change it. */
const lookAgainMs = 3000;

export interface Engine extends AsyncDisposable {
  /** How many turns run here. */
  readonly running: number;
  start(): Promise<void>;
  /** Takes no new work, gives running turns `graceMs` to end, and lets the rest go so that the next start resumes them. */
  stop(options: { readonly graceMs: number }): Promise<void>;

  /**
   * Takes a message: begins a turn, queues one, or answers one that waits. Resolves when it is durably stored (I1).
   *
   * @throws A2aError as wire.md's *Contexts, turns, tasks* says.
   */
  send(incoming: Incoming): Promise<TurnRecord>;
  /** @throws A2aError -32001. */
  get(scope: Scope, taskId: string): Promise<TurnRecord>;
  /** CANCELED at once. @throws A2aError -32001, -32002. */
  cancel(scope: Scope, taskId: string): Promise<TurnRecord>;
  list(query: TurnQuery): Promise<TurnPage>;
  /** Resolves with the turn when it has ended or waits for its caller, or as it is after `timeoutMs` or when `signal` is aborted. */
  settled(
    turn: TurnRecord,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<TurnRecord>;

  /** Turns of everybody with effects whose outcome is lost, oldest first: for operators. */
  lost(): Promise<readonly TurnRecord[]>;
  /**
   * Says what became of a lost effect, or lets it be tried once more: the old attempt may still be running. False when no such
   * effect is lost.
   *
   * @throws EngineError `effect.ended`: a retry, and the turn has ended.
   */
  resolve(effectId: string, resolution: Resolution): Promise<boolean>;
  /** Held turns of everybody, oldest first: for operators. */
  held(): Promise<readonly TurnRecord[]>;
  /** Lets a held turn run again. False when it is not held. */
  release(key: TurnKey): Promise<boolean>;
  /** Ends a held turn as failed; the caller sees `reason`. False when it is not held. */
  fail(key: TurnKey, reason?: string): Promise<boolean>;
}

export function createEngine(given: EngineOptions): Engine {
  const byId = new Map(given.agents.map((agent) => [agent.id, agent]));
  const others = given.callees ?? noOthers;
  const callees: Callees = {
    async reach(callee, asked) {
      const agent = byId.get(callee.agent);
      if (agent === undefined) return others.reach(callee, asked);
      return lineTo(agent, asked.turn, { engine, callees: others, taskIds });
    },
  };
  const options: EnginePorts = { timers: systemTimers, tracer: noTracer, ...given, callees };
  const { store, signal, taskIds, limits, timers } = options;
  const runner = new Runner(options, byId);
  const inbox = new Inbox(options, runner);
  let stopped: Promise<void> | undefined;

  const find = async (scope: Scope, taskId: string): Promise<TurnRecord> => {
    const key = taskIds.decode(taskId);
    const turn = key && (await store.loadTurn(key));
    if (turn === undefined || turn.subject !== scope.subject || turn.agent !== scope.agent) throw taskNotFound(taskId);
    return turn;
  };

  /** Changes a turn by what it is now, until nobody was faster. */
  const change = async (
    turn: TurnRecord | undefined,
    decide: (turn: TurnRecord) => Decision | Promise<Decision>,
  ): Promise<TurnRecord | undefined> => {
    let current = turn;
    for (let tries = 0; tries < 100 && current !== undefined; tries++) {
      const decided = await decide(current);
      if (decided === undefined) return current;
      const { length, revision } = current;
      const committed = await store.commit({ ...decided, key: current, length, revision });
      if (committed.kind === "committed") traceWaits(options, current, decided);
      current = await store.loadTurn(current);
      if (committed.kind === "committed") return current;
    }
    throw new Error("A turn changed a hundred times while it was to be changed.");
  };

  /** Ends a turn from outside. Effects of which nothing is known but that they were begun are named from then on (E16). */
  const endingOf = async (turn: TurnRecord, ending: Ending): Promise<Decision> => {
    const journal = turn.length === 0 ? [] : (await store.loadJournal(turn, 0)).slice(0, turn.length);
    const at = store.now();
    const entries = unfinished(journal).map((of): EffectLost => ({ kind: "lost", of, at, why: "aborted" }));
    const view = entries.reduce(
      (before, entry, index) => advanceEnded(before, entry, turn.length + index, journal),
      ended(turn.view, ending),
    );
    return { ...(entries.length > 0 && { entries }), view, state: ending.state, then: { do: "end" } };
  };

  /** Of a turn that nobody runs: who runs one recalls what it has called for. */
  const recallParked = async (turn: TurnRecord): Promise<void> => {
    if (runner.runs(turn)) return;
    const agent = byId.get(turn.agent);
    for (const task of await calledBy(turn, agent, options)) void recall(options, turn, task);
  };

  /** The turns that need an operator, oldest first, however many. */
  async function* troubled(): AsyncGenerator<TurnRecord> {
    for (let after: number | undefined; ;) {
      const page = await store.listTroubled(troubledAtOnce, after);
      yield* page;
      if (page.length < troubledAtOnce) return;
      after = page.at(-1)!.turn;
    }
  }

  const oldest = async (is: (turn: TurnRecord) => boolean, most = troubledShown): Promise<readonly TurnRecord[]> => {
    const found: TurnRecord[] = [];
    for await (const turn of troubled()) {
      if (is(turn)) found.push(turn);
      if (found.length === most) break;
    }
    return found;
  };

  const engine: Engine = {
    get running() {
      return runner.running;
    },

    async start() {
      for await (const turn of troubled()) {
        if (turn.state !== "held") continue;
        // New code may fit what the old did not, or serve what was not served (E5).
        const code = turn.view.held?.code;
        if (byId.has(turn.agent) && (code === "journal.diverged" || code === "agent.missing")) await this.release(turn);
      }
      runner.start();
    },

    stop: ({ graceMs }) => (stopped ??= runner.stop(graceMs)),

    send: (incoming) => inbox.take(incoming),

    get: find,

    async cancel(scope, taskId) {
      const turn = await find(scope, taskId);
      if (turn.state === "canceled") return turn;
      let before = turn;
      const now = await change(turn, async (current) => {
        before = current;
        if (current.state === "canceled") return undefined;
        if (isTerminal(taskStateOf(current.state))) throw taskNotCancelable(taskId, "The task has ended already.");
        const ending = await endingOf(current, { state: "canceled" });
        return { ...ending, then: { do: "end", graceMs: limits.cancelGraceMs } };
      });
      if (before.state !== "canceled") void recallParked(before);
      return now!;
    },

    list: (query) => store.listTurns(query),

    settled(turn, { timeoutMs, signal: abort }) {
      if (isSettled(turn) || timeoutMs === 0 || abort?.aborted) return Promise.resolve(turn);
      return new Promise((resolve, reject) => {
        let reading = false;
        let again = false;
        const look = (last: boolean) => {
          if (reading && !last) {
            again = true;
            return;
          }
          reading = true;
          store.loadTurn(turn).then(
            (now) => {
              reading = false;
              if (now === undefined || last || isSettled(now)) {
                over();
                resolve(now ?? turn);
              } else if (again) {
                again = false;
                look(false);
              }
            },
            (error: unknown) => {
              reading = false;
              // Whoever waits goes on waiting: the store may be there again before their time is up.
              if (!last) return;
              over();
              reject(error);
            },
          );
        };
        const onTime = () => look(true);
        // What tells of a change may be lost with the node that made it (I9).
        let stopLooking: (() => void) | undefined;
        const lookLater = () => {
          stopLooking = timers.after(lookAgainMs, () => {
            look(false);
            lookLater();
          });
        };
        const over = () => {
          stopTimer();
          stopLooking?.();
          unlisten();
          abort?.removeEventListener("abort", onTime);
        };
        const unlisten = signal.onTurn(turn, () => look(false));
        const stopTimer = timers.after(timeoutMs, onTime);
        abort?.addEventListener("abort", onTime, { once: true });
        // It may have changed between the reading of `turn` and the listening.
        if (store.readsAreCurrent) return;
        look(false);
        lookLater();
      });
    },

    held: () => oldest(({ state }) => state === "held"),

    lost: () => oldest(({ view }) => view.lost !== undefined),

    async resolve(effectId, resolution) {
      const [turn] = await oldest(({ view }) => view.lost?.some(({ id }) => id === effectId) === true, 1);
      if (turn === undefined) return false;
      let found = false;
      await change(turn, (current) => {
        const effect = current.view.lost?.find(({ id }) => id === effectId);
        found = effect !== undefined;
        if (effect === undefined) return undefined;
        const entry = resolved(effect.of, resolution, store.now());
        const ongoing = !isTerminal(taskStateOf(current.state));
        // What has ended stays ended (I5): there the resolution is for the record.
        if (!ongoing && entry.kind === "retry")
          throw new EngineError("effect.ended", "Its turn has ended: it cannot be tried again.");
        if (!ongoing) {
          const view = advanceEnded(current.view, entry, current.length, []);
          return { from: [current.state], entries: [entry], view };
        }
        const view = advance(current.view, entry, current.length, []);
        // What is held goes on when it is released.
        if (current.state === "held") return { from: ["held"], entries: [entry], view };
        return { entries: [entry], view, state: stateOf(view), statusChanged: true, then: { do: "wake" } };
      });
      return found;
    },

    async release(key) {
      const turn = await store.loadTurn(key);
      if (turn?.state !== "held") return false;
      await change(turn, (current) => {
        if (current.state !== "held") return undefined;
        const view = released(current.view);
        return { from: ["held"], view, state: stateOf(view), forgive: true, then: { do: "wake" } };
      });
      return true;
    },

    async fail(key, reason) {
      const turn = await store.loadTurn(key);
      if (turn?.state !== "held") return false;
      const text = reason ?? "An operator ended this task.";
      const why = { by: "agent" as const, id: options.entropy.id(), parts: [{ text }] };
      await change(turn, async (current) =>
        current.state === "held"
          ? { ...(await endingOf(current, { state: "failed", why })), from: ["held"] }
          : undefined,
      );
      void recallParked(turn);
      return true;
    },

    [Symbol.asyncDispose]: () => (stopped ??= runner.stop(0)),
  };
  return engine;
}

const noOthers: Callees = {
  async reach({ agent }) {
    throw noSuchAgent(agent);
  },
};

function resolved(of: number, resolution: Resolution, at: number): EffectEnded | EffectRetried {
  switch (resolution.outcome) {
    case "completed":
      return { kind: "outcome", of, at, result: resultOf(resolution.value), resolved: true };
    case "failed":
      return {
        kind: "outcome",
        of,
        at,
        result: { error: { name: "Error", message: resolution.message } },
        resolved: true,
      };
    case "retry":
      return { kind: "retry", of, by: "operator" };
  }
}

/** It has ended, or waits for its caller: what a blocking SendMessage waits for (A2A 1.0, section 3.2.2). */
function isSettled({ state, view }: TurnRecord): boolean {
  const task = taskStateOf(state, view.waitsFor);
  return isTerminal(task) || isInterrupted(task);
}
