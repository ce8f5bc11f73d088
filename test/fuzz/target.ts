/** What is fuzzed: inputs, and what must hold whatever the input is. */
import type * as fc from "fast-check";

/** Inputs are JSON, so that those that found something are kept as files. */
export type Input = unknown;

export interface Target extends AsyncDisposable {
  readonly inputs: fc.Arbitrary<Input>;
  /** @throws What does not hold. */
  check(input: Input): Promise<void>;
}

/** How a target is started; `corpus` is what is mutated beside what is made up. */
export type StartTarget = (corpus: readonly Input[]) => Promise<Target>;
