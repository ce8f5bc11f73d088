/**
 * GetTask: Nylorun, which reads from disk, against the official SDK's server, which keeps all in memory, and against a server that answers
 * fixed bytes: faster than that is nothing that speaks HTTP with Node. And how long it takes while
 * messages come in as fast as they are taken, on this disk and on one that takes 20 ms to confirm a commit.
 *
 * Both servers run for the whole time, each in its own process; rounds alternate between them. Ratios are taken within a round.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { timeCommit } from "./disk.ts";
import { brief, median, percentile, result, spread, table } from "./figures.ts";
import { load } from "./load.ts";
import type { Round, Target } from "./load.ts";
import type { BenchOptions } from "./main.ts";
import { addKey, launchNylorun } from "./nylorun.ts";
import { gets, probe } from "./prober.ts";
import { Server } from "./server.ts";
import { slowDisk } from "./slow-disk.ts";

const peers = ["nylorun", "memory", "trivial"] as const;
type Peer = (typeof peers)[number];
type Rounds = Record<Peer, Taken[]>;

interface Taken extends Round {
  /** Processor time of the server, in microseconds a request. */
  readonly cpu: number;
}

const SLOW_MS = 20;

export async function run({ quick, rounds = quick ? 3 : 5 }: BenchOptions): Promise<void> {
  const milliseconds = quick ? 500 : 1500;
  const tasks = quick ? 500 : 5_000;
  const folder = await mkdtemp(join(tmpdir(), "nylorun-bench-"));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const start = async (...args: Parameters<typeof Server.start>) => stack.use(await Server.start(...args));
  const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));
  const commitMs = timeCommit(folder);
  console.log(`control: one durable commit takes ${brief(commitMs)} ms\n`);

  const serve = async (home: string, env: Readonly<Record<string, string>> = {}) => {
    const key = await addKey(join(folder, home));
    const launch = launchNylorun({ home: join(folder, home), agents: [file("agents/answer.ts")] });
    const server = await start({ ...launch, env: { ...launch.env, ...env } });
    const headers = { Authorization: `Bearer ${key}` };
    return { server, target: { port: server.port, path: "/v1/a2a/agents/answer", headers } };
  };
  const ours = await serve("home");
  const sdk = await start({ name: "memory", args: [file("peers/a2a-sdk.ts"), "0"], port: /^listening on (\d+)$/ });
  const least = await start({ name: "trivial", args: [file("peers/trivial.ts"), "0"], port: /^listening on (\d+)$/ });
  const targets: Record<Peer, Target> = {
    nylorun: ours.target,
    memory: { port: sdk.port, path: "/" },
    trivial: { port: least.port, path: "/" },
  };
  const servers = { nylorun: ours.server, memory: sdk, trivial: least };
  const ids: Record<Peer, string[]> = { nylorun: [], memory: [], trivial: [] };
  for (const peer of peers) {
    ids[peer] = await make(targets[peer], tasks);
    await load(targets[peer], { connections: 16, milliseconds: milliseconds / 2, exchange: gets(ids[peer]) });
  }

  const measured = new Map<number, Rounds>();
  for (const connections of [1, 16, 64]) {
    const taken: Rounds = { nylorun: [], memory: [], trivial: [] };
    measured.set(connections, taken);
    for (let round = 0; round < rounds; round += 1) {
      for (const peer of round % 2 === 0 ? peers : peers.toReversed()) {
        const before = servers[peer].cpuSeconds();
        const measure = await load(targets[peer], { connections, milliseconds, exchange: gets(ids[peer]) });
        taken[peer].push({ ...measure, cpu: ((servers[peer].cpuSeconds() - before) * 1e6) / measure.requests });
      }
    }
  }

  const slow = slowDisk(folder, SLOW_MS);
  const busy = await beside(ours.target, ids.nylorun, { milliseconds, rounds });
  const onSlow = slow && (await serve("slow", slow));
  const stalled = onSlow && (await beside(onSlow.target, await make(onSlow.target, 200), { milliseconds, rounds }));
  report(measured, { busy, stalled, commitMs });
}

