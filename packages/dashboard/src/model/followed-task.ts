/**
 * One task, up to date for as long as somebody looks at it. It is asked for when the Runtime's events say that it has changed, when a
 * connection comes back, and now and then anyway: events are hints (I9).
 */
import type { A2aTask, TaskView } from "@nylorun/agents/a2a";

import type { TaskRef } from "./board.ts";
import { Changing } from "./change.ts";
import type { Desk } from "./desk.ts";
import { saying } from "./session.ts";

/** Between two looks that nothing asked for, in milliseconds. */
const IDLE = 15_000;

export class FollowedTask extends Changing {
  readonly ref: TaskRef;
  /** To act on; undefined until it was found. */
  task: A2aTask | undefined;
  view: TaskView | undefined;
  /** Why it cannot be shown as it is now. */
  error: string | undefined;
  /** There is no such task, of this person's. */
  isMissing = false;
  readonly #desk: Desk;
  readonly #stop = new AbortController();
  readonly #stops: (() => void)[] = [];
  #looking = false;
  #again = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(desk: Desk, ref: TaskRef) {
    super();
    this.#desk = desk;
    this.ref = ref;
    let wasLive = desk.board.isLive;
    this.#stops.push(
      desk.board.onTask(`${ref.agent}:${ref.taskId}`, () => this.look()),
      desk.board.onChange(() => {
        if (desk.board.isLive && !wasLive) this.look();
        wasLive = desk.board.isLive;
      }),
    );
    this.look();
  }

  close(): void {
    this.#stop.abort();
    clearTimeout(this.#timer);
    for (const stop of this.#stops) stop();
  }

  /** Looks at it, once more if that is being done. */
  look(): void {
    this.#again = true;
    if (this.#looking || this.#stop.signal.aborted) return;
    this.#looking = true;
    void this.#look().finally(() => (this.#looking = false));
  }

  async #look(): Promise<void> {
    const { signal } = this.#stop;
    while (this.#again && !signal.aborted) {
      this.#again = false;
      clearTimeout(this.#timer);
      try {
        if (this.task === undefined) {
          const client = await this.#desk.client(this.ref.agent);
          this.task = await client.task(this.ref.taskId, { signal });
        }
        this.view = await this.task.refresh({ signal });
        this.error = undefined;
        this.#desk.learn(this.view);
      } catch (error) {
        if (signal.aborted) return;
        const { code } = error as { readonly code?: unknown };
        this.isMissing = code === "a2a.taskNotFound" || code === "card.notFound";
        this.error = saying(error);
      }
      this.changed();
      if (this.view?.ended !== true && !this.isMissing) this.#timer = setTimeout(() => this.look(), IDLE);
    }
  }
}
