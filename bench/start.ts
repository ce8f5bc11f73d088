/**
 * From the start of the process to a served agent card: with an empty home, with 100,000 stored tasks, and, to compare, the official
 * SDK's server, which has nothing to open.
 */
import type { ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { timeToCard } from "./card.ts";
import { brief, median, result, spread, table } from "./figures.ts";
import { load } from "./load.ts";
import type { BenchOptions } from "./main.ts";
import { addKey, launchNylorun } from "./nylorun.ts";
import { Server, spawnNode } from "./server.ts";

const agent = fileURLToPath(new URL("agents/answer.ts", import.meta.url));
const sdk = fileURLToPath(new URL("peers/a2a-sdk.ts", import.meta.url));

export async function run({ quick, rounds = quick ? 3 : 9 }: BenchOptions): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "nylorun-bench-"));
  try {
    const stored = join(folder, "stored");
    const tasks = quick ? 5_000 : 100_000;
    await fill(stored, tasks);

    const starts: Record<"empty" | "stored" | "memory", number[]> = { empty: [], stored: [], memory: [] };
    for (let round = 0; round < rounds; round += 1) {
      starts.memory.push(await timeToCard("Answer", (port) => spawnNode([sdk, String(port)])));
      starts.empty.push(await timeToCard("Answer", (port) => nylorun(join(folder, `empty-${round}`), port)));
      starts.stored.push(await timeToCard("Answer", (port) => nylorun(stored, port)));
    }

    const row = (name: string, times: readonly number[]) => [
      name,
      brief(median(times)),
      `${brief(Math.min(...times))}-${brief(Math.max(...times))}`,
    ];
    console.log(
      table(
        ["", "ms to the card", "of rounds"],
        [
          row("nylorun, empty home", starts.empty),
          row(`nylorun, ${tasks.toLocaleString("en")} tasks`, starts.stored),
          row("memory", starts.memory),
        ],
      ),
    );
    console.log();
    console.log(
      result("start", {
        emptyMs: median(starts.empty),
        with100kMs: median(starts.stored),
        memoryMs: median(starts.memory),
        tasks,
        noise: Math.max(...Object.values(starts).map(spread)),
      }),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function nylorun(home: string, port: number): ChildProcess {
  const { args, env } = launchNylorun({ home, agents: [agent], port });
  return spawnNode(args, env);
}

/** Stores so many tasks, by sending so many messages. */
async function fill(home: string, tasks: number): Promise<void> {
  const key = await addKey(home);
  await using server = await Server.start(launchNylorun({ home, agents: [agent] }));
  const target = {
    port: server.port,
    path: "/v1/a2a/agents/answer",
    headers: { Authorization: `Bearer ${key}` },
  };
  const { requests, perSecond } = await load(target, { connections: 128, requests: tasks, milliseconds: 120_000 });
  if (requests !== tasks) throw new Error(`Only ${requests} of ${tasks} tasks were stored within two minutes.`);
  console.log(`stored ${tasks.toLocaleString("en")} tasks at ${brief(perSecond)}/s\n`);
}
