/**
 * The open waits of a run, while it is in memory: what ends them beside an answer. A signal of the author's takes one back; a sleep
 * is over, and an interaction expired, when the store's clock says so (E11, E13).
 */
import type { WaitEnded } from "./journal.ts";
import type { Run } from "./run.ts";
import { dueAt } from "./view.ts";

export class Waits {
  readonly #run: Run;
  /** Stop listening to the signals that waits were given. */
  readonly #withdrawals = new Map<number, () => void>();
  #stopTimer: (() => void) | undefined;

  constructor(run: Run) {
    this.#run = run;
  }

  /** A wait's own end, unless it has ended already. */
  end(of: number, end: Pick<WaitEnded, "how" | "value">): void {
    const { over, dropped, replay, writer, ports } = this.#run;
    if (over || dropped || replay.hasEnded(of) || writer.isEnding(of)) return;
    writer.write({ kind: "end", of, at: ports.store.now(), ...end });
  }

  /** Sleeps whose time has come, and interactions that nobody answered in time. */
  endDue(now: number): void {
    for (const wait of this.#run.record.view.waits ?? []) {
      if (wait.kind === "task") continue;
      if (wait.kind === "sleep") {
        if (wait.until <= now) this.end(wait.of, { how: "elapsed" });
      } else if (wait.expiresAt !== undefined && wait.expiresAt <= now) this.end(wait.of, { how: "expired" });
    }
  }

  /** Takes a wait back when the author's signal is aborted, as long as this run waits for it. */
  withdrawWhen(signal: AbortSignal, of: number): void {
    const withdraw = () => this.end(of, { how: "withdrawn" });
    signal.addEventListener("abort", withdraw);
    this.#withdrawals.set(of, () => signal.removeEventListener("abort", withdraw));
    if (signal.aborted) withdraw();
  }

  ignoreSignal(of: number): void {
    this.#withdrawals.get(of)?.();
    this.#withdrawals.delete(of);
  }

  ignoreSignals(): void {
    for (const ignore of this.#withdrawals.values()) ignore();
    this.#withdrawals.clear();
  }

  /** Sees to it that what is due while the run stays in memory is noticed. */
  wake(): void {
    this.stop();
    const { ports, record, over, dropped } = this.#run;
    const now = ports.store.now();
    const due = dueAt(record.view.waits, now);
    if (due === undefined || over || dropped) return;
    this.#stopTimer = ports.timers.after(Math.max(0, due - now), () => {
      this.endDue(ports.store.now());
      // Else the store's clock goes slower than this one, or it is time to look at a connection.
      if (!this.#run.writer.idle) return;
      this.wake();
      this.#run.pump();
    });
  }

  stop(): void {
    this.#stopTimer?.();
  }
}
