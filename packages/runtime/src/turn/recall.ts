/**
 * Cancels, at another agent, a task that nobody waits for any more, as the turn that called for it has ended. As far as that can be done: it is
 * tried once, and what came of it is evidence in the journal (E16).
 */
import type { Callee } from "./callee.ts";
import type { TaskRecalled } from "./journal.ts";
import { messageOf } from "./json.ts";
import type { EnginePorts } from "./ports.ts";
import type { TurnKey, TurnRecord } from "./record.ts";
import type { Run } from "./run.ts";
import { isEnded } from "./view.ts";

/** How long the other agent may take over it, in milliseconds. */
const patienceMs = 30_000;

export interface CalledTask {
  readonly callee: Callee;
  /** Its id there. */
  readonly task: string;
}

/** Of all that a run has called for. */
export function recallAll({ ports, record: turn, delegations }: Run): void {
  for (const { open } of delegations) if (open !== undefined) void recall(ports, turn, open);
  delegations.clear();
}

/** Never rejects. */
export async function recall(ports: EnginePorts, turn: TurnRecord, { callee, task }: CalledTask): Promise<void> {
  const { log, taskIds, store } = ports;
  const controller = new AbortController();
  const { signal } = controller;
  const stopTimer = ports.timers.after(patienceMs, () => controller.abort(new Error("It did not answer in time.")));
  let problem: string | undefined;
  try {
    const line = await ports.callees.reach(callee, { turn, signal });
    await line.cancel(task, { signal });
  } catch (error) {
    problem = messageOf(error);
    const fields = { error, task: taskIds.encode(turn), callee: callee.agent };
    log.warn(fields, "A task at another agent could not be cancelled; it may go on there.");
  }
  stopTimer();
  const { agent } = callee;
  try {
    await record(ports, turn, { kind: "recalled", at: store.now(), agent, task, ...(problem && { problem }) });
  } catch (error) {
    log.warn({ error, task: taskIds.encode(turn) }, "What came of cancelling a task could not be recorded.");
  }
}

async function record({ store }: EnginePorts, key: TurnKey, entry: TaskRecalled): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const turn = await store.loadTurn(key);
    if (turn === undefined || !isEnded(turn)) return;
    const { length, revision, state, view } = turn;
    const result = await store.commit({ key: turn, length, revision, from: [state], entries: [entry], view });
    if (result.kind === "committed") return;
  }
}