/** Sends so many messages, and returns the ids of their tasks. */
async function make(target: Target, tasks: number): Promise<string[]> {
  const ids: string[] = [];
  const body = () =>
    JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "SendMessage",
      params: { message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "A question." }] } },
    });
  const check = (answer: string) =>
    void ids.push(
      (JSON.parse(answer) as { readonly result: { readonly task: { readonly id: string } } }).result.task.id,
    );
  await load(target, { connections: 16, requests: tasks, milliseconds: 600_000, exchange: { body, check } });
  return ids;
}

interface Beside {
  /** p50 and p99 of GetTask, in milliseconds: a value for each round. */
  readonly p50: readonly number[];
  readonly p99: readonly number[];
  readonly sendsPerSecond: readonly number[];
}

/** GetTask on one connection, while 64 others send without a pause. */
async function beside(
  target: Target,
  ids: readonly string[],
  { milliseconds, rounds }: { readonly milliseconds: number; readonly rounds: number },
): Promise<Beside> {
  const taken = { p50: [] as number[], p99: [] as number[], sendsPerSecond: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    const [sends, latencies] = await Promise.all([
      load(target, { connections: 64, milliseconds: milliseconds * 2 }),
      probe({ target, ids, milliseconds: milliseconds * 2 }),
    ]);
    taken.p50.push(percentile(latencies, 0.5));
    taken.p99.push(percentile(latencies, 0.99));
    taken.sendsPerSecond.push(sends.perSecond);
  }
  return taken;
}

function report(
  measured: ReadonlyMap<number, Rounds>,
  {
    busy,
    stalled,
    commitMs,
  }: { readonly busy: Beside; readonly stalled: Beside | undefined; readonly commitMs: number },
): void {
  const rows = [...measured].flatMap(([connections, rounds]) =>
    peers.map((peer) => {
      const rates = rounds[peer].map((round) => round.perSecond);
      return [
        `c = ${connections}, ${peer}`,
        brief(median(rates)),
        `${brief(Math.min(...rates))}-${brief(Math.max(...rates))}`,
        brief(latency(rounds[peer], 0.5)),
        brief(latency(rounds[peer], 0.99)),
        brief(median(rounds[peer].map(({ cpu }) => cpu))),
        peer === "nylorun" ? "" : `${brief(ratio(rounds, peer))} x`,
      ];
    }),
  );
  console.log(table(["", "GetTask/s", "of rounds", "p50 ms", "p99 ms", "CPU µs each", "nylorun is"], rows));
  const besideRows = [
    ["while sending", busy] as const,
    [`while sending, ${SLOW_MS} ms a commit`, stalled] as const,
  ].flatMap(([name, one]) =>
    one === undefined
      ? [[name, "cannot be measured here", "", ""]]
      : [[name, brief(median(one.sendsPerSecond)), brief(median(one.p50)), brief(median(one.p99))]],
  );
  console.log(`\n${table(["", "sends/s", "GetTask p50 ms", "p99 ms"], besideRows)}\n`);
  const many = measured.get(64)!;
  console.log(
    result("get", {
      vsMemory: ratio(many, "memory"),
      c1VsMemory: ratio(measured.get(1)!, "memory"),
      vsTrivial: ratio(many, "trivial"),
      perSecond: median(many.nylorun.map(({ perSecond }) => perSecond)),
      perSecondMemory: median(many.memory.map(({ perSecond }) => perSecond)),
      p99Ms: latency(many.nylorun, 0.99),
      p99MemoryMs: latency(many.memory, 0.99),
      cpuUs: median(many.nylorun.map(({ cpu }) => cpu)),
      cpuMemoryUs: median(many.memory.map(({ cpu }) => cpu)),
      cpuTrivialUs: median(many.trivial.map(({ cpu }) => cpu)),
      besideP99Ms: median(busy.p99),
      besideSendsPerSecond: median(busy.sendsPerSecond),
      ...(stalled && {
        besideSlowP99Ms: median(stalled.p99),
        besideSlowSendsPerSecond: median(stalled.sendsPerSecond),
      }),
      commitMs,
      noise: Math.max(...peers.map((peer) => spread(many[peer].map(({ perSecond }) => perSecond)))),
    }),
  );
}

function latency(rounds: readonly Round[], share: number): number {
  return median(rounds.map((round) => percentile(round.latencies, share)));
}

/** How many times the peer's requests per second ours are: the median of the rounds. */
function ratio(rounds: Rounds, peer: Peer): number {
  return median(rounds.nylorun.map((round, index) => round.perSecond / rounds[peer][index]!.perSecond));
}
