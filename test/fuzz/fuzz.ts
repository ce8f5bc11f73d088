/** Runs a target: first what once found something, then what chance makes of it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import * as fc from "fast-check";

import type { Input, StartTarget } from "./target.ts";
import { startA2a, startA2aPostgres } from "./targets/a2a.ts";
import { startClient } from "./targets/client.ts";
import { startConnection } from "./targets/connection.ts";
import { startControl } from "./targets/control.ts";
import { startFileLink } from "./targets/file-link.ts";
import { startGateway } from "./targets/gateway.ts";
import { startJwt } from "./targets/jwt.ts";
import { startMcp } from "./targets/mcp.ts";
import { startOperator } from "./targets/operator.ts";
import { startProgress } from "./targets/progress.ts";
import { startRestore } from "./targets/restore.ts";
import { startSettings } from "./targets/settings.ts";
import { startSink } from "./targets/sink.ts";
import { startWebhookAddress } from "./targets/webhook-address.ts";
import { startWebhook } from "./targets/webhook.ts";

export const TARGETS: ReadonlyMap<string, StartTarget> = new Map([
  ["a2a", startA2a],
  ["a2a-postgres", startA2aPostgres],
  ["connection", startConnection],
  ["progress", startProgress],
  ["operator", startOperator],
  ["webhook-address", startWebhookAddress],
  ["file-link", startFileLink],
  ["gateway", startGateway],
  ["mcp", startMcp],
  ["webhook", startWebhook],
  ["sink", startSink],
  ["restore", startRestore],
  ["control", startControl],
  ["jwt", startJwt],
  ["settings", startSettings],
  ["client", startClient],
]);

interface Entry {
  /** What it once found, or why it is here. */
  readonly why: string;
  readonly input: Input;
}

export function corpusOf(name: string): readonly Entry[] {
  return JSON.parse(readFileSync(join(import.meta.dirname, "corpus", `${name}.json`), "utf8")) as Entry[];
}

export interface Run {
  readonly seed: number;
  readonly milliseconds: number;
}

/** How many inputs were tried. @throws What does not hold, with the input that shows it, made as small as could be. */
export async function fuzz(name: string, { seed, milliseconds }: Run): Promise<number> {
  const corpus = corpusOf(name);
  await using target = await TARGETS.get(name)!(corpus.map(({ input }) => input));
  for (const { why, input } of corpus) {
    await target.check(input).catch((error: unknown) => {
      throw new Error(`${name}: ${JSON.stringify(input)} (${why})`, { cause: error });
    });
  }
  if (milliseconds === 0) return corpus.length;
  let tried = 0;
  const property = fc.asyncProperty(target.inputs, async (input: Input) => {
    tried++;
    await target.check(input);
  });
  const details = await fc.check(property, {
    seed,
    numRuns: 100_000_000,
    plugins: [fc.interruptAfterTimeLimit(milliseconds)],
  });
  if (details.failed) {
    const input = JSON.stringify(details.counterexample);
    throw new Error(`${name} (FUZZ_SEED=${seed}): ${input}`, { cause: details.errorInstance });
  }
  return corpus.length + tried;
}
