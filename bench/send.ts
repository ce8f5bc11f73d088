/**
 * Blocking SendMessage to an agent that answers one text at once: Nylorun, which is durable, against the official SDK's server,
 * which is not (in memory), and which is (its SQL store on SQLite, as durable as ours).
 *
 * All servers run for the whole time, each in its own process; rounds alternate between them, so that a slow moment of the
 * machine meets them all. Ratios are taken within a round.
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
import { Server } from "./server.ts";

const peers = ["nylorun", "memory", "sqlite"] as const;
type Peer = (typeof peers)[number];

interface Taken extends Round {
  /** Processor time of the server, in microseconds a request. */
  readonly cpu: number;
}

type Rounds = Record<Peer, Taken[]>;

export async function run({ quick, rounds = quick ? 3 : 5 }: BenchOptions): Promise<void> {
  const milliseconds = quick ? 500 : 1500;
  const folder = await mkdtemp(join(tmpdir(), "nylorun-bench-"));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true, force: true }));

  const start = async (...args: Parameters<typeof Server.start>) => stack.use(await Server.start(...args));
  const sdk = fileURLToPath(new URL("peers/a2a-sdk.ts", import.meta.url));
  const trivial = fileURLToPath(new URL("peers/trivial.ts", import.meta.url));
  const port = /^listening on (\d+)$/;

  const control = await start({ name: "trivial", args: [trivial], port });
  await load({ port: control.port, path: "/" }, { connections: 64, milliseconds: milliseconds / 2 });
  const limit = await load({ port: control.port, path: "/" }, { connections: 64, milliseconds });
  const commitMs = timeCommit(folder);
  console.log(
    `controls: a server that does nothing answers ${brief(limit.perSecond)}/s at c = 64, and the load takes ` +
      `${brief(limit.ownShare * 100)} % of a core for that; one durable commit takes ${brief(commitMs)} ms\n`,
  );

  const home = join(folder, "home");
  const agent = fileURLToPath(new URL("agents/answer.ts", import.meta.url));
  const key = await addKey(home);
  const nylorun = await start(launchNylorun({ home, agents: [agent] }));
  const memory = await start({ name: "memory", args: [sdk, "0"], port });
  const sqlite = await start({ name: "sqlite", args: [sdk, "0", join(folder, "peer.db")], port });
  const servers = { nylorun, memory, sqlite };
  const targets: Record<Peer, Target> = {
    nylorun: { port: nylorun.port, path: "/v1/a2a/agents/answer", headers: { Authorization: `Bearer ${key}` } },
    memory: { port: memory.port, path: "/" },
    sqlite: { port: sqlite.port, path: "/" },
  };
  for (const peer of peers) await load(targets[peer], { connections: 64, milliseconds: quick ? 500 : 2000 });

  const measured = new Map<number, Rounds>();
  for (const connections of [1, 16, 64]) {
    const taken: Rounds = { nylorun: [], memory: [], sqlite: [] };
    measured.set(connections, taken);
    for (let round = 0; round < rounds; round += 1) {
      for (const peer of rotate(peers, round)) {
        const before = servers[peer].cpuSeconds();
        const measure = await load(targets[peer], { connections, milliseconds });
        taken[peer].push({ ...measure, cpu: ((servers[peer].cpuSeconds() - before) * 1e6) / measure.requests });
      }
    }
  }

  report(measured, { controlPerSecond: limit.perSecond, commitMs });
}

function rotate<T>(items: readonly T[], by: number): readonly T[] {
  const at = by % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
}

function report(measured: ReadonlyMap<number, Rounds>, controls: Readonly<Record<string, number>>): void {
  const rows = [...measured].flatMap(([connections, rounds]) =>
    peers.map((peer) => {
      const rates = rounds[peer].map((round) => round.perSecond);
      return [
        `c = ${connections}, ${peer}`,
        brief(median(rates)),
        `${brief(Math.min(...rates))}-${brief(Math.max(...rates))}`,
        brief(latency(rounds[peer], 0.5)),
        brief(latency(rounds[peer], 0.99)),
        brief(median(rounds[peer].map((round) => round.cpu))),
        `${brief(median(rounds[peer].map((round) => round.ownShare)) * 100)} %`,
        peer === "nylorun" ? "" : `${brief(ratio(rounds, peer))} x`,
      ];
    }),
  );
  console.log(
    table(["", "requests/s", "of rounds", "p50 ms", "p99 ms", "CPU µs each", "load's CPU", "nylorun is"], rows),
  );
  console.log();

  const one = measured.get(1)!;
  const many = measured.get(64)!;
  const perSecond = (peer: Peer) => median(many[peer].map((round) => round.perSecond));
  console.log(
    result("send", {
      vsMemory: ratio(many, "memory"),
      vsSqlite: ratio(many, "sqlite"),
      c1VsMemory: ratio(one, "memory"),
      c1VsSqlite: ratio(one, "sqlite"),
      perSecond: perSecond("nylorun"),
      perSecondMemory: perSecond("memory"),
      perSecondSqlite: perSecond("sqlite"),
      p99Ms: latency(many.nylorun, 0.99),
      p99MemoryMs: latency(many.memory, 0.99),
      p99SqliteMs: latency(many.sqlite, 0.99),
      c1P99Ms: latency(one.nylorun, 0.99),
      c1P99MemoryMs: latency(one.memory, 0.99),
      cpuUs: median(many.nylorun.map((round) => round.cpu)),
      cpuMemoryUs: median(many.memory.map((round) => round.cpu)),
      ...controls,
      // How far apart the rounds of one server lie. Of the SQL store's, which hangs on the disk, apart.
      noise: Math.max(...[many.nylorun, many.memory].map(spreadOf)),
      noiseSqlite: spreadOf(many.sqlite),
    }),
  );
}

/** The median of the rounds' percentiles. */
function latency(rounds: readonly Round[], share: number): number {
  return median(rounds.map((round) => percentile(round.latencies, share)));
}

function spreadOf(rounds: readonly Round[]): number {
  return spread(rounds.map((round) => round.perSecond));
}

/** How many times the peer's requests per second ours are: the median of the rounds. */
function ratio(rounds: Rounds, peer: Peer): number {
  return median(rounds.nylorun.map((round, index) => round.perSecond / rounds[peer][index]!.perSecond));
}
