/** Plays a script: sends the message, gives the answers, lets time pass, and brings a process that died back, until nothing more comes. */
import { setImmediate, setTimeout as delay } from "node:timers/promises";

import type { Agent } from "@nylorun/agents";
import { EXTENSION_URIS, isInterrupted, isTerminal, taskStateOf } from "@nylorun/protocol";
import type { ExtensionUri, Message, OpenInteraction } from "@nylorun/protocol";

import { keptFiles } from "../files/kept.ts";
import { createMemoryBlobs } from "../files/memory.ts";
import { hearRejections } from "../node/unheard.ts";
import { createMemoryHome } from "../store/memory/store.ts";
import { effectKey } from "../turn/effect.ts";
import type { Resolution } from "../turn/engine.ts";
import type { Entry } from "../turn/journal.ts";
import type { EngineLog } from "../turn/ports.ts";
import type { LostEffect, TurnRecord } from "../turn/record.ts";
import { answerText } from "./answers.ts";
import { CalledAgents } from "./called-agents.ts";
import type { TestCall } from "./called-agents.ts";
import { reactionTo, wrong } from "./caller.ts";
import { TestingError } from "./errors.ts";
import { scriptedFetcher, testFile } from "./files.ts";
import type { TestFile } from "./files.ts";
import { watchForeign } from "./foreign.ts";
import { entropy, Life, taskIds } from "./life.ts";
import type { Crash, Lives } from "./life.ts";
import { isUnknown, Observer } from "./observer.ts";
import type { Seen } from "./observer.ts";
import type { Script } from "./script.ts";
import { SimulatedTime } from "./simulated-time.ts";
import { writeText } from "./write.ts";

/** So often time is put forward without anything coming of it, before that is taken for the end. */
const idleLimit = 100;
/** Turns of the event loop after which a process that asks nothing of its store is at rest. */
const settled = 3;
/** Turns of the event loop in which what is to happen at once happens. */
const promptly = 20;
/** Turns of the event loop in which what is tried once is tried. */
const patiently = 1000;
/** A process looks at what is due, and tries effects again, after this time, in milliseconds, or sooner. */
const longestNapMs = 30_000;

export const onlyTurn =
  "What run does may follow from its message and from what turn gives it, and from nothing else: " +
  "no Date, no Math.random, no state of its own.";

const active: ReadonlySet<ExtensionUri> = new Set(EXTENSION_URIS);

export interface Played {
  readonly turn: TurnRecord;
  readonly now: number;
  readonly interactions: readonly OpenInteraction[];
  readonly observer: Observer;
  readonly files: readonly TestFile[];
  readonly calls: readonly TestCall[];
  /** Whether the process died as it was to. */
  readonly crashed: boolean;
  /** Non-idempotent effects whose outcome the crash left unknown. */
  readonly lost: readonly string[];
}

export interface PlayOptions {
  readonly crash?: Crash;
  /** Takes what the runs write, in words: also of a play that fails. Default: none. */
  readonly writes?: string[];
}

/** @throws TestingError */
export async function play(agent: Agent, script: Script, options: PlayOptions = {}): Promise<Played> {
  using _rejections = hearRejections();
  using _foreign = watchForeign();
  await script.prepare?.();
  return await new Play(agent, script, options).play();
}

class Play {
  readonly #script: Script;
  readonly #scope: { readonly subject: string; readonly agent: string };
  readonly #time: SimulatedTime;
  readonly #observer: Observer;
  readonly #called: CalledAgents;
  readonly #lives: Lives;
  readonly #deadline: number;
  readonly #journal: Entry[] = [];
  readonly #shown = new Map<string, OpenInteraction>();
  readonly #lost: string[] = [];
  readonly #blobs = createMemoryBlobs();
  #life: Life;
  #crashed = false;
  #answers = 0;

