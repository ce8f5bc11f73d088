/**
 * Feeds the hub with the progress of every task of this Runtime, and with what callers report; and, where nobody but the person
 * at this machine can be meant, that person's sink as well.
 *
 * What is erased is forgotten here, too. What was read before it was may come after it: whoever reads looks whether something was
 * erased meanwhile, and then reads again.
 *
 * A change of a turn is a hint (I9): the turn is read again, once for all the changes of a moment, and what a view would not
 * show differently is not told. So it keeps up with any number of turns at the cost of a bounded share of the time.
 */
import { setTimeout as delay } from "node:timers/promises";

import type { Agent } from "@nylorun/agents";
import { Hub, receiptClock, sinkRecord } from "@nylorun/progress";
import type { Published, Sink } from "@nylorun/progress";
import { isTerminal, normalizeReport, progressOfTask, taskStateOf } from "@nylorun/protocol";
import type { Part, ProgressEvent } from "@nylorun/protocol";

import type { Progress, Reported } from "../http/progress.ts";
import type { Signal } from "../store/signal.ts";
import type { Erase, Store, UnfinishedPage } from "../store/store.ts";
import { depthOf, isOpenTo, realSubject, subjectOfCalled } from "../turn/callee.ts";
import type { Said, TurnKey, TurnRecord } from "../turn/record.ts";
import type { TaskIds } from "../turn/task-id.ts";
import type { Log } from "./log.ts";
import { openTurnsOf } from "./open-turns.ts";

/** Changes within so many milliseconds are told as one. */
const MOMENT = 25;
/** Turns that are read in one go, before others get their turn. */
const AT_ONCE = 100;
/** Changed turns that wait to be read; the hub would not keep more. */
const WAITING = 20_000;
/** Subjects that are known to be recalled. Another time does no harm. */
const SUBJECTS = 10_000;
/** Open turns that are gone through to recall everybody's: somebody waits for it. The hub keeps a part of them. */
const GONE_THROUGH = 100_000;
/** Until it is looked again what was erased, when the store did not answer, in milliseconds. */
const ANOTHER_TIME = 1_000;

const OUTCOME_LOST = "What came of a step is not known; an operator has to find out";

export interface ProgressFeedOptions {
  readonly store: Store;
  readonly signal: Signal;
  readonly taskIds: TaskIds;
  readonly agents: readonly Agent[];
  /** The local person's; undefined when others can reach this Runtime. */
  readonly sink: Sink | undefined;
  readonly log: Log;
}

export class ProgressFeed implements Progress, AsyncDisposable {
  readonly hub = new Hub();
  readonly #options: ProgressFeedOptions;
  readonly #agents: ReadonlyMap<string, Agent>;
  readonly #now = receiptClock();
  readonly #changed = new Map<number, TurnKey>();
  readonly #recalled = new Map<string | undefined, Promise<void>>();
  readonly #unsubscribe: readonly (() => void)[];
  readonly #closing = new AbortController();
  #erasures = 0;
  #forgetting: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> | undefined;

  constructor(options: ProgressFeedOptions) {
    this.#options = options;
    this.#agents = new Map(options.agents.map((agent) => [agent.id, agent]));
    const { signal } = options;
    this.#unsubscribe = [signal.onTurns((key) => this.#note(key)), signal.onErased((what) => this.#forget(what))];
  }

