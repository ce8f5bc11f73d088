/**
 * What a run shows and no replay needs: plan, progress, and the words of effects. Written when they change, at most four times a
 * second, the last one always (E15); until the replay has caught up nothing, as what is recorded is further on.
 */
import type { PlanStep } from "@nylorun/protocol";

import type { Said, TurnView } from "./record.ts";
import type { Run } from "./run.ts";
import { said } from "./view.ts";

/** The shortest time between two writes that only show something. */
const everyMs = 250;

type Progress = NonNullable<TurnView["progress"]>;

/** What is shown and was not written yet; undefined: nothing has changed. */
export interface Snapshot {
  readonly plan: readonly PlanStep[] | undefined;
  readonly progress: Progress | undefined;
  readonly words: readonly Said[];
}

export class Snapshots {
  readonly #run: Run;
  #plan: readonly PlanStep[] | undefined;
  #progress: Progress | undefined;
  #words: readonly Said[] = [];
  #caughtUp = false;
  #writtenAt = 0;
  #isTime = false;
  #stopTimer: (() => void) | undefined;

  constructor(run: Run) {
    this.#run = run;
  }

  showPlan(steps: readonly PlanStep[]): void {
    this.#plan = steps;
    this.#schedule();
  }

  showProgress(progress: Progress): void {
    this.#progress = progress;
    this.#schedule();
  }

  /** Said where no replay could match it, in an effect or out of step: shown, but no entry. Muted while it would be said again. */
  showWords(text: string): void {
    if (this.#run.dropped || (this.#run.behind && !this.#caughtUp)) return;
    this.#words = [...this.#words, { by: "agent", id: this.#run.ports.entropy.id(), parts: [{ text }] }];
    this.#schedule();
  }

  /** The function has been handed everything there was: from here on it shows what is new. */
  caughtUp(): void {
    this.#caughtUp = true;
    this.#schedule();
  }

  /** Whether something is to be written, even if nothing else is. */
  get due(): boolean {
    return this.#isTime && this.#changed;
  }

  /** What is to be written along with whatever is written now. */
  get pending(): Snapshot | undefined {
    if (!this.#changed || this.#run.behind) return undefined;
    return { plan: this.#plan, progress: this.#progress, words: this.#words };
  }

  /** What is on disk need not be written again; what has changed since must. */
  written({ plan, progress, words }: Snapshot): void {
    if (this.#plan === plan) this.#plan = undefined;
    if (this.#progress === progress) this.#progress = undefined;
    this.#words = this.#words.slice(words.length);
    this.#writtenAt = this.#run.ports.timers.now();
    this.#isTime = false;
  }

  stop(): void {
    this.#stopTimer?.();
  }

  get #changed(): boolean {
    return this.#words.length > 0 || this.#plan !== undefined || this.#progress !== undefined;
  }

  #schedule(): void {
    if (!this.#caughtUp && this.#run.behind) return;
    if (this.#run.over || this.#stopTimer !== undefined || !this.#changed) return;
    const { timers } = this.#run.ports;
    this.#stopTimer = timers.after(Math.max(0, this.#writtenAt + everyMs - timers.now()), () => {
      this.#stopTimer = undefined;
      this.#isTime = true;
      this.#run.writer.flush();
    });
  }
}

export function withSnapshot(view: TurnView, snapshot: Snapshot | undefined): TurnView {
  if (snapshot === undefined) return view;
  const { plan, progress, words } = snapshot;
  return { ...words.reduce(said, view), ...(plan && { plan }), ...(progress && { progress }) };
}