  constructor(agent: Agent, script: Script, { crash, writes = [] }: PlayOptions) {
    this.#script = script;
    this.#scope = { subject: script.subject ?? "tester", agent: agent.id };
    const time = new SimulatedTime((script.now ?? new Date("2026-01-01T09:00:00Z")).getTime());
    this.#time = time;
    this.#observer = new Observer(script, () => time.now());
    this.#called = new CalledAgents(script.agents ?? {}, (error) => this.#observer.complain(error));
    this.#deadline = performance.now() + this.#patienceMs;
    this.#lives = {
      home: createMemoryHome(),
      blobs: this.#blobs,
      fetcher: scriptedFetcher(script.urls ?? {}),
      time,
      agent: this.#observer.watch(agent),
      callees: this.#called,
      crash,
      log: this.#log(),
      writing: (change) => writes.push(writeText(change, this.#journal)) - 1,
      written: ({ entries = [], view }) => {
        this.#journal.push(...entries);
        const shown = view?.status?.interaction;
        if (shown !== undefined) this.#shown.set(shown.interactionId, shown);
      },
    };
    this.#life = new Life(this.#lives);
  }

  async play(): Promise<Played> {
    try {
      await this.#life.engine.start();
      const { message = "" } = this.#script;
      const parts = typeof message === "string" ? [{ text: message }] : message;
      const turn = await this.#send({ messageId: "message", role: "ROLE_USER", parts, contextId: "conversation" });
      const last = await this.#follow(turn);
      if (isTerminal(taskStateOf(last.state))) await this.#recalled();
      this.#observer.check();
      const left = this.#script.answers?.[this.#answers];
      if (left !== undefined) {
        const which = `answers[${this.#answers}], ${answerText(left)},`;
        throw new TestingError("answer.unused", `${which} was not used: ${stateText(last)}.`);
      }
      return {
        turn: last,
        now: this.#time.now(),
        interactions: [...this.#shown.values()],
        observer: this.#observer,
        files: await this.#files(last),
        calls: this.#called.calls,
        crashed: this.#crashed,
        lost: this.#lost,
      };
    } finally {
      this.#life.drop();
    }
  }

  /** As the caller could download them in the end. */
  async #files(turn: TurnRecord): Promise<readonly TestFile[]> {
    const reader = keptFiles({ store: this.#life.store, blobs: this.#blobs });
    const made = (turn.view.artifacts ?? []).filter((artifact) => artifact.parts[0]?.url !== undefined);
    return Promise.all(made.map((artifact) => testFile(artifact, turn, reader)));
  }

  get #patienceMs(): number {
    return this.#script.patienceMs ?? 10_000;
  }

  /** Until the turn has ended, or waits for what does not come. */
  async #follow(turn: TurnRecord): Promise<TurnRecord> {
    let idle = 0;
    let length = -1;
    for (;;) {
      await this.#rest();
      this.#observer.check();
      if (this.#life.dead) {
        await this.#rise();
        continue;
      }
      const now = await this.#load(turn);
      if (isTerminal(taskStateOf(now.state))) return now;
      await this.#observer.dropped();
      idle = now.length === length ? idle + 1 : 0;
      length = now.length;
      if (now.state === "held") throw diverged(now);
      if (await this.#resolve(now)) continue;
      if (await this.#answer(now)) continue;
      const { at } = await this.#life.store.nextDue();
      if (at === undefined || idle > idleLimit) return now;
      this.#time.pass(at);
    }
  }

  /** What the turn had called for, and is waited for no longer, is told so when the turn has ended. */
  async #recalled(): Promise<void> {
    const isOpen = () => this.#called.calls.some(({ state }) => !isTerminal(state));
    for (let turns = 0; isOpen() && turns < patiently; turns++) await setImmediate();
  }

  /** Until no turn runs, nothing is due, or the process is dead. */
  async #rest(): Promise<void> {
    let quiet = 0;
    for (let turns = 0; ; turns++) {
      // What takes longer waits for something outside: there is no hurry.
      await (turns < 200 ? setImmediate() : delay(1));
      if (this.#life.dead) return;
      this.#observer.check();
      if (performance.now() > this.#deadline) throw this.#stuck();
      quiet = this.#life.writing || (this.#life.running && !this.#observer.waitsToRetry) ? 0 : quiet + 1;
      if (quiet < settled) continue;
      if (!this.#life.running) {
        const { at = Infinity } = await this.#life.store.nextDue();
        if (at > this.#time.now()) return;
      }
      // Something is due, or to be tried again, and its process naps until then.
      if (quiet < promptly) continue;
      quiet = 0;
      const { next = Infinity } = this.#time;
      if (next - this.#time.now() <= longestNapMs) this.#time.pass(next);
    }
  }

  /** The next process, on what the last one left. */
  async #rise(): Promise<void> {
    this.#crashed = true;
    await this.#observer.died();
    this.#lives.home.endLeases(this.#time.now());
    this.#life = new Life(this.#lives);
    await this.#life.engine.start();
  }

  /** What an operator would find out about an effect that the crash has cut off from its outcome: the truth. */
  async #resolve({ view }: TurnRecord): Promise<boolean> {
    const lost = view.lost?.find(({ why, id }) => why === "died" && !isUnknown(this.#seen(id)?.attempts.at(-1)));
    if (lost === undefined) return false;
    this.#lost.push(lost.name);
    await this.#life.engine.resolve(lost.id, this.#truth(lost));
    return true;
  }

  #truth({ id, name }: LostEffect): Resolution {
    const seen = this.#seen(id);
    const attempt = seen?.attempts.at(-1);
    if (seen === undefined || attempt === undefined) return { outcome: "retry" };
    if (attempt.outcome === undefined) {
      throw new TestingError("run.stuck", `The code of effect(${JSON.stringify(name)}) does not come to an end.`);
    }
    if ("value" in attempt.outcome) return { outcome: "completed", value: attempt.outcome.value };
    // What has failed is done over: its error could not be told with all that it says.
    seen.allowed++;
    return { outcome: "retry" };
  }

  #seen(effectId: string): Seen | undefined {
    return this.#observer.find(effectKey(entropy, effectId));
  }

  /** @returns Whether there was one to give. */
  async #answer(turn: TurnRecord): Promise<boolean> {
    const open = turn.view.status?.interaction;
    const index = this.#answers;
    const answer = this.#script.answers?.[index];
    const asks = isInterrupted(taskStateOf(turn.state, turn.view.waitsFor));
    if (open === undefined || answer === undefined || !asks) return false;
    const given = { index, answer, open };
    const reaction = reactionTo(turn, given);
    await answer.first?.();
    switch (reaction.do) {
      case "wait":
        this.#time.pass(reaction.until);
        break;
      case "cancel":
        await this.#life.engine.cancel(this.#scope, taskIds.encode(turn));
        break;
      case "send":
        await this.#send(reaction.message).catch((error: unknown) => {
          throw wrong(given, `does not take that (${(error as Error).message})`, error);
        });
    }
    this.#answers++;
    return true;
  }

