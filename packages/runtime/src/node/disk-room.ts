/**
 * Whether the disk of the home has room for what is new. Some is kept for what runs: a turn that has been accepted shall be able to
 * end. What comes in meanwhile is refused, so that nothing is taken that cannot be kept; when there is room again, it is taken again.
 */
import { statfs } from "node:fs/promises";

import type { Log } from "./log.ts";

/** How often the disk is looked at, in milliseconds: what is written in that time has to fit in what is kept. */
const EVERY = 2_000;

export interface DiskRoomOptions {
  readonly folder: string;
  /** Bytes. */
  readonly least: number;
  readonly log: Log;
}

export class DiskRoom implements Disposable {
  readonly #options: DiskRoomOptions;
  readonly #timer: NodeJS.Timeout;
  #free: number | undefined;

  static async watch(options: DiskRoomOptions): Promise<DiskRoom> {
    const room = new DiskRoom(options);
    await room.#look();
    return room;
  }

  private constructor(options: DiskRoomOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.#look(), EVERY).unref();
  }

  /** What is free, in bytes; undefined: nobody knows. */
  get free(): number | undefined {
    return this.#free;
  }

  get isThere(): boolean {
    return this.#free === undefined || this.#free > this.#options.least;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    const { folder, least, log } = this.#options;
    const was = this.isThere;
    try {
      const { bavail, bsize } = await statfs(folder);
      this.#free = bavail * bsize;
    } catch {
      // What cannot be asked is left to the first write that fails.
      this.#free = undefined;
    }
    if (was === this.isThere) return;
    const fields = { free: this.#free, least };
    if (was) log.error(fields, "The disk is nearly full: no new messages are taken until there is room.");
    else log.info(fields, "The disk has room again: messages are taken.");
  }
}
