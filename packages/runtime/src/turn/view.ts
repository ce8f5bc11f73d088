/**
 * The projection of a turn: what each entry of the journal, and the turn's end, change in what readers see. Pure.
 *
 * Whoever appends an entry (the runner, the caller who answers, an operator) computes the view with the same function and
 * writes both in one transaction.
 */
import type { Artifact, Part, PlanStep, TurnState } from "@nylorun/protocol";

import { isInteraction } from "./journal.ts";
import type { EffectStarted, Entry, InteractionOpened, Totals } from "./journal.ts";
import { withFile } from "./outputs.ts";
import type { OpenWait, Said, TurnView } from "./record.ts";

/** The view after an entry that stands at this place of the journal. `entries` holds at least what came before it. */
export function advance(view: TurnView, entry: Entry, at: number, entries: readonly Entry[]): TurnView {
  switch (entry.kind) {
    case "said":
      return said(view, { by: "agent", id: entry.id, parts: [{ text: entry.text }] });
    case "used":
      return { ...view, totals: added(view.totals, entry.usage, 0) };
    case "outcome": {
      const start = entries[entry.of] as EffectStarted;
      // What the Runtime does to bring the caller's own files is no step of the agent's.
      const isStep = !("error" in entry.result) && start?.work !== "fetch" && start?.work !== "read";
      const totals = added(view.totals, entry.usage, isStep ? 1 : 0);
      return shown(without(withFile({ ...view, totals }, start, entry.result), "lost", entry.of));
    }
    case "lost": {
      const effect = entries[entry.of];
      if (effect?.kind !== "effect") return view;
      const lost = { of: entry.of, id: effect.id, name: effect.name, why: entry.why, at: entry.at };
      return shown({ ...view, lost: [...(view.lost ?? []), lost] });
    }
    case "retry":
      return shown(without(view, "lost", entry.of));
    case "question":
    case "approval":
    case "connection":
    case "sleep":
    case "task":
      return shown(spoken({ ...view, waits: [...(view.waits ?? []), { ...entry, of: at }] }));
    case "end": {
      const open = interactionOf(view);
      const rest = without(view, "waits", entry.of);
      return shown(open?.of === entry.of ? { ...rest, history: [...(view.history ?? []), promptOf(open)] } : rest);
    }
    case "heard":
      return entry.claim ? { ...view, claims: (view.claims ?? 0) + 1 } : { ...view, heard: (view.heard ?? 0) + 1 };
    case "effect":
    case "patched":
    case "recalled":
      return view;
  }
}

/** The view of a turn that has ended, after an entry that came late: what its end said stays. */
export function advanceEnded(view: TurnView, entry: Entry, at: number, entries: readonly Entry[]): TurnView {
  const { status: _, waitsFor: __, ...next } = advance(view, entry, at, entries);
  return view.status === undefined ? next : { ...next, status: view.status };
}

/** What a turn that has not ended is, by its view. */
export function stateOf(view: TurnView): TurnState {
  if (view.lost !== undefined) return "uncertain";
  return view.waits === undefined ? "running" : "waiting";
}

/** Whether the state is final (I5). */
export function isEnded({ state }: { readonly state: TurnState }): boolean {
  return state === "completed" || state === "failed" || state === "rejected" || state === "canceled";
}

/** The interaction that the caller is shown: the oldest open one, unless an effect's outcome is lost (E10, E13). */
export function interactionOf(view: TurnView): (InteractionOpened & { readonly of: number }) | undefined {
  if (view.lost !== undefined || view.held !== undefined) return undefined;
  return view.waits?.find((wait): wait is InteractionOpened & { readonly of: number } => isInteraction(wait));
}

/** Something that was said by the caller, after everything that was said before. */
export function replied(view: TurnView, reply: Said): TurnView {
  return { ...view, history: [...(view.history ?? []), reply] };
}

/** A turn that does not go on until an operator, or new code, lets it: its interactions are hidden (E5). */
export function held(view: TurnView, why: { readonly code: string; readonly message: string }): TurnView {
  return shown({ ...view, held: why });
}

export function released(view: TurnView): TurnView {
  const { held: _, ...rest } = view;
  return shown(rest);
}

/** Something that an effect said while it ran: shown, but not recorded as an entry, as no replay says it again. */
export function said(view: TurnView, words: Said): TurnView {
  return shown({ ...view, said: words, ...(view.said && { history: [...(view.history ?? []), view.said] }) });
}

export interface Ending {
  readonly state: "completed" | "failed" | "rejected" | "canceled";
  /** Why, for the caller: of a turn that failed or was refused. */
  readonly why?: Said;
  readonly artifacts?: readonly Artifact[];
  readonly reply?: readonly Part[];
}

