/**
 * Random agents: programs of everything that an author may do with a turn, and how they are run. Every call is named by its path, the
 * place in the program that makes it; each is made once at most in a run.
 */
import * as fc from "fast-check";

export type Program =
  | { readonly do: "effect"; readonly effect: EffectPlan }
  | { readonly do: "wait"; readonly wait: WaitPlan }
  /** A bare wait for something that is not turn's; the call after it carries a key. */
  | { readonly do: "detour"; readonly ticks: number; readonly then: EffectPlan | WaitPlan }
  | { readonly do: "mark"; readonly mark: "say" | "usage" | "patch" | "plan" }
  /** Time and chance. */
  | { readonly do: "draw" }
  | { readonly do: "throw" }
  | { readonly do: "seq" | "all" | "race" | "any" | "settled"; readonly parts: readonly Program[] }
  | { readonly do: "map"; readonly count: number; readonly body: Program }
  | { readonly do: "try"; readonly body: Program; readonly otherwise: Program }
  /** Goes one way or the other, by what it was handed. */
  | { readonly do: "if"; readonly test: Program; readonly yes: Program; readonly no: Program }
  /** Asks, does something else, and takes the question back. */
  | { readonly do: "withdraw"; readonly wait: WaitPlan; readonly meanwhile: Program }
  /** Begins an effect, and never looks at it. */
  | { readonly do: "leave"; readonly effect: EffectPlan };

export interface EffectPlan {
  readonly kind: "effect";
  /** Few, so that calls are mistaken for each other wherever they can be. */
  readonly name: "a" | "b";
  readonly idempotent: boolean;
  readonly keyed: boolean;
  /** How many attempts are lost before one comes back. */
  readonly unknown: number;
  readonly fails: boolean;
  /** Comes back before anything else can happen. */
  readonly prompt: boolean;
  readonly timed: boolean;
  /** Microtasks that the branch takes before it goes on. */
  readonly lag: number;
}

export interface WaitPlan {
  readonly kind: "approve" | "ask" | "connect" | "sleep";
  readonly keyed: boolean;
  readonly expires: boolean;
  readonly lag: number;
}

const lag = fc.nat(4);

const effectPlan: fc.Arbitrary<EffectPlan> = fc.record({
  kind: fc.constant("effect" as const),
  name: fc.constantFrom("a" as const, "b" as const),
  idempotent: fc.boolean(),
  keyed: fc.nat(5).map((n) => n === 5),
  unknown: fc.nat(9).map((n) => (n === 9 ? 2 : n === 8 ? 1 : 0)),
  fails: fc.nat(6).map((n) => n === 6),
  prompt: fc.boolean(),
  timed: fc.nat(6).map((n) => n === 6),
  lag,
});

const waitPlan: fc.Arbitrary<WaitPlan> = fc.record({
  kind: fc.constantFrom("approve" as const, "ask" as const, "connect" as const, "sleep" as const),
  keyed: fc.nat(5).map((n) => n === 5),
  expires: fc.nat(4).map((n) => n === 4),
  lag,
});

const { program } = fc.letrec<{ program: Program; parts: readonly Program[] }>((tie) => ({
  program: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 6, arbitrary: effectPlan.map((effect) => ({ do: "effect" as const, effect })) },
    { weight: 3, arbitrary: waitPlan.map((wait) => ({ do: "wait" as const, wait })) },
    { weight: 1, arbitrary: fc.constant({ do: "draw" as const }) },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom("say" as const, "usage" as const, "patch" as const, "plan" as const)
        .map((mark) => ({ do: "mark" as const, mark })),
    },
    { weight: 1, arbitrary: fc.constant({ do: "throw" as const }) },
    { weight: 1, arbitrary: effectPlan.map((effect) => ({ do: "leave" as const, effect })) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant("detour" as const),
        ticks: fc.integer({ min: 1, max: 4 }),
        then: fc.oneof(effectPlan, waitPlan),
      }),
    },
    { weight: 5, arbitrary: fc.record({ do: fc.constant("seq" as const), parts: tie("parts") }) },
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constantFrom("all" as const, "race" as const, "any" as const, "settled" as const),
        parts: tie("parts"),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant("map" as const),
        count: fc.integer({ min: 2, max: 3 }),
        body: tie("program"),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant("try" as const), body: tie("program"), otherwise: tie("program") }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant("if" as const),
        test: tie("program"),
        yes: tie("program"),
        no: tie("program"),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant("withdraw" as const), wait: waitPlan, meanwhile: tie("program") }),
    },
  ),
  parts: fc.array(tie("program"), { minLength: 1, maxLength: 4 }),
}));

/** Whole agents: a few things one after another. Not so large that one takes long. */
export const programs: fc.Arbitrary<Program> = fc
  .array(program, { minLength: 2, maxLength: 5 })
  .map((parts): Program => ({ do: "seq", parts }))
  .filter((whole) => sizeOf(whole) <= 24);

