/** What of a change webhooks are told (I8). Pure: whoever writes a turn's new view asks this, and writes the answer beside it. */
import { isInterrupted, isTerminal, taskStateOf } from "@nylorun/protocol";

import type { Change, TurnRecord, TurnView } from "../turn/record.ts";

export type Shown = Pick<TurnRecord, "state" | "statusAt" | "view">;

/** In the order in which they are to be told: what a turn made comes before that it has ended. */
export function changesOf(before: Shown, after: Shown): readonly Change[] {
  const changes: Change[] = [];
  const known = new Map(before.view.artifacts?.map((artifact) => [artifact.artifactId, artifact]));
  for (const artifact of after.view.artifacts ?? []) {
    if (!isSame(known.get(artifact.artifactId), artifact)) changes.push({ kind: "artifact", artifact });
  }
  const { reply } = after.view;
  if (reply !== undefined && before.view.reply === undefined) changes.push({ kind: "reply", parts: reply });
  const hard = wordsOf(before) !== wordsOf(after);
  const soft = !isSame(before.view.plan, after.view.plan) || before.view.status?.id !== after.view.status?.id;
  if (!hard && !soft) return changes;
  const { status, waitsFor, plan, lost, totals } = after.view;
  const view = definedOf({ status, waitsFor, plan, lost, totals });
  changes.push({ kind: "status", state: after.state, statusAt: after.statusAt, view, ...(!hard && { soft: true }) });
  return changes;
}

/** What somebody is told who begins to listen: nothing, when there is more to come by itself. */
export function snapshotOf({ state, statusAt, view }: Shown): Change | undefined {
  const shown = taskStateOf(state, view.waitsFor);
  return isTerminal(shown) || isInterrupted(shown) ? { kind: "task", state, statusAt, view } : undefined;
}

/** What nobody may miss: the state, the interaction, the lost effect. */
function wordsOf({ state, view }: Shown): string {
  const lost = state === "uncertain" ? view.lost?.[0]?.id : undefined;
  return JSON.stringify([taskStateOf(state, view.waitsFor), view.status?.interaction?.interactionId, lost]);
}

function isSame(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

function definedOf(view: { readonly [Name in keyof TurnView]: TurnView[Name] | undefined }): TurnView {
  return Object.fromEntries(Object.entries(view).filter(([, value]) => value !== undefined)) as TurnView;
}
