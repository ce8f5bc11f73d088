/**
 * Asks of a turn's caller what another agent asks of the turn (I6): as an interaction of the turn's own, which is taken back when the other
 * agent's task moves on without an answer.
 */
import type { CallErrorCode, Turn } from "@nylorun/agents";

import type { Asking } from "./callee.ts";
import type { Watch } from "./effect.ts";
import { bytesOf } from "./json.ts";
import type { CalledTask } from "./recall.ts";

/** Of a prompt, as an author's own. */
const promptLimit = 4000;
const choiceLimit = 100;
/** Of what is shown with a prompt, in bytes of JSON. */
const detailLimit = 64 * 1024;

/** What the author's calls do that no author can. */
export interface OwnCalls {
  /** Waits until `watch` finds the task another; it looks the less often, the longer it is `since` then. */
  watchTask(
    task: CalledTask & { readonly since: number },
    watch: Watch,
    signal: AbortSignal | undefined,
  ): Promise<unknown>;
  /** As `turn.connect`, and `watch` is told how often the caller said that it is connected. */
  connect(connection: { prompt: string; detail: object; signal: AbortSignal }, watch: Watch): Promise<boolean>;
}

/** The side of the agent that asks. */
export interface Asker {
  /** Resolves when its task is not any more as it was when it asked. */
  moved(signal: AbortSignal): Promise<unknown>;
  /** The caller has said so often that it is connected. Whether the task has moved on. */
  connected: Watch["look"];
  error(code: CallErrorCode, why: string): Error;
}

export interface RelayOptions {
  readonly turn: Turn;
  readonly own: OwnCalls;
  readonly asker: Asker;
  /** It is waited for no longer. */
  readonly stop: AbortSignal | undefined;
}

type Answer = { readonly value: unknown };

/**
 * @returns What the caller answered; undefined: the task has moved on without.
 * @throws CallError `callee.declined`, `callee.unreadable`; what `stop` was aborted with.
 */
export async function relay(asking: Asking, { turn, own, asker, stop }: RelayOptions): Promise<Answer | undefined> {
  const { kind, detail } = asking;
  // It would be shown without, and nobody is to approve what is not shown.
  if (detail !== undefined && bytesOf(detail) > detailLimit) {
    throw asker.error("callee.unreadable", `what it shows with its question is more than ${detailLimit} bytes`);
  }
  const over = new AbortController();
  const signal = stop === undefined ? over.signal : AbortSignal.any([stop, over.signal]);
  const asked = { prompt: promptOf(asking), signal, ...(detail && { detail }) };
  const orMoved = (answer: Promise<unknown>): Promise<Answer | undefined> =>
    Promise.race([answer.then((value) => ({ value })), asker.moved(signal).then(() => undefined)]);
  try {
    switch (kind) {
      case "approval":
        return await orMoved(turn.approve(asked));
      case "question":
        return await orMoved(question(turn, asked, asking));
      case "connection":
      case "authorization": {
        const connection = { ...asked, detail: { provider: "authorization", ...detail } };
        const made = await orMoved(own.connect(connection, { look: asker.connected }));
        if (made === undefined || made.value === true) return undefined;
        if (kind === "connection") return { value: false };
        throw asker.error("callee.declined", "the caller declined what it asks for");
      }
    }
  } finally {
    over.abort();
  }
}

function question(
  turn: Turn,
  asked: { readonly prompt: string; readonly signal: AbortSignal },
  { inWords, detail }: Asking,
): Promise<unknown> {
  if (inWords) return turn.ask(asked);
  const choices = detail?.["choices"];
  if (isChoices(choices)) return turn.ask({ ...asked, choices });
  // What it has to fit, the agent decides: a schema from elsewhere is shown, not run.
  return turn.ask({ ...asked, schema: {} });
}

function promptOf({ prompt }: Asking): string {
  const text = prompt.trim();
  if (text === "") return "This needs an answer before it can go on.";
  return text.length <= promptLimit ? text : `${text.slice(0, promptLimit - 1)}…`;
}

function isChoices(value: unknown): value is readonly string[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= choiceLimit &&
    value.every((one) => typeof one === "string")
  );
}