  async report(subject: string, report: unknown): Promise<Reported> {
    const event = this.hub.publish(subject, normalizeReport(report, this.#now()));
    return { event, persisted: await this.#options.sink?.append(sinkRecord(event, event.agent)) };
  }

  recall(subject: string | undefined): Promise<void> {
    let recalled = this.#recalled.get(subject);
    if (recalled === undefined) {
      recalled = subject === undefined ? this.#recallAll() : this.#recall(subject);
      if (this.#recalled.size >= SUBJECTS) this.#recalled.clear();
      this.#recalled.set(subject, recalled);
      // It is tried again when it did not work.
      recalled.catch(() => this.#recalled.delete(subject));
    }
    return recalled;
  }

  /** Tells what has changed until now, then nothing more. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    clearTimeout(this.#timer);
    this.#closing.abort();
    await this.#forgetting;
    await this.#reading;
    if (this.#changed.size > 0) await this.#read();
    this.#options.sink?.[Symbol.dispose]();
  }

  #note({ context, turn }: TurnKey): void {
    this.#changed.set(turn, { context, turn });
    if (this.#changed.size > WAITING) {
      const [oldest] = this.#changed.keys();
      if (oldest !== undefined) this.#changed.delete(oldest);
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#reading = this.#read().finally(() => (this.#reading = undefined));
    }, MOMENT).unref();
  }

  async #read(): Promise<void> {
    for (let count = 1; this.#changed.size > 0; count++) {
      const [key] = this.#changed.values();
      if (key === undefined) return;
      this.#changed.delete(key.turn);
      try {
        const erasures = this.#erasures;
        const turn = await this.#options.store.loadTurn(key);
        if (erasures !== this.#erasures) this.#changed.set(key.turn, key);
        else if (turn !== undefined) await this.#tell(turn);
      } catch (error) {
        this.#options.log.warn({ error, turn: key.turn }, "The progress of a turn could not be read.");
      }
      if (count % AT_ONCE === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  async #tell(turn: TurnRecord): Promise<void> {
    const event = this.#eventOf(turn);
    const subject = this.#viewerOf(turn);
    const [known] = this.hub.latest({ subject, taskId: event.task_id }, 1);
    if (known !== undefined && looksTheSame(known.event, event)) return;
    this.hub.publish(subject, event);
    // What an agent has called for is no business of the person's who asked it (I10).
    if (depthOf(turn.subject) > 0) return;
    // Not awaited: should it not be stored, there is nobody to tell but the log, which the sink does.
    void this.#options.sink?.append(sinkRecord(event, turn.agent));
  }

  /** Whose the progress is: what an agent does that is not open to its subject any more, operators see alone, as what was called for (I7). */
  #viewerOf(turn: TurnRecord): string {
    const agent = this.#agents.get(turn.agent);
    return agent === undefined || isOpenTo(agent, turn.subject) ? turn.subject : subjectOfCalled(turn);
  }

  #forget(what: Erase | undefined): void {
    const { hub } = this;
    this.#erasures++;
    switch (what?.what) {
      case "subject":
        hub.forget({ subject: what.subject });
        // Should not all of it be erased, the rest is recalled.
        this.#recalled.delete(what.subject);
        this.#recalled.delete(undefined);
        break;
      case "turn": {
        const end = `:${this.#options.taskIds.encode(what.key)}`;
        for (const { subject, event } of hub.latest({}, Infinity))
          if (event.task_id.endsWith(end)) hub.forget({ subject, taskId: event.task_id });
        break;
      }
      case "context":
        // Under whatever name operators see it.
        this.#forgetGone(hub.latest({}, Infinity).filter(({ subject }) => realSubject(subject) === what.subject));
        break;
      case undefined:
        this.#forgetGone(hub.latest({}, Infinity));
    }
  }

  /** Looks whether these tasks are still there, until it is known. */
  #forgetGone(tasks: readonly Published[]): void {
    this.#forgetting = this.#forgetting.then(async () => {
      let count = 0;
      for (const { subject, event } of tasks) {
        const taskId = event.task_id;
        const key = this.#options.taskIds.decode(taskId.slice(taskId.lastIndexOf(":") + 1));
        if (key === undefined) continue;
        while (!this.#closing.signal.aborted) {
          try {
            if ((await this.#options.store.loadTurn(key)) === undefined) this.hub.forget({ subject, taskId });
            break;
          } catch (error) {
            this.#options.log.warn({ error, turn: key.turn }, "It is not known whether a task was erased.");
            await delay(ANOTHER_TIME, undefined, { signal: this.#closing.signal, ref: false }).catch(() => undefined);
          }
        }
        if (++count % AT_ONCE === 0) await delay(1);
      }
    });
  }

  #eventOf(turn: TurnRecord): ProgressEvent {
    return progressOfTask(taskProgressOf(turn, this.#options.taskIds), this.#now());
  }

  #recallOne(subject: string, event: ProgressEvent): void {
    if (this.hub.latest({ subject, taskId: event.task_id }, 1).length === 0) this.hub.publish(subject, event);
  }

  /** As many as the hub has room for, the latest ones: what it has heard of since is newer. */
  async #recall(subject: string): Promise<void> {
    const { store, agents } = this.#options;
    const erasures = this.#erasures;
    const room = this.hub.roomFor(subject);
    const open = agents.filter((agent) => isOpenTo(agent, subject)).map(({ id }) => id);
    const events: ProgressEvent[] = [];
    for await (const turn of openTurnsOf(store, { subject, agents: open })) {
      if (events.length >= room) break;
      events.push(this.#eventOf(turn));
    }
    for (const event of events.toReversed())
      this.#recallOne(subject, { ...event, timestamp: new Date(this.#now()).toISOString() });
    if (erasures === this.#erasures) return;
    this.#forgetGone(this.hub.latest({ subject }, Infinity));
    await this.#forgetting;
  }

  async #recallAll(): Promise<void> {
    const { store, agents } = this.#options;
    let count = 0;
    for (const { id: agent } of agents) {
      for (let after: string | undefined = ""; after !== undefined && this.hub.roomFor() > 0 && count < GONE_THROUGH;) {
        const erasures = this.#erasures;
        const page: UnfinishedPage = await store.listUnfinished({
          agent,
          limit: AT_ONCE,
          ...(after !== "" && { after }),
        });
        if (erasures !== this.#erasures) continue;
        for (const turn of page.turns) {
          const subject = this.#viewerOf(turn);
          if (this.hub.roomFor(subject) > 0 && this.hub.roomFor() > 0) this.#recallOne(subject, this.#eventOf(turn));
        }
        count += page.turns.length;
        after = page.next;
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  }
}

function taskProgressOf(turn: TurnRecord, taskIds: TaskIds): Parameters<typeof progressOfTask>[0] {
  const { view } = turn;
  const { percent, stage, etaSeconds } = view.progress ?? {};
  const state = taskStateOf(turn.state, view.waitsFor);
  const waitsFor = view.waitsFor === "sleep" ? undefined : view.waitsFor;
  return {
    agent: turn.agent,
    taskId: taskIds.encode(turn),
    state,
    ...(waitsFor !== undefined && { waitsFor }),
    ...(view.plan !== undefined && { steps: view.plan }),
    ...(percent !== undefined && { percent }),
    ...(stage !== undefined && { stage }),
    ...(etaSeconds !== undefined && { etaSeconds }),
    // Nothing goes on then, whatever was said last.
    stepText: turn.state === "uncertain" ? OUTCOME_LOST : textOf(view.said),
    ...(isTerminal(state) && { failure: textOf(view.status) }),
  };
}

function textOf(said: Said | undefined): string {
  const texts = said?.parts.map((part: Part) => ("text" in part ? part.text : undefined)) ?? [];
  return texts.filter((text) => text !== undefined).join(" ");
}

/** Whether two events of one task differ in nothing but when they were. */
function looksTheSame(one: ProgressEvent, other: ProgressEvent): boolean {
  return (
    one.status === other.status &&
    one.percent === other.percent &&
    one.stage === other.stage &&
    one.eta_seconds === other.eta_seconds &&
    one.message === other.message
  );
}
