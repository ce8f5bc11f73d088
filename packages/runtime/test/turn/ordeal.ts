/**
 * One turn of a random program through everything that may happen to it: effects that come back in any order and together, answers in
 * the middle of commits, processes that die before and after them, stop, or lose their lease and live on. At the end everything
 * that was promised is checked.
 */
import assert from "node:assert/strict";
import { setImmediate, setTimeout } from "node:timers/promises";

import { A2aError, isTerminal, taskStateOf } from "@nylorun/protocol";
import * as fc from "fast-check";

import { Random } from "../../../../test/crash/random.ts";
import { effectKey } from "../../src/turn/effect.ts";
import { isCompletion } from "../../src/turn/journal.ts";
import type { Completion, Entry } from "../../src/turn/journal.ts";
import type { TurnRecord } from "../../src/turn/record.ts";
import { interactionOf } from "../../src/turn/view.ts";
import { Clock } from "./clock.ts";
import type { Asked } from "./faulty-store.ts";
import { isInStep, perform } from "./program.ts";
import type { Program } from "./program.ts";
import { expected } from "./reference.ts";
import type { Handed } from "./reference.ts";
import { agent, Stage } from "./stage.ts";
import type { CreateEngine, Node } from "./stage.ts";
import { World } from "./world.ts";

/** What is to happen, beside the program's own doing. */
export interface Fate {
  /** Of everything that is left to chance. */
  readonly seed: number;
  /** How each process ends but the last. */
  readonly ends: readonly End[];
  /** After how many steps the caller cancels; beyond the end: never. */
  readonly cancelAfter: number;
}

interface End {
  /** Killed; stopped; or its lease is lost while it lives on. */
  readonly how: "kill" | "stop" | "part";
  /** At its so many-th commit, or, between commits, after so many steps. */
  readonly at: number;
  readonly when: "before" | "after" | "between";
}

export const fates: fc.Arbitrary<Fate> = fc.record({
  seed: fc.nat(),
  ends: fc.array(
    fc.record({
      how: fc.constantFrom("kill" as const, "kill" as const, "kill" as const, "stop" as const, "part" as const),
      at: fc.integer({ min: 1, max: 14 }),
      when: fc.constantFrom("before" as const, "after" as const, "between" as const),
    }),
    { maxLength: 4 },
  ),
  cancelAfter: fc.oneof({ weight: 9, arbitrary: fc.constant(10_000) }, { weight: 1, arbitrary: fc.nat(40) }),
});

const stepLimit = 3000;
const leaseMs = 15_000;

/** What became of it: for statistics. */
export interface Told {
  readonly state: TurnRecord["state"];
  readonly lives: number;
  readonly steps: number;
  readonly entries: number;
}

/** @throws AssertionError when a promise is broken. */
export async function undergo(program: Program, fate: Fate, options: OrdealOptions = {}): Promise<Told> {
  await using ordeal = new Ordeal(program, fate, options);
  return await ordeal.run();
}

export interface OrdealOptions {
  /** Default: the right one. */
  readonly createEngine?: CreateEngine;
  /** Default: memory. One process at a time has a SQLite file: none lives on when its lease is lost. */
  readonly store?: "memory" | "sqlite";
}

interface Life {
  readonly index: number;
  readonly node: Node;
  readonly since: number;
  parted: boolean;
}

class Ordeal implements AsyncDisposable {
  readonly #program: Program;
  readonly #fate: Fate;
  readonly #random: Random;
  readonly #clock = new Clock();
  readonly #world = new World();
  readonly #stage: Stage;
  readonly #onDisk: boolean;
  readonly #lives: Life[] = [];
  /** What is to be done in the middle of the next commit. */
  #inCommit: (() => Promise<unknown>) | undefined;
  #turn: TurnRecord | undefined;
  #steps = 0;
  #index = 0;

