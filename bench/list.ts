/**
 * ListTasks with 1,000, 100,000 and 1,000,000 tasks of one subject with one agent: first pages, pages in the middle, and each filter.
 * And what the process takes in memory beside so many. The tasks are made by as many calls of SendMessage, a hundredth of them in one
 * context; what is measured are processes that were started afterwards.
 *
 * To compare, the official SDK's server, in memory: with as many of them as it is given time for.
 */
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { brief, percentile, result, table } from "./figures.ts";
import { load } from "./load.ts";
import type { Target } from "./load.ts";
import type { BenchOptions } from "./main.ts";
import { addKey, launchNylorun } from "./nylorun.ts";
import { Server } from "./server.ts";

const MIB = 1024 * 1024;
const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

interface Page {
  readonly totalSize: number;
  readonly nextPageToken: string;
  readonly tasks: readonly { readonly contextId: string; readonly status: { readonly timestamp: string } }[];
}

interface Measured {
  readonly name: string;
  readonly p50: number;
  readonly p99: number;
}

interface Size {
  readonly tasks: number;
  readonly measured: readonly Measured[];
  readonly idleMb: number;
  readonly listedMb: number;
  readonly databaseMb: number;
}

export async function run({ quick }: BenchOptions): Promise<void> {
  const sizes = quick ? [1_000, 10_000] : [1_000, 100_000, 1_000_000];
  const calls = quick ? 200 : 1_000;
  const folder = await mkdtemp(join(tmpdir(), "nylorun-bench-"));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true, force: true }));

  const home = join(folder, "home");
  const key = await addKey(home);
  const targetOf = ({ port }: Server): Target => ({
    port,
    path: "/v1/a2a/agents/answer",
    headers: { Authorization: `Bearer ${key}` },
  });
  const launch = () => Server.start(launchNylorun({ home, agents: [file("agents/answer.ts")] }));
  const found: Size[] = [];
  let made = 0;
  for (const tasks of sizes) {
    {
      await using server = await launch();
      const began = performance.now();
      await make(targetOf(server), tasks - made);
      const perSecond = ((tasks - made) * 1000) / (performance.now() - began);
      console.log(`${tasks.toLocaleString("en")} tasks are there; the last ones came at ${brief(perSecond)}/s`);
      made = tasks;
    }
    await using server = await launch();
    const idleMb = server.residentBytes() / MIB;
    const measured = await measure(targetOf(server), tasks, calls);
    const databaseMb = (await stat(join(home, "nylorun.db"))).size / MIB;
    found.push({ tasks, measured, idleMb, listedMb: server.residentBytes() / MIB, databaseMb });
  }

  // What the peer takes for a list grows with the list: so many are enough to see it.
  const peerTasks = quick ? 1_000 : 10_000;
  await using sdk = await Server.start({
    name: "memory",
    args: [file("peers/a2a-sdk.ts"), "0"],
    port: /^listening on (\d+)$/,
  });
  const peer: Target = { port: sdk.port, path: "/" };
  await make(peer, peerTasks);
  const [first] = await measure(peer, peerTasks, Math.min(calls, 200), ["first page"]);
  report(found, { tasks: peerTasks, first: first! });
}

/** Sends so many messages: all but one of a hundred in contexts of their own, those in one. */
async function make(target: Target, tasks: number): Promise<void> {
  let sent = 0;
  const body = () =>
    JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "SendMessage",
      params: {
        message: {
          messageId: crypto.randomUUID(),
          role: "ROLE_USER",
          parts: [{ text: "A question." }],
          ...(++sent % 100 === 0 && { contextId: "one" }),
        },
      },
    });
  const check = (answer: string) => {
    if (!answer.includes('"result"')) throw new Error(`Expected a task, got:\n${answer}`);
  };
  await load(target, { connections: 64, requests: tasks, milliseconds: 3_600_000, exchange: { body, check } });
}

