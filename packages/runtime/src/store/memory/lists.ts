/** Lists of turns, made from all of them: here they are few. Pure. */
import { TASK_STATES, taskStateOf } from "@nylorun/protocol";
import type { TaskState, TurnState } from "@nylorun/protocol";

import type { TurnKey, TurnRecord } from "../../turn/record.ts";
import type { Queue, TurnPage, TurnQuery, UnfinishedPage, UnfinishedQuery } from "../store.ts";
import type { Context } from "./schedule.ts";

type Turns = readonly TurnRecord[];

export function isEnded(state: TurnState): boolean {
  return state === "completed" || state === "failed" || state === "rejected" || state === "canceled";
}

export function earlierOf(turns: Turns, { context, turn }: TurnKey, limit: number): Turns {
  const ended = turns.filter((one) => one.context === context && one.turn < turn && isEnded(one.state));
  return limit > 0 ? ended.slice(-limit) : [];
}

export function troubledOf(turns: Turns, limit: number, after: number): Turns {
  return turns.filter((turn) => turn.turn > after && isTroubled(turn)).slice(0, limit);
}

export function queuesOf(contexts: readonly Context[], turns: Turns, limit: number): Queue[] {
  const byKey = new Map(turns.map((turn) => [turn.turn, turn]));
  const queues = contexts.flatMap(({ subject, agent, name, active: key, queue }) => {
    const [oldest, active] = [byKey.get(queue[0] ?? 0), byKey.get(key ?? 0)];
    return oldest && active ? [{ subject, agent, name, oldest, active, waiting: queue.length }] : [];
  });
  return queues
    .toSorted((a, b) => a.oldest.turn - b.oldest.turn)
    .slice(0, limit)
    .map(({ subject, agent, name, oldest, waiting, active: { context, turn, state, view, statusAt } }) => ({
      ...{ subject, agent, contextId: name, waiting, since: oldest.createdAt },
      active: { context, turn, state, status: taskStateOf(state, view.waitsFor), statusAt },
    }));
}

/** It needs an operator. */
export function isTroubled({ view }: TurnRecord): boolean {
  return view.held !== undefined || view.lost !== undefined;
}

/** How many there are, by the state that callers are shown. */
export function countsOf(turns: Turns): Record<TaskState, number> {
  const counts = TASK_STATES.map((status) => [
    status,
    turns.filter((turn) => taskStateOf(turn.state, turn.view.waitsFor) === status).length,
  ]);
  return Object.fromEntries(counts) as Record<TaskState, number>;
}

export function pageOf(turns: Turns, query: TurnQuery): TurnPage {
  const { subject, agent, contextId, status, statusFrom = 0, after, limit, size = Infinity } = query;
  const all = turns
    .filter(
      (turn) =>
        turn.subject === subject &&
        turn.agent === agent &&
        turn.contextId === (contextId ?? turn.contextId) &&
        turn.statusAt >= statusFrom &&
        (status === undefined || taskStateOf(turn.state, turn.view.waitsFor) === status),
    )
    .toSorted((a, b) => b.statusAt - a.statusAt || b.turn - a.turn);
  const rest = after
    ? all.filter(
        ({ statusAt, turn }) => statusAt < after.statusAt || (statusAt === after.statusAt && turn < after.turn),
      )
    : all;
  let stored = 0;
  const isFull = ({ message, view }: TurnRecord) =>
    (stored += JSON.stringify(message).length + JSON.stringify(view).length) >= size;
  const last = size === Infinity ? -1 : rest.findIndex(isFull);
  const count = Math.min(limit, last === -1 ? rest.length : last + 1);
  return { turns: rest.slice(0, count), more: rest.length > count, total: all.length };
}

/** In the order in which they began. */
export function unfinishedOf(turns: Turns, { agent, after = "0", limit }: UnfinishedQuery): UnfinishedPage {
  const rest = turns.filter(
    (turn) => turn.agent === agent && turn.turn > Number(after) && turn.state !== "queued" && !isEnded(turn.state),
  );
  const page = rest.slice(0, limit);
  return { turns: page, next: rest.length > limit ? String(page.at(-1)!.turn) : undefined };
}
