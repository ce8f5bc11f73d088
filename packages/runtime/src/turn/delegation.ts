/**
 * One `turn.call`: another agent's task, as entries of this turn's journal. It asks for effects, waits and interactions as the author's own
 * code would, so everything that holds of these holds of it.
 *
 * | entry                       | what it is                                                                             |
 * |-----------------------------|----------------------------------------------------------------------------------------|
 * | effect: find (an address)   | whether the agent takes a message that is sent again for the same                      |
 * | effect: send                | the message, under an id that is the effect's key. Idempotent where the agent is       |
 * | wait: task                  | until the task is another than it was seen; looks are not recorded                     |
 * | effect: look                | what the task is now                                                                   |
 * | interaction, and wait: task | what it asks, until the caller has answered or the task has moved on without           |
 * | effect: answer              | the caller's answer, as the message was sent                                           |
 * | effect: cancel              | when the author does not wait for it any more                                          |
 */
import { AgentError, CallError, EffectError } from "@nylorun/agents";
import type { AgentAnswer, AgentCallOptions, CallErrorCode, Effect, EffectOptions, Part, Turn } from "@nylorun/agents";
import { isTerminal } from "@nylorun/protocol";

import { hasChanged, seenResponse, seenTask } from "./callee.ts";
import type { Answering, Asking, Callee, Line, SeenTask } from "./callee.ts";
import type { Watch } from "./effect.ts";
import type { CalledTask } from "./recall.ts";
import { relay } from "./relay.ts";
import type { Asker, OwnCalls } from "./relay.ts";
import type { Run } from "./run.ts";

/** Of what an effect's name tells of an agent's address. */
const addressLimit = 150;
/** Of what an error's message tells of another agent's words. */
const saidLimit = 1000;

export interface Call {
  readonly agent: string;
  readonly parts: readonly Part[];
  readonly options: AgentCallOptions;
}

export class Delegation {
  readonly #run: Run;
  readonly #turn: Turn;
  readonly #own: OwnCalls;
  readonly #call: Call;
  readonly #callee: Callee;
  /** The task there, as long as it goes on. */
  #task: string | undefined;
  #repeats = true;
  /** When the agent last was given something to do. */
  #since = 0;

  constructor(run: Run, calls: { readonly turn: Turn; readonly own: OwnCalls }, call: Call) {
    this.#run = run;
    this.#turn = calls.turn;
    this.#own = calls.own;
    this.#call = call;
    this.#callee = { agent: call.agent, auth: call.options.auth };
  }

  /** The task there that goes on; undefined when there is none. */
  get open(): CalledTask | undefined {
    return this.#task === undefined ? undefined : { callee: this.#callee, task: this.#task };
  }

  /** @throws CallError, Cancelled. */
  async answer(): Promise<AgentAnswer> {
    this.#run.delegations.add(this);
    const seen = await this.#send();
    this.#since = this.#run.now();
    if (isTerminal(seen.state)) return this.#ended(seen);
    if (seen.id === undefined) throw this.#error("callee.lost", "nobody knows which task it is");
    this.#task = seen.id;
    const limit = this.#limit();
    try {
      return await this.#follow(seen, limit.signal);
    } catch (error) {
      await this.#cancel();
      throw error;
    } finally {
      limit.stop();
    }
  }