/** Each way to ask, so many times, on one connection. */
async function measure(
  target: Target,
  tasks: number,
  calls: number,
  only?: readonly string[],
): Promise<readonly Measured[]> {
  const all = await call(target, {});
  if (all.totalSize !== tasks) throw new Error(`Expected ${tasks} tasks, there are ${all.totalSize}.`);
  const inContext = await call(target, { contextId: "one" });
  // From somewhere in the middle of all there has been.
  const oldest = Date.parse(all.tasks.at(-1)!.status.timestamp);
  const middle = new Date(oldest - Math.min(tasks, 1000)).toISOString();
  const ways: Readonly<Record<string, object>> = {
    "first page": {},
    "a hundred, with artifacts": { pageSize: 100, includeArtifacts: true },
    "next page": { pageToken: all.nextPageToken },
    "one state": { status: "TASK_STATE_COMPLETED" },
    "none of that state": { status: "TASK_STATE_WORKING" },
    "one context": { contextId: "one" },
    "next page of the context": { contextId: "one", pageToken: inContext.nextPageToken },
    "since a moment": { statusTimestampAfter: middle },
    "since the beginning": { statusTimestampAfter: "2020-01-01T00:00:00Z" },
    "context, state and moment": { contextId: "one", status: "TASK_STATE_COMPLETED", statusTimestampAfter: middle },
  };
  const measured: Measured[] = [];
  for (const [name, params] of Object.entries(ways)) {
    if (only !== undefined && !only.includes(name)) continue;
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks", params });
    const check = (answer: string) => {
      if (!answer.includes('"totalSize"')) throw new Error(`${name}: expected a list, got:\n${answer.slice(0, 500)}`);
    };
    const options = { connections: 1, milliseconds: 120_000, exchange: { body: () => body, check } };
    await load(target, { ...options, requests: 20 });
    const { latencies } = await load(target, { ...options, requests: calls });
    measured.push({ name, p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) });
  }
  return measured;
}

async function call({ port, path, headers }: Target, params: object): Promise<Page> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "A2A-Version": "1.0", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks", params }),
  });
  const answer = (await response.json()) as { readonly result?: Page };
  if (answer.result === undefined) throw new Error(`Expected a list, got ${JSON.stringify(answer)}`);
  return answer.result;
}

function report(sizes: readonly Size[], peer: { readonly tasks: number; readonly first: Measured }): void {
  const head = ["p50 / p99 ms of", ...sizes.map(({ tasks }) => tasks.toLocaleString("en"))];
  const rows = sizes[0]!.measured.map(({ name }, way) => [
    name,
    ...sizes.map(({ measured }) => `${brief(measured[way]!.p50)} / ${brief(measured[way]!.p99)}`),
  ]);
  rows.push(["MiB resident, idle", ...sizes.map(({ idleMb }) => brief(idleMb))]);
  rows.push(["MiB resident, after the lists", ...sizes.map(({ listedMb }) => brief(listedMb))]);
  rows.push(["MiB on disk", ...sizes.map(({ databaseMb }) => brief(databaseMb))]);
  console.log(`\n${table(head, rows)}`);
  const count = peer.tasks.toLocaleString("en");
  console.log(
    `\nthe SDK's server, in memory, first page of ${count}: ${brief(peer.first.p50)} / ${brief(peer.first.p99)}\n`,
  );

  const [least, most] = [sizes[0]!, sizes.at(-1)!];
  const worst = (of: "p50" | "p99") => Math.max(...most.measured.map((one) => one[of]));
  const growth = most.measured.map(({ p50 }, way) => p50 / least.measured[way]!.p50);
  console.log(
    result("list", {
      tasks: most.tasks,
      p50Ms: most.measured[0]!.p50,
      p99Ms: most.measured[0]!.p99,
      worstP50Ms: worst("p50"),
      worstP99Ms: worst("p99"),
      // How many times as long the slowest-growing and the fastest-growing way take with the most tasks as with the fewest.
      growthLeast: Math.min(...growth),
      growthMost: Math.max(...growth),
      idleMb: most.idleMb,
      listedMb: most.listedMb,
      databaseMb: most.databaseMb,
      peerTasks: peer.tasks,
      peerP50Ms: peer.first.p50,
      peerP99Ms: peer.first.p99,
    }),
  );
}
