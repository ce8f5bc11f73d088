/**
 * One day's file, as a writer sees it.
 *
 * Any number of processes append at once, and any of them may be killed at any moment. A record, its newline included, is
 * part of one `write` on an `O_APPEND` descriptor, which the system does not mix with another's. Should a writer die within
 * its write, a torn tail is left; whoever appends next begins a new line first, so that it costs one record and not two.
 * Somebody may die between that look and our write, so where others wrote at the same time, it is looked where the records
 * came to lie.
 */
import { closeSync, constants, fchmodSync, fstatSync, lstatSync, openSync, readSync, writeSync } from "node:fs";
import type { Stats } from "node:fs";

import { isWide } from "./folder.ts";

const FLAGS =
  constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | ((constants as { O_NOFOLLOW?: number }).O_NOFOLLOW ?? 0);
const NEWLINE = 0x0a;
/** A record is written again when it came to lie behind a torn tail; more than once in a row takes a saboteur. */
const ATTEMPTS = 4; /** How long a file that was renamed may still be appended to, in milliseconds. One that was deleted never is. */
const NAME_MS = 100;

export interface Appended {
  /** How many of the lines are stored for sure, from the first on. */
  readonly stored: number;
  /** Why the others are not. */
  readonly error?: unknown;
}

/** What became of a write: everything is there, the first line is glued to a torn tail, or only so many lines are there. */
type Outcome = "whole" | "glued" | number;

export class EventsFile implements Disposable {
  readonly path: string;
  readonly #descriptor: number;
  /** Which file the descriptor is of, as its name may get another one. */
  readonly #inode: number;
  readonly #device: number;
  /** When it was last made sure that the name stands for this file. */
  #named = performance.now();
  /** Where our last write ended, if nobody else wrote meanwhile: up to here it ends in a newline. */
  #end = -1;

  constructor(path: string) {
    this.path = path;
    this.#descriptor = openSync(path, FLAGS, 0o600);
    const stats = fstatSync(this.#descriptor);
    this.#inode = stats.ino;
    this.#device = stats.dev;
    try {
      if (!stats.isFile()) throw new Error(`${path} is no regular file`);
      if (isWide(stats.mode)) fchmodSync(this.#descriptor, 0o600);
    } catch (error) {
      closeSync(this.#descriptor);
      throw error;
    }
  }

  /**
   * @param lines Each one ends in a newline, and holds no other.
   * @returns Undefined, and nothing is done, when the file has been deleted or renamed: what is appended then, nobody reads.
   */
  append(lines: readonly string[]): Appended | undefined {
    let left = lines;
    let stored = 0;
    try {
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const stats = fstatSync(this.#descriptor);
        if (attempt === 0 && !this.#isNamed(stats)) return undefined;
        const outcome = this.#write(left, stats.size);
        if (outcome === "whole") return { stored: lines.length };
        // Behind a torn tail only the first line is spoiled.
        if (outcome === "glued") left = left.slice(0, 1);
        else {
          stored += outcome;
          left = left.slice(outcome);
        }
      }
    } catch (error) {
      return { stored, error };
    }
    return { stored, error: new Error(`${this.path} does not take whole records`) };
  }

  [Symbol.dispose](): void {
    closeSync(this.#descriptor);
  }

  /** Whether the name still stands for this file. Looking a name up takes its time, so that is not done for every record. */
  #isNamed({ nlink }: Stats): boolean {
    if (nlink === 0) return false;
    const now = performance.now();
    if (now < this.#named + NAME_MS) return true;
    this.#named = now;
    const stats = lstatSync(this.path, { throwIfNoEntry: false });
    return stats !== undefined && stats.ino === this.#inode && stats.dev === this.#device;
  }

  /** @param now The size of the file. */
  #write(lines: readonly string[], now: number): Outcome {
    const { size, torn } = this.#look(now);
    const records = Buffer.from(lines.join(""));
    const bytes = torn ? Buffer.concat([Buffer.of(NEWLINE), records]) : records;
    const written = writeSync(this.#descriptor, bytes);
    const after = fstatSync(this.#descriptor).size;
    if (written === bytes.length && after === size + written) {
      this.#end = after;
      return "whole";
    }
    this.#end = -1;
    // The disk is full: what fits is there, and the record that did not is torn.
    if (written < bytes.length) return wholeLines(lines, written - (torn ? 1 : 0));
    return torn ? "whole" : this.#placeOf(records, size, after);
  }

  /**
   * The size of the file, and whether it ends within a line. What looks torn may be another's write that is under way, as
   * the file grows page by page; a change of the mode, even to what it is, waits for that write, as both lock the file.
   */
  #look(now: number): { readonly size: number; readonly torn: boolean } {
    let size = now;
    while (size !== this.#end && size > 0 && this.#read(size - 1, size)[0] !== NEWLINE) {
      fchmodSync(this.#descriptor, 0o600);
      const later = fstatSync(this.#descriptor).size;
      if (later === size) return { size, torn: true };
      size = later;
    }
    return { size, torn: false };
  }

  /** How records lie that were written somewhere between two sizes of the file. */
  #placeOf(records: Buffer, from: number, to: number): Outcome {
    // Smaller than it must be: somebody emptied the file meanwhile.
    const start = to < from + records.length ? 0 : from;
    const region = this.#read(start, to);
    const at = region.indexOf(records);
    if (at === -1) return 0;
    return at === 0 || region[at - 1] === NEWLINE ? "whole" : "glued";
  }

  #read(from: number, to: number): Buffer {
    const bytes = Buffer.alloc(to - from);
    return bytes.subarray(0, readSync(this.#descriptor, bytes, 0, bytes.length, from));
  }
}

function wholeLines(lines: readonly string[], bytes: number): number {
  let rest = bytes;
  return lines.findIndex((line) => (rest -= Buffer.byteLength(line)) < 0);
}