/**
 * The view of a turn that has ended: nothing is open any more, and the plan is reconciled. Effects that are lost stay listed, for
 * operators (E16).
 */
export function ended(view: TurnView, ending: Ending): TurnView {
  const { status: _, said: words, waits: __, waitsFor: ___, held: ____, ...rest } = view;
  const open = interactionOf(view);
  const last = [...(words ? [words] : []), ...(open ? [promptOf(open)] : [])];
  return {
    ...rest,
    ...(last.length > 0 && { history: [...(view.history ?? []), ...last] }),
    ...(view.plan && { plan: reconciled(view.plan, ending.state) }),
    ...(ending.why && { status: ending.why }),
    ...(ending.artifacts && { artifacts: [...(view.artifacts ?? []), ...ending.artifacts] }),
    ...(ending.reply && { reply: ending.reply }),
  };
}

/** The Runtime settles what the agent left open (progress/v1): nothing is in progress after the end. */
function reconciled(plan: readonly PlanStep[], state: Ending["state"]): readonly PlanStep[] {
  const active = state === "completed" ? "done" : state === "failed" ? "failed" : "skipped";
  return plan.map((step) =>
    step.state === "active"
      ? { ...step, state: active }
      : step.state === "pending"
        ? { ...step, state: "skipped" }
        : step,
  );
}

/** A prompt replaces the step text, which then belongs to the history. */
function spoken(view: TurnView): TurnView {
  const { said: words, ...rest } = view;
  if (words === undefined || interactionOf(view) === undefined) return view;
  return { ...rest, history: [...(view.history ?? []), words] };
}

/** What the status says, decided anew. */
function shown(view: TurnView): TurnView {
  const { status: _, waitsFor: __, ...rest } = view;
  const open = interactionOf(rest);
  if (open !== undefined) return { ...rest, status: promptOf(open), waitsFor: open.kind };
  return rest.said === undefined ? rest : { ...rest, status: rest.said };
}

function promptOf({ id, kind, prompt, detail, choices, schema }: InteractionOpened): Said {
  const extra = kind === "question" ? { ...(choices && { choices }), ...(schema && { schema }) } : undefined;
  const shownDetail = detail || extra ? { ...extra, ...detail } : undefined;
  return {
    by: "agent",
    id,
    parts: [{ text: prompt }],
    interaction: { interactionId: id, kind, prompt, ...(shownDetail && { detail: shownDetail }) },
  };
}

function without(view: TurnView, list: "waits" | "lost", of: number): TurnView {
  const { [list]: items, ...rest } = view;
  const left = (items as readonly { readonly of: number }[] | undefined)?.filter((item) => item.of !== of);
  return left === undefined || left.length === 0 ? rest : { ...rest, [list]: left };
}

function added(totals: TurnView["totals"], usage: Totals | undefined, steps: number): NonNullable<TurnView["totals"]> {
  const sum = (a: number | undefined, b: number | undefined) => (a === undefined ? b : b === undefined ? a : a + b);
  const tokens = sum(totals?.tokens, usage?.tokens);
  const costUsd = sum(totals?.costUsd, usage?.costUsd);
  return {
    steps: (totals?.steps ?? 0) + steps,
    ...(tokens !== undefined && { tokens }),
    ...(costUsd !== undefined && { costUsd }),
  };
}

/** When a parked turn wants to run by itself. */
export function dueAt(waits: readonly OpenWait[] | undefined, now: number): number | undefined {
  let due: number | undefined;
  for (const wait of waits ?? []) {
    const at = whenDue(wait, now);
    if (at !== undefined && (due === undefined || at < due)) due = at;
  }
  return due;
}

function whenDue(wait: OpenWait, now: number): number | undefined {
  if (wait.kind === "sleep") return wait.until;
  const pauseMs = pauseOf(wait, now);
  const expiresAt = isInteraction(wait) ? wait.expiresAt : undefined;
  const look = pauseMs === undefined ? undefined : now + pauseMs;
  return look === undefined || (expiresAt !== undefined && expiresAt < look) ? expiresAt : look;
}

/** Tasks at other agents are looked at soon at first, then the less often the longer they take, in milliseconds. */
const shortestPauseMs = 250;
const longestPauseMs = 60_000;

/** How long to leave between two looks at what a wait waits for, in whole milliseconds; undefined: there is nothing to look at. */
export function pauseOf(wait: OpenWait, now: number): number | undefined {
  switch (wait.kind) {
    case "connection":
      return wait.pollMs;
    case "task":
      return Math.min(longestPauseMs, Math.max(shortestPauseMs, Math.ceil((now - wait.since) / 2)));
    case "question":
    case "approval":
    case "sleep":
      return undefined;
  }
}
