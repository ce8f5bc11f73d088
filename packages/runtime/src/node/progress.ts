/**
 * Feeds the hub with the progress of every task of this Runtime, and with what callers report; and, where nobody but the person
 * at this machine can be meant, that person's sink as well.
 *
 * A change of a turn is a hint (I9): the turn is read again, once for all the changes of a moment, and what a view would not
 * show differently is not told. So it keeps up with any number of turns at the cost of a bounded share of the time.
 */
import type { Agent } from "@nylorun/agents";
import { Hub, receiptClock, sinkRecord } from "@nylorun/progress";
import type { Sink } from "@nylorun/progress";
import { isTerminal, normalizeReport, progressOfTask, taskStateOf } from "@nylorun/protocol";
import type { Part, ProgressEvent, TaskState } from "@nylorun/protocol";

import type { Progress, Reported } from "../http/progress.ts";
import type { Signal } from "../store/signal.ts";
import type { Store, UnfinishedPage } from "../store/store.ts";
import { depthOf, isOpenTo, subjectOfCalled } from "../turn/callee.ts";
import type { Said, TurnKey, TurnRecord } from "../turn/record.ts";
import type { TaskIds } from "../turn/task-id.ts";
import type { Log } from "./log.ts";

/** Changes within so many milliseconds are told as one. */
const MOMENT = 25;
/** Turns that are read in one go, before others get their turn. */
const AT_ONCE = 100;
/** Changed turns that wait to be read; the hub would not keep more. */
const WAITING = 20_000;
/** Subjects that are known to be recalled. Another time does no harm. */
const SUBJECTS = 10_000;
/** A subject's open tasks of each state that are recalled, the latest ones. */
const RECALLED = 100;

const OUTCOME_LOST = "What came of a step is not known; an operator has to find out";

const OPEN_STATES = [
  "TASK_STATE_SUBMITTED",
  "TASK_STATE_WORKING",
  "TASK_STATE_INPUT_REQUIRED",
  "TASK_STATE_AUTH_REQUIRED",
] as const satisfies readonly TaskState[];

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
  readonly #unsubscribe: () => void;
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> | undefined;

  constructor(options: ProgressFeedOptions) {
    this.#options = options;
    this.#agents = new Map(options.agents.map((agent) => [agent.id, agent]));
    this.#unsubscribe = options.signal.onTurns((key) => this.#note(key));
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
    this.#unsubscribe();
    clearTimeout(this.#timer);
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
        const turn = await this.#options.store.loadTurn(key);
        if (turn !== undefined) await this.#tell(turn);
      } catch (error) {
        this.#options.log.warn({ error, turn: key.turn }, "The progress of a turn could not be read.");
      }
      if (count % AT_ONCE === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  async #tell(turn: TurnRecord): Promise<void> {
    const event = progressOfTask(taskProgressOf(turn, this.#options.taskIds), this.#now());
    const subject = this.#viewerOf(turn);
    const [known] = this.hub.latest({ subject, taskId: event.task_id }, 1);
    if (known !== undefined && looksTheSame(known.event, event)) return;
    this.hub.publish(subject, event);
    // What an agent has called for is no business of the person's who asked it (I10).
    if (depthOf(turn.subject) > 0) return;
    // Not awaited: should it not be stored, there is nobody to tell but the log, which the sink does.
    void this.#options.sink?.append(sinkRecord(event, turn.agent));
  }

  #recallOne(turn: TurnRecord): void {
    const event = progressOfTask(taskProgressOf(turn, this.#options.taskIds), this.#now());
    const subject = this.#viewerOf(turn);
    const [known] = this.hub.latest({ subject, taskId: event.task_id }, 1);
    if (known === undefined) this.hub.publish(subject, event);
  }

  /** Whose the progress is: what an agent does that is not open to its subject any more, operators see alone, as what was called for (I7). */
  #viewerOf(turn: TurnRecord): string {
    const agent = this.#agents.get(turn.agent);
    return agent === undefined || isOpenTo(agent, turn.subject) ? turn.subject : subjectOfCalled(turn);
  }

  async #recall(subject: string): Promise<void> {
    const { store, agents } = this.#options;
    const open: TurnRecord[] = [];
    for (const { id: agent } of agents) {
      for (const status of OPEN_STATES) {
        const { turns } = await store.listTurns({ subject, agent, status, limit: RECALLED });
        open.push(...turns);
      }
    }
    for (const turn of open.toSorted((one, other) => one.statusAt - other.statusAt)) this.#recallOne(turn);
  }

  async #recallAll(): Promise<void> {
    const { store, agents } = this.#options;
    let count = 0;
    for (const { id: agent } of agents) {
      for (let after: string | undefined = ""; after !== undefined && count < WAITING;) {
        const page: UnfinishedPage = await store.listUnfinished({
          agent,
          limit: AT_ONCE,
          ...(after !== "" && { after }),
        });
        for (const turn of page.turns) this.#recallOne(turn);
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