  /** Sends it again when the process died over it, as a caller would. */
  async #send(message: Message): Promise<TurnRecord> {
    for (;;) {
      const life = this.#life;
      const traceparent = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01";
      try {
        return await Promise.race([life.engine.send({ ...this.#scope, message, active, traceparent }), life.death]);
      } catch (error) {
        if (!life.dead) throw error;
        await this.#rise();
      }
    }
  }

  async #load(turn: TurnRecord): Promise<TurnRecord> {
    return (await this.#life.store.loadTurn(turn))!;
  }

  #stuck(): TestingError {
    const running = this.#observer.seen.filter(({ attempts }) => attempts.at(-1)?.outcome === undefined);
    const names = running.map(({ name }) => `effect(${JSON.stringify(name)})`).join(", ");
    const why =
      names === "" ? "run awaits something that is not turn's" : `the code of ${names} has not come to an end`;
    return new TestingError("run.stuck", `The run is not over after ${this.#patienceMs} ms: ${why}.`);
  }

  #log(): EngineLog {
    const ignore = () => undefined;
    const error = (fields: { readonly code?: unknown; readonly error?: unknown }, message: string) => {
      if (fields.code === "turn.unjournaled") this.#observer.complain(new TestingError("turn.unjournaled", message));
    };
    return { debug: ignore, info: ignore, warn: ignore, error };
  }
}

function diverged({ view }: TurnRecord): TestingError {
  return new TestingError(
    "journal.diverged",
    `Run again, the code asked for something else than before: ${view.held?.message ?? "it is held"}. ${onlyTurn}`,
  );
}

function stateText({ state, view }: TurnRecord): string {
  const task = taskStateOf(state, view.waitsFor);
  return isTerminal(task) ? `the task is ${task}` : "the agent does not ask for it";
}