  constructor(program: Program, fate: Fate, { createEngine, store = "memory" }: OrdealOptions) {
    this.#program = program;
    this.#fate = fate;
    this.#onDisk = store === "sqlite";
    this.#random = new Random(fate.seed);
    this.#stage = new Stage({
      timers: this.#clock.timers,
      now: this.#clock.seconds,
      limits: { leaseMs, turnTimeoutMs: 10 ** 9, replayStallMs: 10 ** 6 },
      store,
      ...(createEngine && { createEngine }),
    });
  }

  async run(): Promise<Told> {
    await this.#begin();
    this.#turn = await this.#node.send();
    let record = this.#turn;
    for (; this.#steps < stepLimit; this.#steps++) {
      for (let ticks = this.#random.whole(4); ticks > 0; ticks--) await setImmediate();
      if (this.#onDisk) await setTimeout(1);
      await this.#livesEnd();
      record = await this.#node.load(this.#turn);
      // That it kills processes is not its own doing, here.
      if (record.view.held?.code === "turn.kills") await this.#node.engine.release(record);
      else assert.notEqual(record.state, "held", `held: ${record.view.held?.message}`);
      if (isTerminal(taskStateOf(record.state))) break;
      if (this.#steps === this.#fate.cancelAfter)
        await this.#node.other.cancel(this.#node.scope(), this.#node.taskId(record)).catch(refused);
      await this.#act(record);
    }
    assert.ok(
      isTerminal(taskStateOf(record.state)),
      `after ${this.#steps} steps: ${JSON.stringify(record)} ${await this.#node.told(record)}`,
    );
    await this.#settle();
    await this.#check();
    const { state, length } = await this.#node.load(this.#turn);
    return { state, lives: this.#index, steps: this.#steps, entries: length };
  }

  get #node(): Node {
    return this.#lives.at(-1)!.node;
  }

  // Lives.

  async #begin(): Promise<void> {
    const index = this.#index++;
    const program = this.#program;
    const run = agent(async (turn) => (await perform(program, "p", this.#world.ground(turn, index))) as object);
    const beside = this.#lives.length > 0;
    if (beside) this.#pass(leaseMs + 1000);
    const node = await this.#stage.start(run, {
      ...(beside && { beside: true }),
      faults: { before: (asked) => this.#before(index, asked), after: (asked) => this.#after(index, asked) },
    });
    this.#lives.push({ index, node, since: this.#steps, parted: false });
  }

  async #before(index: number, { name, commit, commits }: Asked): Promise<void> {
    const life = this.#lives.find((one) => one.index === index);
    if (name === "renew" && life?.parted) throw new Error("No way through.");
    if (commit === undefined) {
      if (this.#random.chance(0.1)) await setImmediate();
      return;
    }
    for (let ticks = this.#random.whole(4); ticks > 0; ticks--) await setImmediate();
    if (this.#random.chance(0.5)) await this.#interfere();
    const end = this.#fate.ends[index];
    if (life && end?.when === "before" && end.at === commits) this.#die(life, end);
  }

  async #after(index: number, { commit, commits }: Asked): Promise<void> {
    if (commit === undefined) return;
    await this.#interfere();
    const life = this.#lives.find((one) => one.index === index);
    const end = this.#fate.ends[index];
    if (life && end?.when === "after" && end.at === commits) this.#die(life, end);
    for (let ticks = this.#random.whole(3); ticks > 0; ticks--) await setImmediate();
  }

  async #interfere(): Promise<void> {
    const act = this.#inCommit;
    this.#inCommit = undefined;
    await act?.();
  }

  #die(life: Life, { how }: End): void {
    if (how === "kill" || (how === "part" && this.#onDisk)) {
      life.node.faulty.die();
      this.#world.forget(life.index);
    } else if (how === "part") life.parted = true;
    else this.#stopping.add(life);
  }

  readonly #stopping = new Set<Life>();

  async #livesEnd(): Promise<void> {
    const last = this.#lives.at(-1)!;
    const end = this.#fate.ends[last.index];
    if (end?.when === "between" && this.#steps - last.since >= end.at && !this.#isOver(last)) this.#die(last, end);
    if (!this.#isOver(last)) return;
    if (this.#stopping.delete(last)) {
      const stopped = last.node.stop();
      // What runs in it is heard of while it stops.
      for (let ticks = this.#random.whole(3); ticks > 0; ticks--) await setImmediate();
      this.#releaseSome();
      await this.#untilDone(stopped);
      this.#world.forget(last.index);
      this.#lives.pop();
    } else if (last.node.faulty.dead) {
      await this.#untilDone(last.node.kill());
      this.#lives.pop();
    }
    await this.#begin();
  }

  #isOver(life: Life): boolean {
    return life.node.faulty.dead || life.parted || this.#stopping.has(life);
  }

  // What happens.

  async #act(record: TurnRecord): Promise<void> {
    if (record.deaths > 0) await this.#node.inner.commit({ key: record, length: record.length, forgive: true });
    const dice = this.#random.next();
    if (dice < 0.35) return this.#releaseSome();
    if (dice < 0.7) {
      if (this.#inCommit === undefined && this.#random.chance(0.4)) {
        this.#inCommit = () => this.#tend();
        return;
      }
      await this.#interfere();
      return this.#tend();
    }
    // Time passes when there is nothing else to do, and now and then.
    const idle = this.#world.pending.size === 0;
    if (dice > (idle ? 0.8 : 0.96)) this.#pass(1000 * [1, 2, 7, 31, 61][this.#random.whole(5)]!);
  }

  #pass(ms: number): void {
    this.#clock.pass(ms);
    this.#stage.pass(0);
  }

  #releaseSome(): void {
    const pending = [...this.#world.pending];
    for (let count = 1 + this.#random.whole(3); count > 0 && pending.length > 0; count--) {
      pending.splice(this.#random.whole(pending.length), 1)[0]!.finish();
    }
  }

  /** A person answers, or an operator says what happened. */
  async #tend(): Promise<void> {
    const node = this.#node;
    const record = await node.load(this.#turn!);
    const lost = record.view.lost ?? [];
    if (lost.length > 0) return this.#resolve(node, lost[this.#random.whole(lost.length)]!.id);
    const open = record.state === "waiting" ? interactionOf(record.view) : undefined;
    if (open === undefined) return;
    const { prompt: path, kind } = open;
    let answer: object;
    if (kind === "question") answer = { value: `answer to ${path}` };
    else if (kind === "approval") answer = { approved: path.length % 2 === 0 };
    else {
      if (this.#random.chance(0.5)) this.#world.connected.add(path);
      answer = { approved: !this.#world.connected.has(path) || this.#random.chance(0.9) };
    }
    if (this.#random.chance(0.1)) answer = { ...answer, interactionId: "another" };
    const taken = await node.answer(record, answer).then(() => true, refused);
    if (taken && "interactionId" in answer) assert.fail("An answer to another interaction was taken.");
    if (!taken) return;
    if (kind === "connection" && (answer as { approved: boolean }).approved) return;
    assert.ok(!this.#world.answers.has(path), `${path} was answered twice`);
    this.#world.answers.set(path, "value" in answer ? answer.value : (answer as { approved: boolean }).approved);
  }

  async #resolve(node: Node, id: string): Promise<void> {
    const path = this.#world.pathOf(effectKey(node.entropy, id));
    const done = path === undefined ? undefined : this.#world.done.get(path);
    if (done !== undefined && this.#random.chance(0.8)) {
      await node.other.resolve(id, { outcome: "completed", value: done });
    } else if (path !== undefined && this.#random.chance(0.3)) {
      await node.other.resolve(id, { outcome: "failed", message: `failed at ${path}` });
    } else {
      // Counted first: it may begin before this is told of it.
      if (path !== undefined) this.#world.allowed.set(path, (this.#world.allowed.get(path) ?? 0) + 1);
      await node.other.resolve(id, { outcome: "retry" }).catch(refused);
    }
  }

  /** Everything that is still under way comes to its end. */
  async #settle(): Promise<void> {
    await this.#interfere();
    for (let round = 0; round < 30; round++) {
      this.#releaseSome();
      for (let ticks = 0; ticks < 5; ticks++) await (this.#onDisk ? setTimeout(1) : setImmediate());
    }
  }

  // What was promised.

  async #check(): Promise<void> {
    const record = await this.#node.load(this.#turn!);
    const journal = await this.#node.journal(record);
    assert.equal(journal.length, record.length);
    assert.equal(this.#world.broken.join("; "), "");
    this.#checkJournal(journal, record);
    const final = this.#checkTraces();
    if (record.state === "canceled") return;
    const handed = journal.flatMap((entry) => (isCompletion(entry) ? [this.#handed(entry, journal)] : []));
    const calls = journal.flatMap((entry, at) => (isCall(entry) ? [this.#pathAt(at, journal)] : []));
    const called = new Set(calls);
    assert.equal(called.size, calls.length, "something was called twice");
    const inStep = isInStep(this.#program);
    const reference = await expected(this.#program, { called, handed, saw: new Map(final) });
    const { end } = reference;
    assert.ok(end !== undefined, "uninterrupted, the program goes on");
    if ("threw" in end) assert.equal(record.state, "failed");
    else {
      assert.equal(record.state, "completed");
      const part = record.view.artifacts?.[0]?.parts[0];
      assert.deepEqual(part?.data ?? part?.text, JSON.parse(JSON.stringify(end.value)));
    }
    assert.deepEqual(byPath(final), byPath(reference.saw), "the branches saw what they would have seen uninterrupted");
    if (inStep) assert.deepEqual(final, reference.saw, "in that order");
    assert.deepEqual(called, reference.called, "what was called is what would have been called");
    for (const path of this.#world.begun.keys())
      assert.ok(reference.called.has(path), `${path} was begun, and would not have been`);
  }

  #checkJournal(journal: readonly Entry[], record: TurnRecord): void {
    const ended = journal.filter(isCompletion).map(({ of }) => of);
    assert.equal(new Set(ended).size, ended.length, "something was concluded twice");
    journal.forEach((entry, at) => {
      if (!isCall(entry)) return;
      const completion = journal.find((other): other is Completion => isCompletion(other) && other.of === at);
      const lost = record.view.lost?.some(({ of }) => of === at) === true;
      if (entry.kind === "effect" && completion === undefined) {
        assert.equal(record.state, "canceled", "a turn has ended with an effect whose outcome is not known");
        // A lost one is named, unless it may be done again.
        if (entry.idempotent !== true)
          assert.ok(lost, `what became of ${this.#pathAt(at, journal)} is not known, and nobody is told`);
      }
      assert.ok(!lost || completion === undefined, "an effect is named as lost, and its outcome is known");
      if (completion?.kind !== "end" || completion.how !== "answered") return;
      const path = this.#pathAt(at, journal);
      const answer =
        entry.kind === "connection" && !this.#world.answers.has(path) ? true : this.#world.answers.get(path);
      assert.deepEqual(completion.value, answer, `${path} was answered otherwise`);
      if (entry.kind === "connection" && completion.value === true)
        assert.ok(this.#world.connected.has(path) && this.#world.looked.has(path));
    });
  }

  /** What each run saw is the beginning of what the last one saw. Returns that. */
  #checkTraces(): readonly (readonly [string, unknown])[] {
    // What a run does that is told to stop, as somebody has ended the turn, is not part of it.
    const traces = this.#world.traces.map(({ events }) => {
      const stopped = events.findIndex(([, what]) => what === "The task was cancelled.");
      return stopped < 0 ? events : events.slice(0, stopped);
    });
    // Two processes may run it at once for a while: the one that came furthest is the one that ended it.
    const final = traces.reduce((best, events) => (events.length > best.length ? events : best), []);
    for (const events of traces) {
      if (isInStep(this.#program)) {
        const shared = Math.min(events.length, final.length);
        assert.deepEqual(events.slice(0, shared), final.slice(0, shared), "a replay went another way");
      }
      for (const [path, saw] of Object.entries(byPath(events))) {
        const seen = byPath(final)[path] ?? [];
        const shared = Math.min(saw.length, seen.length);
        assert.deepEqual(saw.slice(0, shared), seen.slice(0, shared), `${path} saw something else on replay`);
      }
    }
    for (const [path, what] of final) {
      const { of } = (what ?? {}) as { readonly of?: string };
      if (of !== undefined) assert.equal(of, path, "a branch was handed another branch's result");
    }
    return final;
  }

  #handed(completion: Completion, journal: readonly Entry[]): Handed {
    const path = this.#pathAt(completion.of, journal);
    if (completion.kind === "outcome") {
      const { result } = completion;
      return {
        path,
        result: "error" in result ? { error: new Error(result.error.message) } : { value: result.value },
      };
    }
    switch (completion.how) {
      case "answered":
        return { path, result: { value: completion.value } };
      case "elapsed":
        return { path, result: { value: "slept" } };
      case "expired":
        return { path, result: { error: named("WaitExpired") } };
      case "withdrawn":
        return { path, result: { error: named("AbortError") } };
    }
  }

  #pathAt(at: number, journal: readonly Entry[]): string {
    const entry = journal[at]!;
    switch (entry.kind) {
      case "effect":
        return this.#world.pathOf(effectKey(this.#node.entropy, entry.id)) ?? `effect ${at}, which never ran`;
      case "question":
      case "approval":
      case "connection":
        return entry.prompt;
      case "sleep":
        return this.#world.sleeper(entry.until) ?? `sleep ${at}`;
      default:
        return `entry ${at}`;
    }
  }

  /** Nothing waits for real time: who waits for something to pass must be given it. */
  async #untilDone(promise: Promise<void>): Promise<void> {
    const ended = promise.then(() => true);
    while (!(await Promise.race([ended, setImmediate(false)]))) this.#clock.pass(100);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#untilDone(this.#stage[Symbol.asyncDispose]());
  }
}

function isCall(entry: Entry): boolean {
  return (
    entry.kind === "effect" ||
    entry.kind === "question" ||
    entry.kind === "approval" ||
    entry.kind === "connection" ||
    entry.kind === "sleep"
  );
}

function named(name: string): Error {
  return Object.assign(new Error(name), { name });
}

function byPath(events: readonly (readonly [string, unknown])[]): Record<string, unknown[]> {
  const paths: Record<string, unknown[]> = {};
  for (const [path, what] of events) (paths[path] ??= []).push(what);
  return paths;
}

/** What may be refused, as somebody else was faster. */
function refused(error: unknown): false {
  if (error instanceof A2aError || (error as { code?: unknown }).code === "effect.ended") return false;
  throw error;
}
