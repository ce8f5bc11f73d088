/**
 * The hub: what is known of every task now, in this process, and who wants to hear of changes. Keyed by subject and task (I7).
 *
 * It holds no history. Who joins, or comes back, is brought up to date from what is kept of each task. Memory is bounded: of a
 * subject's tasks, and of all, the ended ones that were heard of least recently go first.
 */
import { randomBytes } from "node:crypto";

import type { ProgressEvent } from "@nylorun/protocol";

import { catchUp, nextTrack } from "./track.ts";
import type { Track } from "./track.ts";

/** An event as the hub took it in. */
export interface HubEvent extends ProgressEvent {
  /** The order in which the hub took events in: each later one is higher. */
  readonly seq: number;
}

export interface Published {
  readonly subject: string;
  readonly event: HubEvent;
}

/** Which tasks: those of one subject, or of all; one of them, or all. */
export interface HubFilter {
  readonly subject?: string | undefined;
  readonly taskId?: string | undefined;
}

export interface HubOptions {
  /** Tasks that are kept of one subject. Default 1,000. */
  readonly tasksPerSubject?: number;
  /** Tasks that are kept in all. Default 20,000. */
  readonly tasks?: number;
}

type Listener = (published: Published) => void;

/** One subject's tasks, each map in the order of its last event. */
interface Shelf {
  readonly open: Map<string, Track<HubEvent>>;
  readonly ended: Map<string, Track<HubEvent>>;
}

/** Listeners to every subject's tasks. No subject is named so: subjects are visible ASCII. */
const EVERYBODY = "\0";

export class Hub {
  /** Tells this hub's sequence numbers from those of another process, or of an earlier one. */
  readonly id: string = randomBytes(6).toString("hex");
  readonly #tasksPerSubject: number;
  readonly #tasks: number;
  /** By subject, in the order of its last event. */
  readonly #shelves = new Map<string, Shelf>();
  readonly #listeners = new Map<string, Set<Listener>>();
  #count = 0;
  #seq = 0;

  constructor({ tasksPerSubject = 1_000, tasks = 20_000 }: HubOptions = {}) {
    this.#tasksPerSubject = tasksPerSubject;
    this.#tasks = tasks;
  }

  /** Takes an event in, and tells of it before it returns. */
  publish(subject: string, event: ProgressEvent): HubEvent {
    const stamped: HubEvent = { ...event, seq: ++this.#seq };
    const shelf = this.#shelfOf(subject);
    const id = event.task_id;
    const track = nextTrack(shelf.open.get(id) ?? shelf.ended.get(id), stamped);
    if (!shelf.open.delete(id) && !shelf.ended.delete(id)) this.#count++;
    (track.ended === undefined ? shelf.open : shelf.ended).set(id, track);
    this.#makeRoom(subject, shelf);
    this.#tell(EVERYBODY, { subject, event: stamped });
    this.#tell(subject, { subject, event: stamped });
    return stamped;
  }

  /** Knows these tasks no more. Nobody is told: a view that has shown one shows it until it is drawn anew. */
  forget(filter: HubFilter): void {
    for (const { subject, track } of this.#tracks(filter)) {
      const shelf = this.#shelves.get(subject)!;
      const id = track.latest.task_id;
      if (shelf.open.delete(id) || shelf.ended.delete(id)) this.#count--;
      if (shelf.open.size + shelf.ended.size === 0) this.#shelves.delete(subject);
    }
  }

  /** How many more tasks of a subject, or of all, are kept before others have to go. */
  roomFor(subject?: string): number {
    if (subject === undefined) return Math.max(0, this.#tasks - this.#count);
    const shelf = this.#shelves.get(subject);
    return Math.max(0, this.#tasksPerSubject - (shelf === undefined ? 0 : shelf.open.size + shelf.ended.size));
  }

  /** The latest event of each task, the newest first. */
  latest(filter: HubFilter, limit: number): Published[] {
    return this.#tracks(filter)
      .map(({ subject, track }) => ({ subject, event: track.latest }))
      .toSorted((one, other) => other.event.seq - one.event.seq)
      .slice(0, limit);
  }

  /** What brings a view up to date that has seen everything up to `seq`, in the order of receipt. 0: that has seen nothing. */
  since(seq: number, filter: HubFilter): Published[] {
    return this.#tracks(filter)
      .flatMap(({ subject, track }) => catchUp(track).map((event) => ({ subject, event })))
      .filter(({ event }) => event.seq > seq)
      .toSorted((one, other) => one.event.seq - other.event.seq);
  }

  /** The sequence number of the last event. */
  get seq(): number {
    return this.#seq;
  }

  /** How many listen. */
  get listeners(): number {
    return this.#listeners.values().reduce((sum, { size }) => sum + size, 0);
  }

  /** Calls `listener` with each event from now on, until what is returned is disposed of. */
  subscribe({ subject = EVERYBODY, taskId }: HubFilter, listener: Listener): Disposable {
    const told: Listener =
      taskId === undefined
        ? (published) => listener(published)
        : (published) => {
            if (published.event.task_id === taskId) listener(published);
          };
    const listeners = this.#listeners.get(subject) ?? new Set();
    this.#listeners.set(subject, listeners.add(told));
    return {
      [Symbol.dispose]: () => {
        if (listeners.delete(told) && listeners.size === 0) this.#listeners.delete(subject);
      },
    };
  }

  #tell(to: string, published: Published): void {
    for (const listener of this.#listeners.get(to) ?? []) listener(published);
  }

  /** A subject's shelf, which is now the one that was used last. */
  #shelfOf(subject: string): Shelf {
    const shelf = this.#shelves.get(subject) ?? { open: new Map(), ended: new Map() };
    this.#shelves.delete(subject);
    this.#shelves.set(subject, shelf);
    return shelf;
  }

  #makeRoom(subject: string, shelf: Shelf): void {
    if (shelf.open.size + shelf.ended.size > this.#tasksPerSubject) this.#drop(subject, shelf);
    if (this.#count <= this.#tasks) return;
    const [oldest] = this.#shelves;
    if (oldest !== undefined) this.#drop(...oldest);
  }

  #drop(subject: string, { open, ended }: Shelf): void {
    const from = ended.size > 0 ? ended : open;
    const [id] = from.keys();
    if (id !== undefined && from.delete(id)) this.#count--;
    if (open.size + ended.size === 0) this.#shelves.delete(subject);
  }

  #tracks({ subject, taskId }: HubFilter): { readonly subject: string; readonly track: Track<HubEvent> }[] {
    const shelves = subject === undefined ? [...this.#shelves] : [[subject, this.#shelves.get(subject)] as const];
    return shelves.flatMap(([name, shelf]) => {
      if (shelf === undefined) return [];
      const tracks =
        taskId === undefined
          ? [...shelf.open.values(), ...shelf.ended.values()]
          : [shelf.open.get(taskId) ?? shelf.ended.get(taskId)].filter((track) => track !== undefined);
      return tracks.map((track) => ({ subject: name, track }));
    });
  }
}