  async #send(): Promise<SeenTask> {
    const { agent, parts, options } = this.#call;
    const { key, contextId } = options;
    const isAddress = URL.canParse(agent);
    if (isAddress) {
      this.#repeats = await this.#effect("find", async (line) => line.repeats, {
        ...(key && { key }),
        idempotent: true,
      });
    }
    return await this.#effect(
      "send",
      async (line, effect) => {
        // Not given up when the turn is cancelled: who does not know its task cannot cancel it either.
        const patient = new AbortController().signal;
        const seen = seenResponse(await line.send({ messageId: effect.key, parts, contextId }, { signal: patient }));
        if (isTerminal(seen.state)) return seen;
        // What this comes to may never be told: the turn may end before it is on disk.
        this.#task = seen.id;
        const { cancelled, timeUp } = this.#run;
        if (seen.id !== undefined && (cancelled || timeUp.aborted)) {
          await line.cancel(seen.id, { signal: patient }).catch(() => undefined);
        }
        return seen;
      },
      { idempotent: this.#repeats, ...(key && !isAddress && { key }) },
    );
  }

  /** Until the task has ended. */
  async #follow(first: SeenTask, stop: AbortSignal | undefined): Promise<AgentAnswer> {
    let seen = first;
    /** What the caller has answered: the agent may show it a moment longer. */
    let answered: string | undefined;
    while (!isTerminal(seen.state)) {
      const { asking } = seen;
      if (asking === undefined || asking.id === answered) await this.#changed(seen, stop);
      else {
        const answer = await this.#ask(seen, asking, stop);
        if (answer !== undefined) {
          answered = (await this.#pass(asking, answer.value)) ? asking.id : undefined;
          this.#since = this.#run.now();
        }
      }
      seen = await this.#look();
    }
    return this.#ended(seen);
  }

  #changed(seen: SeenTask, signal: AbortSignal | undefined): Promise<unknown> {
    const look: Watch["look"] = (given) => this.#hasChanged(seen, given.signal);
    // Who asks something else each time that it is looked at is not looked at without end.
    const atOnce = this.#since === this.#run.now();
    const task = { ...this.open!, since: this.#since };
    return this.#own.watchTask(task, { look, ...(atOnce && { atOnce }) }, signal);
  }

  /** Who cannot be asked just now is asked again. A task that is gone has changed. */
  async #hasChanged(seen: SeenTask, signal: AbortSignal): Promise<boolean> {
    try {
      return hasChanged(seen, await (await this.#reach(signal)).get(this.#task!, { signal }));
    } catch (error) {
      if (codeOf(error) === "a2a.taskNotFound") return true;
      const { log, taskIds } = this.#run.ports;
      const fields = { error, task: taskIds.encode(this.#run.record), callee: this.#callee.agent };
      log.info(fields, "A task at another agent could not be looked at; it is looked at again.");
      return false;
    }
  }

  #ask(
    seen: SeenTask,
    asking: Asking,
    stop: AbortSignal | undefined,
  ): Promise<{ readonly value: unknown } | undefined> {
    const asker: Asker = {
      moved: (signal) => this.#changed(seen, signal),
      connected: (given) => this.#connected(seen, asking, given),
      error: (code, why) => this.#error(code, why),
    };
    return relay(asking, { turn: this.#turn, own: this.#own, asker, stop });
  }

  /** Each time that the caller says that it is connected, the agent is told so, once. */
  async #connected(
    seen: SeenTask,
    asking: Asking,
    { signal, claims }: { readonly signal: AbortSignal; readonly claims: number },
  ): Promise<boolean> {
    if (claims > 0 && asking.kind === "connection") {
      const messageId = this.#run.ports.entropy.derive(`claim ${this.#task} ${asking.id} ${claims}`).slice(0, 32);
      const line = await this.#reach(signal);
      // If it has moved on, or does not believe it, the look says so.
      await line.answer(this.#task!, { messageId, asking, value: true }, { signal }).catch(() => undefined);
    }
    return this.#hasChanged(seen, signal);
  }

  /** @returns Whether the agent has taken the answer; else it asks again, or has moved on. */
  async #pass(asking: Asking, value: unknown): Promise<boolean> {
    return await this.#effect(
      "answer",
      async (line, { key, signal }) => {
        const answer: Answering = { messageId: key, asking, value };
        try {
          await line.answer(this.#task!, answer, { signal });
          return true;
        } catch (error) {
          const code = codeOf(error);
          if (code === "a2a.invalidParams" || code === "a2a.unsupportedOperation") return false;
          throw error;
        }
      },
      { idempotent: this.#repeats },
    );
  }

  #look(): Promise<SeenTask> {
    return this.#effect("look", async (line, { signal }) => seenTask(await line.get(this.#task!, { signal })), {
      idempotent: true,
    });
  }

  /** It is waited for no longer. Whatever comes of that does not change why. */
  async #cancel(): Promise<void> {
    const task = this.#task;
    if (task === undefined) return;
    try {
      const cancel = async ({ signal }: Effect) => (await this.#reach(signal)).cancel(task, { signal });
      // Tried once, and never lost: what came of it is evidence.
      const told = (effect: Effect) => cancel(effect).then(() => "done", String);
      await this.#turn.effect(this.#name("cancel"), told, { idempotent: true });
      this.#over();
    } catch {
      // The turn has ended, or cannot ask for more: it is recalled with it.
    }
  }

  #over(): void {
    this.#task = undefined;
    this.#run.delegations.delete(this);
  }

  /** @throws CallError */
  #ended({ id, contextId, state, text, output, artifacts = [] }: SeenTask): AgentAnswer {
    this.#over();
    switch (state) {
      case "TASK_STATE_COMPLETED":
        return { taskId: id, contextId, output, artifacts };
      case "TASK_STATE_REJECTED":
        throw this.#error("callee.rejected", "it does not do this", { id, text });
      case "TASK_STATE_CANCELED":
        throw this.#error("callee.canceled", "its task was cancelled", { id, text });
      default:
        throw this.#error("callee.failed", "its task failed", { id, text });
    }
  }

  #error(
    code: CallErrorCode,
    why: string,
    { id = this.#task, text }: { id?: string | undefined; text?: string | undefined } = {},
  ): CallError {
    const { agent } = this.#call;
    const said = text === undefined ? "" : ` It said: ${text.slice(0, saidLimit)}`;
    return new CallError(code, `turn.call(${JSON.stringify(agent)}): ${why}.${said}`, { agent, taskId: id, text });
  }

  /** Aborted when the author, or the time, says so. */
  #limit(): { readonly signal: AbortSignal | undefined; stop(): void } {
    const { signal, timeoutMs } = this.#call.options;
    if (timeoutMs === undefined) return { signal, stop: () => undefined };
    const passed = new AbortController();
    const stopped = new AbortController();
    this.#turn.sleep(timeoutMs, { signal: stopped.signal }).then(
      () => passed.abort(this.#error("callee.timeout", `it took longer than ${timeoutMs} ms`)),
      () => undefined,
    );
    return {
      signal: signal === undefined ? passed.signal : AbortSignal.any([signal, passed.signal]),
      stop: () => stopped.abort(),
    };
  }

  #reach(signal: AbortSignal): Promise<Line> {
    const { ports, record } = this.#run;
    return ports.callees.reach(this.#callee, { turn: record, signal });
  }

  /** @throws CallError, Cancelled. */
  async #effect<Result>(
    what: string,
    code: (line: Line, effect: Effect) => Promise<Result>,
    options: EffectOptions,
  ): Promise<Result> {
    try {
      const reached = async (effect: Effect) => code(await this.#reach(effect.signal), effect);
      return (await this.#turn.effect(this.#name(what), reached, options)) as Result;
    } catch (error) {
      throw error instanceof EffectError ? this.#told(error) : error;
    }
  }

  /** For operators. */
  #name(what: string): string {
    return `call ${this.#call.agent.slice(0, addressLimit)}: ${what}`;
  }

  #told({ code, message }: EffectError): CallError {
    switch (code) {
      case "a2a.taskNotFound":
        this.#over();
        return this.#error("callee.lost", "it does not know the task any more");
      case "effect.exhausted":
        return this.#error("callee.unreachable", "it does not answer");
      case "effect.tooLarge":
      case "effect.notJson":
      case "answer.tooLarge":
      case "answer.invalid":
        return this.#error("callee.unreadable", `what it answers cannot be kept: ${message}`);
      default:
        return this.#error("callee.refused", `it does not take this: ${message}`);
    }
  }
}

/** @throws AgentError `call.invalid`. */
export function checkedCall(agent: string, message: string | readonly Part[], options: AgentCallOptions): Call {
  const parts = typeof message === "string" ? [{ text: message }] : message;
  if (typeof agent !== "string" || agent === "" || agent.length > 2000) {
    throw new AgentError(
      "call.invalid",
      "turn.call takes an agent first: the id of one that is served here, or its address.",
    );
  }
  if (URL.canParse(agent) && !/^https?:/i.test(agent)) {
    throw new AgentError("call.invalid", `turn.call takes an http or https address; it got ${JSON.stringify(agent)}.`);
  }
  if (!Array.isArray(parts) || parts.length === 0) {
    throw new AgentError("call.invalid", "turn.call takes a message: a text, or at least one part.");
  }
  return { agent, parts: parts as readonly Part[], options };
}

function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown } | null)?.code;
}
