/**
 * The sink, as a writer sees it: the folder of daily files that every agent of one person on one machine reports to.
 *
 * An append is answered when the record is with the operating system: it outlives this process, not a power cut. Nothing here
 * throws: where nothing can be written, the answer says so, and the next append tries again.
 */
import { join } from "node:path";

import { eventsFileOf } from "./day.ts";
import type { Day } from "./day.ts";
import { EventsFile } from "./events-file.ts";
import { prepareFolder } from "./folder.ts";
import type { SinkRecord } from "./record.ts";
import { removeOldFiles } from "./retention.ts";

export interface SinkOptions {
  /** See {@link sinkFolder}. Made when the first record comes. */
  readonly folder: string;
  /** Is told why records are not stored, once for each cause; in one line, for people. */
  readonly warn: (text: string) => void;
}

interface Waiting {
  readonly line: string;
  readonly day: Day;
  readonly answer: (persisted: boolean) => void;
}

export class Sink implements Disposable {
  readonly folder: string;
  readonly #warn: (text: string) => void;
  readonly #warned = new Set<string>();
  #waiting: Waiting[] = [];
  #open: { readonly day: Day; readonly file: EventsFile } | undefined;

  constructor({ folder, warn }: SinkOptions) {
    this.folder = folder;
    this.#warn = warn;
  }

  /**
   * Appends a record to the file of the day that its timestamp says. What is appended within one turn of the event loop is
   * written at once, in that order.
   *
   * @returns Whether it is stored. Never rejects.
   */
  append(record: SinkRecord): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    // The queue of ticks comes after that of promises: everything that came in with one chunk is in one write.
    if (this.#waiting.length === 0) process.nextTick(() => this.flush());
    this.#waiting.push({ line: `${JSON.stringify(record)}\n`, day: record.timestamp.slice(0, 10), answer: resolve });
    return promise;
  }

  /** Writes now what was appended. */
  flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let from = 0; from < waiting.length;) {
      const { day } = waiting[from]!;
      let to = from;
      while (waiting[to]?.day === day) to++;
      this.#write(day, waiting.slice(from, to));
      from = to;
    }
  }

  /** Writes what was appended, and closes. A later append opens the sink again. */
  [Symbol.dispose](): void {
    this.flush();
    this.#close();
  }

  #write(day: Day, records: readonly Waiting[]): void {
    let stored = 0;
    try {
      const lines = records.map(({ line }) => line);
      const appended = this.#fileOf(day).append(lines) ?? this.#reopen(day).append(lines);
      if (appended === undefined) throw new Error("its file is taken away again and again");
      stored = appended.stored;
      if (appended.error !== undefined) this.#fail(appended.error);
    } catch (error) {
      this.#fail(error);
    }
    for (const [index, { answer }] of records.entries()) answer(index < stored);
  }

  #fileOf(day: Day): EventsFile {
    return this.#open?.day === day ? this.#open.file : this.#reopen(day);
  }

  #reopen(day: Day): EventsFile {
    const isNewDay = this.#open?.day !== day;
    this.#close();
    prepareFolder(this.folder);
    const file = new EventsFile(join(this.folder, eventsFileOf(day)));
    this.#open = { day, file };
    if (isNewDay) removeOldFiles(this.folder, day);
    return file;
  }

  #fail(error: unknown): void {
    this.#close();
    const { code, message } = error as NodeJS.ErrnoException;
    const cause = code ?? message;
    if (this.#warned.has(cause)) return;
    this.#warned.add(cause);
    this.#warn(`Progress is not being stored in ${this.folder}: ${reasonOf(cause)}. Each report tries again.`);
  }

  #close(): void {
    this.#open?.file[Symbol.dispose]();
    this.#open = undefined;
  }
}

function reasonOf(cause: string): string {
  switch (cause) {
    case "ENOSPC":
    case "EDQUOT":
    case "EFBIG":
      return "there is no room for more";
    case "EACCES":
    case "EPERM":
      return "this user may not write there";
    case "ENOENT":
      return "no folder can be made there";
    case "EROFS":
      return "the disk is read-only";
    case "ELOOP":
      return "the day's file is a symbolic link, which nobody here makes";
    case "ENOTDIR":
    case "EEXIST":
      return "a file is in the folder's place";
    default:
      return cause;
  }
}
