/** Crashes an agent everywhere, and looks whether that made a difference. */
import { isDeepStrictEqual } from "node:util";

import type { Agent } from "@nylorun/agents";

import { TestingError } from "./errors.ts";
import type { Crash } from "./life.ts";
import { onlyTurn, play } from "./play.ts";
import type { Played } from "./play.ts";
import type { Script, TestRun } from "./script.ts";
import { beStrange } from "./strange.ts";
import { checked, testRun } from "./test-agent.ts";

export interface Durability {
  /** The run that nothing interrupted. */
  readonly run: TestRun;
  /** How often the process was crashed. */
  readonly crashes: number;
  /**
   * The effects of which a crash at the wrong moment leaves unknown whether they happened. That is as it must be of effects that are
   * not idempotent; each says what that means, and what would spare it.
   */
  readonly uncertain: readonly UncertainEffect[];
}

export interface UncertainEffect {
  readonly name: string;
  /** Where the process died: `after write 2 (effect("refund") begins)`. */
  readonly crashes: readonly string[];
  readonly message: string;
}

/**
 * Runs a script once without interruption, and then again and again with a process that dies before and after each write to the
 * journal, and another one that takes over. The caller must see the same in the end, the world must be the same
 * (`script.world`), and no effect may have run twice that is not idempotent.
 *
 * The system's clock and `Math.random` are different on each call of `run`: code that builds on them is found out.
 *
 * When a crash leaves unknown whether an effect happened, the turn would wait for an operator. Here the operator knows the truth: an
 * effect that came to its end is completed with what it really returned, one that did not begin, or threw, is tried again.
 *
 * ```ts
 * const { uncertain } = await assertDurable(refunds, {
 *   message: "Refund order 1001",
 *   answers: [approve()],
 *   prepare: () => shop.reset(),
 *   world: () => shop.refunds,
 * });
 * assert.deepEqual(uncertain.map(({ name }) => name), ["refund"]);
 * ```
 *
 * A script of n writes is run 2n + 1 times. What it does must not depend on which of two effects is faster.
 *
 * @throws TestingError `journal.diverged`, `turn.unjournaled`, `outcome.differs`, `effect.repeated`: what is wrong, and where the
 *   process died when it showed.
 */
export async function assertDurable(agent: Agent, script: Script = {}): Promise<Durability> {
  using _strange = beStrange();
  const whole = await play(checked(agent), script);
  const expected = outcomeOf(whole, script);
  const uncertain = new Map<string, Set<string>>();
  let crashes = 0;
  for (let write = 0; ; write++) {
    for (const when of ["before", "after"] as const) {
      const crash: Crash = { write, when };
      const { played, where } = await crashed(agent, { script, crash });
      if (!played.crashed) return { run: testRun(whole), crashes, uncertain: [...uncertain].map(told) };
      crashes++;
      assertOnce(played, where);
      assertSame({ expected, actual: outcomeOf(played, script), where });
      for (const name of played.lost) {
        uncertain.set(name, (uncertain.get(name) ?? new Set()).add(where));
      }
    }
  }
}

async function crashed(
  agent: Agent,
  { script, crash }: { readonly script: Script; readonly crash: Crash },
): Promise<{ readonly played: Played; readonly where: string }> {
  const writes: string[] = [];
  const where = () => `${crash.when} write ${crash.write} (${writes[crash.write] ?? "there is none"})`;
  try {
    return { played: await play(agent, script, { crash, writes }), where: where() };
  } catch (error) {
    if (!(error instanceof TestingError)) throw error;
    throw new TestingError(error.code, `When the process dies ${where()}: ${error.message}`, { cause: error });
  }
}

type Outcome = Readonly<Record<string, unknown>>;

const onlyIdempotent =
  "What an idempotent effect does must be the same when it is done twice, and what run does outside of effects is done on each run.";

/** What a crash may not change. */
function outcomeOf(played: Played, script: Script): Outcome {
  const { turn, interactions, observer } = played;
  const run = testRun(played);
  const outcome = {
    effects: observer.seen.map(({ name }) => name).toSorted(),
    state: run.state,
    output: run.output,
    reply: run.reply,
    status: run.status,
    plan: run.plan,
    files: run.files.map(({ path, version, sha256, mediaType }) => ({ path, version, sha256, mediaType })),
    interactions: interactions.map(({ kind, prompt, detail }) => ({ kind, prompt, detail })),
    // What effects say, they say again when they run again.
    history: run.history.filter(({ text }) => !observer.saidInEffects.has(text)),
    totals: turn.view.totals,
    calls: played.calls,
    world: script.world?.(),
  };
  // Keys of effects are made by chance.
  let text = JSON.stringify(outcome);
  for (const [index, { name, key }] of observer.seen.entries()) text = text.replaceAll(key, `key ${index} of ${name}`);
  return JSON.parse(text) as Outcome;
}

function assertSame({
  expected,
  actual,
  where,
}: {
  readonly expected: Outcome;
  readonly actual: Outcome;
  readonly where: string;
}): void {
  const names = Object.keys({ ...expected, ...actual }).filter(
    (name) => !isDeepStrictEqual(expected[name], actual[name]),
  );
  if (names.length === 0) return;
  const text = (value: unknown) => JSON.stringify(value) ?? "nothing";
  const differences = names.map((name) => `${name}: ${text(actual[name])} instead of ${text(expected[name])}`);
  const hint = names.join() === "world" ? onlyIdempotent : onlyTurn;
  throw new TestingError(
    "outcome.differs",
    `When the process dies ${where}, the end is another one. ${differences.join("; ")}. ${hint}`,
    { expected: pick(expected, names), actual: pick(actual, names) },
  );
}

/** An effect that is not idempotent runs once, unless its operator has let it run again. */
function assertOnce({ observer }: Played, where: string): void {
  for (const { name, idempotent, attempts, allowed } of observer.seen) {
    if (idempotent || attempts.length <= allowed) continue;
    const message = `When the process dies ${where}, effect(${JSON.stringify(name)}) runs ${attempts.length} times.`;
    throw new TestingError("effect.repeated", message, { expected: allowed, actual: attempts.length });
  }
}

function told([name, where]: readonly [string, ReadonlySet<string>]): UncertainEffect {
  const crashes = [...where];
  const message =
    `When the process dies ${crashes.join(", or ")}, nobody can say whether effect(${JSON.stringify(name)}) happened: ` +
    "the turn waits until an operator does (nylorun effects resolve). If doing it twice is the same as doing it once, because it only " +
    "reads, or because the provider honours effect.key, mark it { idempotent: true }: then it is simply done again.";
  return { name, crashes, message };
}

function pick(outcome: Outcome, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, outcome[name]]));
}
