import { isComplete } from "@nylorun/protocol";
import type { ProgressEvent } from "@nylorun/protocol";

import type { AgentProgress } from "./agent-progress.ts";

/** Bars that one page keeps. */
const LIMIT = 100;

/** One bar for each task of which events come, in the order in which they first came. Expects `<agent-progress>` to be registered. */
export class Bars {
  readonly #container: Element;
  /** By task id; a `Map`, since `constructor` and `10` are legal ids. */
  readonly #bars = new Map<string, AgentProgress>();

  constructor(container: Element) {
    this.#container = container;
  }

  show(event: ProgressEvent): void {
    let bar = this.#bars.get(event.task_id);
    if (bar === undefined) {
      if (this.#bars.size >= LIMIT) this.#dropOne();
      bar = document.createElement("agent-progress");
      this.#bars.set(event.task_id, bar);
      this.#container.append(bar);
    }
    bar.event = event;
  }

  /** Milliseconds since 1970; see `AgentProgress.now`. */
  set now(now: number) {
    for (const bar of this.#bars.values()) bar.now = now;
  }

  /** The oldest that has ended, else the oldest. */
  #dropOne(): void {
    const all = [...this.#bars];
    const ended = all.find(([, { event }]) => event !== null && (isComplete(event) || event.status === "error"));
    const [id, bar] = (ended ?? all[0])!;
    bar.remove();
    this.#bars.delete(id);
  }
}
