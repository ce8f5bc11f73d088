/** What runs, and what has just ended: the latest of every task that the Runtime tells of. */
import { nextShown } from "@nylorun/protocol";
import type { ProgressEvent } from "@nylorun/protocol";

import { Changing } from "./change.ts";
import { followEvents } from "./event-feed.ts";
import type { FeedEvent } from "./event-feed.ts";

/** A task of an agent that is served here, by which it can be opened. */
export interface TaskRef {
  readonly agent: string;
  readonly taskId: string;
}

export interface Item {
  /** Unique on the board. */
  readonly key: string;
  readonly agent: string;
  /** What a report calls itself: its task id without the agent's name. */
  readonly name: string;
  /** Whose it is, for an operator. */
  readonly subject: string | undefined;
  /** What a bar shows. */
  event: ProgressEvent;
  /** Goes up each time that the task is opened anew: what a bar showed until then is over. */
  run: number;
  /** The place in which it was first heard of. */
  readonly order: number;
}

export interface Group {
  readonly agent: string;
  readonly items: readonly Item[];
}

/** What there is to see, in its order. It changes when a task comes, ends or starts to wait; not with each step of a bar. */
export interface Overview {
  /** Tasks that wait for somebody. */
  readonly waiting: readonly Item[];
  /** What runs, by agent. */
  readonly groups: readonly Group[];
  /** The newest first. */
  readonly ended: readonly Item[];
  readonly running: number;
}

/** `task-9` comes before `task-10`. */
const NAMES = new Intl.Collator(undefined, { numeric: true });

/** Ended ones that are kept in sight; the history has them all. */
const ENDED = 50;
/** Ended ones that are known. */
const KEPT = 1_000;

export class Board extends Changing {
  readonly #items = new Map<string, Item>();
  readonly #stop = new AbortController();
  #overview: Overview | undefined;
  #orders = 0;
  /** Of the events that come now. */
  #hub: string | undefined;
  /** Everything that is known has been told. */
  isReady = false;
  isLive = false;
  /** Since when nothing comes. */
  lostAt: number | undefined;
  readonly #events = new EventTarget();
  /** What this connection has told of before it was ready. */
  #told: Set<string> | undefined;

  readonly #isMine: (taskId: string) => boolean;

  /**
   * @param query Of the address that events come from.
   * @param isMine Whether this person can answer what the task asks: then it waits for them. Others are only paused.
   */
  constructor(query: string, isMine: (taskId: string) => boolean) {
    super();
    this.#isMine = isMine;
    const listener = {
      event: (event: FeedEvent) => this.#take(event),
      ready: (hub: string) => this.#ready(hub),
      live: (isLive: boolean) => this.#live(isLive),
    };
    void followEvents(listener, query, this.#stop.signal);
  }

  /** Who can answer what is known anew. */
  sortAgain(): void {
    this.#overview = undefined;
    this.changed();
  }

  close(): void {
    this.#stop.abort();
    this.#items.clear();
  }

  get overview(): Overview {
    if (this.#overview === undefined) {
      const all = overviewOf([...this.#items.values()], this.#isMine);
      for (const { key } of all.ended.slice(KEPT)) this.#items.delete(key);
      this.#overview = { ...all, ended: all.ended.slice(0, ENDED) };
    }
    return this.#overview;
  }

  /** How many tasks are known. */
  get size(): number {
    return this.#items.size;
  }

  /** @param subject Whose, where everybody's are shown. */
  find(taskId: string, subject?: string): Item | undefined {
    return this.#items.get(keyOf(taskId, subject));
  }

  /** Calls `listener` with each event of one task; returns what ends it. */
  onTask(taskId: string, listener: () => void): () => void {
    this.#events.addEventListener(taskId, listener);
    return () => this.#events.removeEventListener(taskId, listener);
  }

  #take(event: FeedEvent): void {
    const key = keyOf(event.task_id, event.subject);
    this.#told?.add(key);
    const item = this.#items.get(key);
    if (item === undefined) {
      const agent = agentOf(event);
      const name = event.task_id.startsWith(`${agent}:`) ? event.task_id.slice(agent.length + 1) : event.task_id;
      const { subject } = event;
      this.#items.set(key, { key, agent, name, subject, event, run: 0, order: this.#orders++ });
      this.#overview = undefined;
    } else {
      const before = item.event;
      item.event = nextShown(before, event);
      if (event.status === "started" && hasEnded(before)) item.run++;
      if (placeOf(before) !== placeOf(item.event)) this.#overview = undefined;
    }
    this.changed();
    this.#events.dispatchEvent(new Event(event.task_id));
  }

  /** What another life of the Runtime told, and this one does not know, is gone. */
  #ready(hub: string): void {
    const isNew = this.#hub !== undefined && this.#hub !== hub;
    if (isNew) for (const key of this.#items.keys()) if (!this.#told?.has(key)) this.#items.delete(key);
    this.#told = undefined;
    this.#hub = hub;
    this.isReady = true;
    this.#overview = undefined;
    this.changed();
  }

  #live(isLive: boolean): void {
    if (isLive) this.#told = new Set();
    if (isLive === this.isLive) return;
    this.isLive = isLive;
    this.lostAt = isLive ? undefined : Date.now();
    this.changed();
  }
}

function keyOf(taskId: string, subject = ""): string {
  return `${subject} ${taskId}`;
}

/** Whose work it is; without a name of its own, what stands before the first colon. */
function agentOf({ agent, task_id }: ProgressEvent): string {
  return agent ?? (task_id.includes(":") ? task_id.slice(0, task_id.indexOf(":")) : "unknown");
}

export function hasEnded({ status }: ProgressEvent): boolean {
  return status === "done" || status === "error";
}

function placeOf(event: ProgressEvent): "paused" | "running" | "ended" {
  return event.status === "paused" ? "paused" : hasEnded(event) ? "ended" : "running";
}

function overviewOf(items: readonly Item[], isMine: (taskId: string) => boolean): Overview {
  const at = Map.groupBy(items, ({ event }) => {
    const place = placeOf(event);
    return place !== "paused" ? place : isMine(event.task_id) ? "waiting" : "running";
  });
  const byOrder = (one: Item, other: Item) => one.order - other.order;
  const running = (at.get("running") ?? []).toSorted(byOrder);
  // Reports by their names, where somebody finds them again; names of served tasks say nothing, so the newest comes last.
  const groups = [...Map.groupBy(running, ({ agent }) => agent)].map(([agent, members]) => {
    const isServed = isMine(members[0]?.event.task_id ?? "");
    return { agent, items: isServed ? members : members.toSorted((one, other) => NAMES.compare(one.name, other.name)) };
  });
  const newest = (one: Item, other: Item) => (one.event.timestamp < other.event.timestamp ? 1 : -1);
  return {
    waiting: (at.get("waiting") ?? []).toSorted(byOrder),
    groups: groups.toSorted((one, other) => (one.agent < other.agent ? -1 : 1)),
    ended: (at.get("ended") ?? []).toSorted(newest),
    running: running.length,
  };
}
