/**
 * Reads what is appended to the sink, by whoever, from a given day on. Each call goes on where the one before stopped: over
 * midnight, when a file is emptied, and when another file takes its name. What is no record is skipped and counted.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readSync } from "node:fs";
import type { Stats } from "node:fs";
import { join } from "node:path";

import { dayOfFile } from "./day.ts";
import type { Day } from "./day.ts";
import { LineSplitter } from "./lines.ts";
import { isBlank, parseRecord } from "./record.ts";
import type { SinkRecord } from "./record.ts";

const FLAGS = constants.O_RDONLY | ((constants as { O_NOFOLLOW?: number }).O_NOFOLLOW ?? 0);
const CHUNK = 64 * 1024;
/** So many bytes before the place where reading goes on are compared, to tell a file that was emptied and filled again. */
const MEMORY = 64;

export interface Batch {
  /** In the order in which they stand in the files. */
  readonly records: readonly SinkRecord[];
  /** Lines that are no records. */
  readonly bad: number;
  /** Whether there is more to read already. */
  readonly more: boolean;
}

export class SinkReader implements Disposable {
  readonly folder: string;
  readonly #from: Day;
  readonly #files = new Map<string, FileReader>();

  /** @param options.from The first day that is read. */
  constructor({ folder, from }: { readonly folder: string; readonly from: Day }) {
    this.folder = folder;
    this.#from = from;
  }

  /**
   * What is new.
   *
   * @param budget Bytes after which it stops for now; there is `more` then.
   */
  read(budget = Infinity): Batch {
    const records: SinkRecord[] = [];
    let bad = 0;
    let left = budget;
    const take = (line: string | undefined): void => {
      const record = line === undefined ? undefined : parseRecord(line);
      if (record !== undefined) records.push(record);
      else if (line === undefined || !isBlank(line)) bad++;
    };
    const names = namesIn(this.folder).filter((name) => (dayOfFile(name) ?? "") >= this.#from);
    for (const name of names)
      if (!this.#files.has(name)) this.#files.set(name, new FileReader(join(this.folder, name)));
    // The oldest day first. Those whose name is gone are read to their end, too.
    for (const [name, file] of [...this.#files].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
      left -= file.read(left, take);
      if (!file.isOpen) this.#files.delete(name);
      if (left <= 0) return { records, bad, more: true };
    }
    return { records, bad, more: false };
  }

  [Symbol.dispose](): void {
    for (const file of this.#files.values()) file[Symbol.dispose]();
    this.#files.clear();
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // Not there yet, or not ours to read.
  }
}

type Take = (line: string | undefined) => void;

class FileReader implements Disposable {
  readonly #path: string;
  #descriptor: number | undefined;
  #inode = 0;
  #device = 0;
  #offset = 0;
  #before = Buffer.alloc(0);
  #lines = new LineSplitter();

  constructor(path: string) {
    this.#path = path;
  }

  get isOpen(): boolean {
    return this.#descriptor !== undefined;
  }

  /** Reads at most about so many bytes. Returns how many it read. */
  read(budget: number, take: Take): number {
    const stats = lstatSync(this.#path, { throwIfNoEntry: false });
    let read = 0;
    if (this.#descriptor !== undefined && !this.#isNamedBy(stats)) {
      // Another file has the name now. The one we have is read to its end first.
      read = this.#readOn(budget, take);
      if (read >= budget) return read;
      const rest = this.#lines.end();
      if (rest !== undefined) take(rest);
      this[Symbol.dispose]();
    }
    if (this.#descriptor === undefined && (!stats?.isFile() || !this.#open())) return read;
    return read + this.#readOn(budget - read, take);
  }

  [Symbol.dispose](): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #isNamedBy(stats: Stats | undefined): boolean {
    return stats?.ino === this.#inode && stats.dev === this.#device;
  }

  #open(): boolean {
    try {
      this.#descriptor = openSync(this.#path, FLAGS);
    } catch {
      return false;
    }
    ({ ino: this.#inode, dev: this.#device } = fstatSync(this.#descriptor));
    this.#rewind();
    return true;
  }

  #rewind(): void {
    this.#offset = 0;
    this.#before = Buffer.alloc(0);
    this.#lines = new LineSplitter();
  }

  #readOn(budget: number, take: Take): number {
    const descriptor = this.#descriptor!;
    const { size } = fstatSync(descriptor);
    if (size === this.#offset) return 0;
    if (size < this.#offset || !this.#isSameFile()) this.#rewind();
    const chunk = Buffer.allocUnsafe(CHUNK);
    let total = 0;
    while (total < budget) {
      const length = readSync(descriptor, chunk, 0, CHUNK, this.#offset);
      if (length === 0) break;
      const bytes = chunk.subarray(0, length);
      this.#offset += length;
      total += length;
      this.#before = Buffer.concat([this.#before, bytes.subarray(-MEMORY)]).subarray(-MEMORY);
      for (const line of this.#lines.push(bytes)) take(line);
    }
    return total;
  }

  /** Whether what was read last still stands where it stood. */
  #isSameFile(): boolean {
    const found = Buffer.alloc(this.#before.length);
    const length = readSync(this.#descriptor!, found, 0, found.length, this.#offset - found.length);
    return found.subarray(0, length).equals(this.#before);
  }
}
