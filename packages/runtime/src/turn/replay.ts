/**
 * Matches what an agent's function asks for with what its journal holds, and says what it is handed back next. Pure: it neither
 * waits nor writes.
 *
 * A call in step (made in the microtasks of the run's start or of a delivery) meets the recorded starts in order. A call out
 * of step carries a key, and is met by it (E3). Completions are delivered in the journal's order, each when its start has
 * been met (E2). Anything else is a divergence (E5): the code is not the code that wrote the journal.
 */
import { callName, isCompletion, isStart } from "./journal.ts";
import type { Completion, Entry, Start } from "./journal.ts";

export type Met =
  /** The journal has it: at this place. */
  | { readonly met: "recorded"; readonly at: number }
  /** The journal ends before it. */
  | { readonly met: "new" }
  | { readonly met: "diverged"; readonly why: string }
  /** Out of step, without a key that is unique. */
  | { readonly met: "unjournaled"; readonly why: "no key" | "key used" };

export type Next =
  | { readonly kind: "deliver"; readonly at: number; readonly completion: Completion }
  /** The next completion's start was recorded out of step, and has not been met yet. */
  | { readonly kind: "stalled"; readonly why: string }
  | { readonly kind: "diverged"; readonly why: string }
  | { readonly kind: "nothing" };

export class Replay {
  readonly #entries: Entry[] = [];
  /** Places of recorded starts that were called in step and are not met yet, in order. */
  readonly #ahead: number[] = [];
  /** The same of those that were called out of step, by kind, name and key. */
  readonly #keyed = new Map<string, number>();
  readonly #met = new Set<number>();
  readonly #keysUsed = new Set<string>();
  /** Places of starts that have a completion. */
  readonly #ended = new Set<number>();
  #cursor = 0;
  #delivered = 0;

  /** Everything that is recorded, others' entries included. */
  get entries(): readonly Entry[] {
    return this.#entries;
  }

  /** Completions handed to the function so far: what a call in step says it was made `after`. */
  get delivered(): number {
    return this.#delivered;
  }

  /** Entries that were there before this run, or that others wrote. */
  load(entries: readonly Entry[]): void {
    for (const entry of entries) {
      const at = this.#entries.push(entry) - 1;
      if (isCompletion(entry)) this.#ended.add(entry.of);
      if (!isStart(entry)) continue;
      if (entry.after === undefined) this.#keyed.set(keyOf(entry), at);
      else this.#ahead.push(at);
    }
  }

  /** An entry that this run has written itself. Its start, if it is one, has been met. */
  append(entry: Entry): number {
    const at = this.#entries.push(entry) - 1;
    if (isStart(entry)) this.#met.add(at);
    else if (isCompletion(entry)) this.#ended.add(entry.of);
    return at;
  }

  /** Whether this start has a completion. */
  hasEnded(at: number): boolean {
    return this.#ended.has(at);
  }

  /** @param call The start as it would be recorded; `after` is absent when it is made out of step. */
  meet(call: Start): Met {
    if (call.key !== undefined) {
      const used = keyOf(call);
      if (this.#keysUsed.has(used)) return { met: "unjournaled", why: "key used" };
      this.#keysUsed.add(used);
    }
    if (call.after === undefined) {
      if (call.key === undefined) return { met: "unjournaled", why: "no key" };
      const at = this.#keyed.get(keyOf(call));
      return at === undefined ? { met: "new" } : this.#meet(at);
    }
    const [at] = this.#ahead;
    if (at === undefined) return { met: "new" };
    const recorded = this.#entries[at] as Start;
    if (callName(recorded) !== callName(call) || recorded.key !== call.key) {
      return { met: "diverged", why: `entry ${at} is ${told(recorded)}, the code now calls ${told(call)}` };
    }
    if (recorded.after !== call.after) {
      const place = `entry ${at}, ${told(recorded)},`;
      return {
        met: "diverged",
        why: `${place} was called after ${recorded.after} results, and is now after ${call.after}`,
      };
    }
    this.#ahead.shift();
    return this.#meet(at);
  }

  /** Whether entries that were recorded still lie ahead: what `patch` asks. */
  get behind(): boolean {
    return this.#ahead.length > 0 || this.#nextCompletion() !== undefined;
  }

  /** Whether this very call, made in step, is what the journal has next. */
  isNext(call: Start): boolean {
    const [at] = this.#ahead;
    return at !== undefined && callName(this.#entries[at] as Start) === callName(call);
  }

  /** What the function is handed next. */
  next(): Next {
    const at = this.#nextCompletion();
    const [ahead] = this.#ahead;
    // What was called after as many results as now should have been called by now.
    if (ahead !== undefined && ((this.#entries[ahead] as Start).after ?? 0) <= this.#delivered) {
      const start = this.#entries[ahead] as Start;
      return { kind: "diverged", why: `entry ${ahead} is ${told(start)}, which the code no longer calls` };
    }
    if (at === undefined) return { kind: "nothing" };
    const completion = this.#entries[at] as Completion;
    if (!this.#met.has(completion.of)) {
      const start = this.#entries[completion.of] as Start;
      return { kind: "stalled", why: `entry ${completion.of} is ${told(start)}, which the code has not called yet` };
    }
    return { kind: "deliver", at, completion };
  }

  /** The completion at this place is being handed over. */
  deliver(at: number): void {
    this.#cursor = at + 1;
    this.#delivered++;
  }

  /** A recorded start that the function has ended without. */
  unmet(): string | undefined {
    const at = this.#ahead[0] ?? this.#keyed.values().find((place) => !this.#met.has(place));
    return at === undefined
      ? undefined
      : `entry ${at} is ${told(this.#entries[at] as Start)}, and the code ended without calling it`;
  }

  #meet(at: number): Met {
    this.#met.add(at);
    return { met: "recorded", at };
  }

  #nextCompletion(): number | undefined {
    while (this.#cursor < this.#entries.length) {
      if (isCompletion(this.#entries[this.#cursor]!)) return this.#cursor;
      this.#cursor++;
    }
    return undefined;
  }
}

function keyOf(start: Start): string {
  return `${callName(start)} ${start.key ?? ""}`;
}

function told(start: Start): string {
  return start.key === undefined ? callName(start) : `${callName(start)} with the key ${JSON.stringify(start.key)}`;
}
