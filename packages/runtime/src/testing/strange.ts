/**
 * What an agent's code must not build on, made to differ: on each call of `run`, the system's clock is at another hour, day and
 * season, and chance leans the other way. Code that asks `turn` for both never notices; code that does not asks for something else on
 * replay, and is found out. Only code that runs within the agent's function sees any of it.
 */
import { ownRun } from "./foreign.ts";

const hourMs = 3_600_000;

const RealDate = Date;
const realRandom = Math.random;
let users = 0;

/** Until it is disposed of. */
export function beStrange(): Disposable {
  if (users++ === 0) {
    globalThis.Date = StrangeDate;
    Math.random = random;
  }
  return {
    [Symbol.dispose]() {
      if (--users > 0) return;
      globalThis.Date = RealDate;
      Math.random = realRandom;
    },
  };
}

/** Every other call is a day and a half and half a year later: another half of the day, another season, an odd number. */
function shift(): number {
  const call = ownRun()?.call ?? 0;
  return call * (36 * hourMs + 61_001) + (call % 2) * 183 * 24 * hourMs;
}

const StrangeDate: DateConstructor = new Proxy(RealDate, {
  construct: (target, args: [], newTarget: DateConstructor) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget) as object,
  apply: () => new RealDate(now()).toString(),
  get: (target, name) => (name === "now" ? now : (Reflect.get(target, name, target) as unknown)),
});

function now(): number {
  return RealDate.now() + shift();
}

/** Near 0 on one call, near 1 on the next; never for sure, so that who draws until a number fits comes to an end. */
function random(): number {
  const drawn = realRandom();
  const own = ownRun();
  if (own === undefined) return drawn;
  return own.call % 2 === 0 ? drawn ** 8 : 1 - 2 ** -53 - drawn ** 8 * (1 - 2 ** -53);
}
