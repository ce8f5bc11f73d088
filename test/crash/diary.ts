/** What the worker agent noted while it worked: what ran, when, in which process, by no account of the Runtime's. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";

interface Note {
  readonly what: "begin" | "end";
  readonly task: string;
  readonly context: string;
  readonly pid: number;
}

export class Diary {
  readonly #notes: readonly Note[];

  private constructor(notes: readonly Note[]) {
    this.#notes = notes;
  }

  static read(file: string): Diary {
    if (!existsSync(file)) return new Diary([]);
    const lines = readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line !== "");
    return new Diary(lines.map((line) => JSON.parse(line) as Note));
  }

  /** How often the task's work was done. Twice is legal: the process may die between the work and the record of it. */
  timesDone(task: string): number {
    return this.#notes.filter((note) => note.task === task && note.what === "end").length;
  }

  /** The context's tasks in the order in which they first began. */
  order(context: string): readonly string[] {
    return [...new Set(this.#notes.filter((note) => note.context === context).map((note) => note.task))];
  }

  /** I2: in one process, a turn of a context begins only when the one before has ended. */
  assertOneAtATime(): void {
    const running = new Map<string, Note>();
    for (const note of this.#notes) {
      const other = running.get(note.context);
      if (note.what === "end") running.delete(note.context);
      else {
        assert.ok(
          other === undefined || other.pid !== note.pid,
          `task ${note.task} began while ${other?.task} of the same context ran`,
        );
        running.set(note.context, note);
      }
    }
  }
}
