/**
 * Matches what an agent's function asks for with what its journal holds, and says what it is handed back next. Pure: it neither
 * waits nor writes.
 *
 * A call in step (made in the microtasks of the run's start or of a delivery) meets the recorded starts in order. A call with a
 * key is met by that, in step or out of it: what was out of step live may be in step on replay, and the other way round (E3).
 * Completions are delivered in the journal's order, each when all starts before it have been met (E2). Anything else is a
 * divergence (E5): the code is not the code that wrote the journal.
 */
import { callName, isCompletion, isStart } from "./journal.ts";
import type { Completion, Entry, Start } from "./journal.ts";

export type Met =
  /** The journal has it: at this place. */
  | { readonly met: "recorded"; readonly at: number }
  /** The journal ends before it. */
  | { readonly met: "new" }
  /** Words, which the journal has otherwise: nobody is handed anything for them, so they need not fit. */
  | { readonly met: "past" }
  | { readonly met: "diverged"; readonly why: string }
  /** Out of step, without a key that is unique. */
  | { readonly met: "unjournaled"; readonly why: "no key" | "key used" };

export type Next =
  | { readonly kind: "deliver"; readonly at: number; readonly completion: Completion }
  /** A start with a key has not been met yet: the function may be about to call it. */
  | { readonly kind: "stalled"; readonly why: string }
  | { readonly kind: "diverged"; readonly why: string }
  | { readonly kind: "nothing" };

export class Replay {
  readonly #entries: Entry[] = [];
  /** Places of recorded starts without a key that are not met yet, in order. */
  readonly #ahead: number[] = [];
  /** The same of those with one, by kind, name and key. */
  readonly #keyed = new Map<string, number>();
  readonly #keysUsed = new Set<string>();
  /** How far calls with a key go that are recorded. */
  #keyedUntil = -1;
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
      if (entry.key === undefined) this.#ahead.push(at);
      else {
        this.#keyed.set(keyOf(entry), at);
        this.#keyedUntil = Math.max(this.#keyedUntil, stepOf(entry));
      }
    }
  }

  /** An entry that this run has written itself. Its start, if it is one, has been met. */
  append(entry: Entry): number {
    const at = this.#entries.push(entry) - 1;
    if (isCompletion(entry)) this.#ended.add(entry.of);
    return at;
  }

  /** Whether this start has a completion. */
  hasEnded(at: number): boolean {
    return this.#ended.has(at);
  }

  /** @param call The start as it would be recorded. */
  meet(call: Start): Met {
    if (call.key !== undefined) {
      const used = keyOf(call);
      if (this.#keysUsed.has(used)) return { met: "unjournaled", why: "key used" };
      this.#keysUsed.add(used);
      const at = this.#keyed.get(used);
      if (at === undefined) return { met: "new" };
      this.#keyed.delete(used);
      return { met: "recorded", at };
    }
    if (call.outOfStep) return { met: "unjournaled", why: "no key" };
    if (call.kind === "said") return this.#meetWords();
    this.#skipWords(Infinity);
    const [at] = this.#ahead;
    if (at === undefined) return { met: "new" };
    const recorded = this.#entries[at] as Start;
    if (callName(recorded) !== callName(call)) {
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
    return { met: "recorded", at };
  }

  /** All that is called in a step has been called. */
  closeStep(): void {
    this.#skipWords(this.#delivered);
  }

  /** Whether calls that were recorded still lie ahead: until they are met, nothing shows that this code wrote the journal. */
  get startsAhead(): boolean {
    return this.#ahead.length > 0 || this.#keyed.size > 0;
  }

  /**
   * Whether calls are recorded that are made later than this point in step, which {@link isNext} has looked at. When one with a key is made
   * out of step is a matter of time: what counts is when it was made first, so that every replay is told the same.
   */
  get isRecordedBeyond(): boolean {
    if (this.#ahead.length > 0 || this.#keyedUntil > this.#delivered) return true;
    return this.#keyed.values().some((at) => stepOf(this.#entries[at] as Start) === this.#delivered);
  }

  /** Whether anything that was recorded still lies ahead. */
  get behind(): boolean {
    return this.startsAhead || this.#nextCompletion() !== undefined;
  }

  /** Whether this very call, made in step, is what the journal has next. */
  isNext(call: Start): boolean {
    this.#skipWords(Infinity);
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
    const [keyed] = this.#keyed.values();
    if (keyed !== undefined && (at === undefined || keyed < at)) {
      const start = this.#entries[keyed] as Start;
      return { kind: "stalled", why: `entry ${keyed} is ${told(start)}, which the code has not called yet` };
    }
    if (at === undefined) return { kind: "nothing" };
    return { kind: "deliver", at, completion: this.#entries[at] as Completion };
  }

  /** The completion at this place is being handed over. */
  deliver(at: number): void {
    this.#cursor = at + 1;
    this.#delivered++;
  }

  /** A recorded start that the function has ended without. One with a key may still be called, by a branch that goes on. */
  unmet(): { readonly keyed: boolean; readonly why: string } | undefined {
    this.#skipWords(Infinity);
    const [ahead] = this.#ahead;
    const at = ahead ?? this.#keyed.values().next().value;
    if (at === undefined) return undefined;
    const why = `entry ${at} is ${told(this.#entries[at] as Start)}, and the code ended without calling it`;
    return { keyed: ahead === undefined, why };
  }

  #meetWords(): Met {
    const [at] = this.#ahead;
    if (at !== undefined && this.#entries[at]!.kind === "said") {
      this.#ahead.shift();
      return { met: "recorded", at };
    }
    return { met: this.startsAhead ? "past" : "new" };
  }

  /** Passes over words that come next and were said after so many results at most: the code no longer says them. */
  #skipWords(after: number): void {
    for (;;) {
      const [at] = this.#ahead;
      const start = at === undefined ? undefined : (this.#entries[at] as Start);
      if (start?.kind !== "said" || (start.after ?? 0) > after) return;
      this.#ahead.shift();
    }
  }

  #nextCompletion(): number | undefined {
    while (this.#cursor < this.#entries.length) {
      if (isCompletion(this.#entries[this.#cursor]!)) return this.#cursor;
      this.#cursor++;
    }
    return undefined;
  }
}

/** When a call was made: in the step after so many completions, or between that one and the next. */
function stepOf({ after = 0, outOfStep }: Start): number {
  return outOfStep ? after + 0.5 : after;
}

function keyOf(start: Start): string {
  return `${callName(start)} ${start.key ?? ""}`;
}

function told(start: Start): string {
  return start.key === undefined ? callName(start) : `${callName(start)} with the key ${JSON.stringify(start.key)}`;
}
