/** Anything that can be asked of a store. Who and what are numbers, which pick from what there is. */
import fc from "fast-check";

import { leaseMs } from "../place.ts";

export type Command =
  | {
      readonly do: "accept";
      readonly node: number;
      readonly context: number;
      readonly again: boolean;
      readonly claim: boolean;
    }
  | { readonly do: "claim" | "suspect"; readonly node: number }
  | { readonly do: "wait"; readonly ms: number }
  | {
      readonly do: "run";
      readonly claim: number;
      readonly late: boolean;
      readonly then: "go on" | "park" | "nap" | "end" | "hand over";
    }
  | { readonly do: "touch"; readonly turn: number; readonly late: boolean; readonly then: "go on" | "wake" | "end" }
  | { readonly do: "drain"; readonly turn: number }
  | { readonly do: "renew"; readonly claim: number }
  | { readonly do: "reopen" };

const nat = fc.nat(20);
export const anyCommand: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("accept" as const),
      node: nat,
      context: fc.nat(2),
      again: fc.boolean(),
      claim: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom("claim" as const, "claim", "suspect"), node: nat }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(1, 500, 1000, leaseMs) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("run" as const),
      claim: nat,
      late: fc.boolean(),
      then: fc.constantFrom("go on" as const, "park", "nap", "end", "hand over"),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("touch" as const),
      turn: nat,
      late: fc.boolean(),
      then: fc.constantFrom("go on" as const, "wake", "end"),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("drain" as const), turn: nat }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("renew" as const), claim: nat }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("reopen" as const) }) },
);