/** How many calls a program makes at most. */
function sizeOf(part: Program): number {
  switch (part.do) {
    case "effect":
    case "wait":
    case "detour":
    case "mark":
    case "draw":
    case "throw":
    case "leave":
      return 1;
    case "seq":
    case "all":
    case "race":
    case "any":
    case "settled":
      return part.parts.reduce((sum, one) => sum + sizeOf(one), 0);
    case "map":
      return part.count * sizeOf(part.body);
    case "try":
      return sizeOf(part.body) + sizeOf(part.otherwise);
    case "if":
      return sizeOf(part.test) + sizeOf(part.yes) + sizeOf(part.no);
    case "withdraw":
      return 1 + sizeOf(part.meanwhile);
  }
}

/** Whether the order of what it does follows from what it is handed alone. */
export function isInStep(part: Program): boolean {
  return !JSON.stringify(part).includes('"detour"');
}

/** What a program is run on: a turn of the engine, or the reference. */
export interface Ground {
  effect(path: string, plan: EffectPlan, options: { readonly keyed: boolean }): Promise<unknown>;
  wait(
    path: string,
    plan: WaitPlan,
    options: { readonly keyed: boolean; readonly signal?: AbortSignal },
  ): Promise<unknown>;
  mark(path: string, mark: "say" | "usage" | "patch" | "plan"): unknown;
  draw(path: string): unknown;
  detour(path: string, ticks: number): Promise<void>;
  /** A branch was handed something. */
  saw(path: string, what: unknown): void;
}

/** Runs a program. What it comes to is JSON. */
export async function perform(part: Program, path: string, ground: Ground): Promise<unknown> {
  const sub = (one: Program, name: number | string) => perform(one, `${path}.${name}`, ground);
  switch (part.do) {
    case "effect":
      return see(path, ground, part.effect.lag, ground.effect(path, part.effect, part.effect));
    case "wait":
      return see(path, ground, part.wait.lag, ground.wait(path, part.wait, part.wait));
    case "detour": {
      await ground.detour(path, part.ticks);
      const { then } = part;
      const call =
        then.kind === "effect" ? ground.effect(path, then, { keyed: true }) : ground.wait(path, then, { keyed: true });
      return see(path, ground, then.lag, call);
    }
    case "leave":
      void ground.effect(path, part.effect, part.effect);
      return "left";
    case "mark": {
      const value = ground.mark(path, part.mark);
      ground.saw(path, value);
      return value;
    }
    case "draw": {
      const value = ground.draw(path);
      ground.saw(path, value);
      return value;
    }
    case "throw":
      throw new Error(`thrown at ${path}`);
    case "seq": {
      const values: unknown[] = [];
      for (const [index, one] of part.parts.entries()) values.push(await sub(one, index));
      return values;
    }
    case "all":
      return Promise.all(part.parts.map(sub));
    case "race":
      return Promise.race(part.parts.map(sub));
    case "any":
      return Promise.any(part.parts.map(sub));
    case "settled":
      return (await Promise.allSettled(part.parts.map(sub))).map((one) =>
        one.status === "fulfilled" ? one.value : told(one.reason),
      );
    case "map":
      return Promise.all(Array.from({ length: part.count }, async (_, index) => sub(part.body, index)));
    case "try":
      try {
        return await sub(part.body, "try");
      } catch (error) {
        ground.saw(path, told(error));
        return [told(error), await sub(part.otherwise, "catch")];
      }
    case "if":
      return isOdd(await sub(part.test, "if")) ? sub(part.yes, "yes") : sub(part.no, "no");
    case "withdraw": {
      const controller = new AbortController();
      const asked = ground.wait(path, part.wait, { keyed: part.wait.keyed, signal: controller.signal });
      asked.catch(() => undefined);
      try {
        await sub(part.meanwhile, "meanwhile");
      } finally {
        controller.abort();
      }
      return see(path, ground, part.wait.lag, asked).catch(told);
    }
  }
}

async function see(path: string, ground: Ground, ticks: number, call: Promise<unknown>): Promise<unknown> {
  try {
    const value = await call;
    ground.saw(path, value);
    return value;
  } catch (error) {
    ground.saw(path, told(error));
    throw error;
  } finally {
    for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
  }
}

/** What of an error is the same wherever the program runs. */
export function told(error: unknown): string {
  const { name, message } = error as Error;
  return name === "AbortError" || name === "WaitExpired" || name === "AggregateError" ? name : message;
}

function isOdd(value: unknown): boolean {
  const text = JSON.stringify(value) ?? "";
  let sum = 0;
  for (let at = 0; at < text.length; at++) sum += text.charCodeAt(at);
  return sum % 2 === 1;
}
