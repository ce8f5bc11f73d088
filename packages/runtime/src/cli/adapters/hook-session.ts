/** What hooks of one session remember: a file of changes that each of them appends to, so that two at once lose nothing. */
import { appendFileSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

import { makeFolder } from "../../files/make-folder.ts";
import { stateFolder } from "../../node/state-folder.ts";
import { sessionOf } from "./claude-code.ts";
import type { Change, Session } from "./claude-code.ts";
import { slugOf } from "./todo-list.ts";

/** Sessions of which nothing was heard for so long are forgotten, in milliseconds. */
const KEPT = 7 * 24 * 60 * 60_000;

export class HookSession {
  readonly #folder = join(stateFolder(), "claude-code");
  readonly #file: string;

  constructor(id: string) {
    this.#file = join(this.#folder, `${slugOf(id, 64)}.jsonl`);
  }

  read(): Session {
    let text = "";
    try {
      text = readFileSync(this.#file, "utf8");
    } catch {
      // The first hook of the session.
    }
    const changes = text.split("\n").flatMap((line) => {
      try {
        return [JSON.parse(line) as Change];
      } catch {
        return []; // The empty end, or a line whose writer was killed.
      }
    });
    return sessionOf(changes);
  }

  append(change: Change): void {
    makeFolder(this.#folder);
    appendFileSync(this.#file, `${JSON.stringify(change)}\n`, { mode: 0o600 });
  }

  /** Forgets sessions that are long over. */
  forgetOld(): void {
    for (const name of readdirSync(this.#folder)) {
      const path = join(this.#folder, name);
      if (name.endsWith(".jsonl") && Date.now() - statSync(path).mtimeMs > KEPT) rmSync(path, { force: true });
    }
  }
}
