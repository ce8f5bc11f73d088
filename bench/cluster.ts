/**
 * Many nodes on one PostgreSQL, which answers durably: SendMessage on one, two and three nodes, and the database's share of the
 * processors; from when a context is due to when another node has claimed it, among 100,000 contexts; and lists and sends among a
 * million stored tasks. Nodes, database and load share this machine's cores: what more nodes bring, more machines would show.
 */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { timeDispatch } from "../packages/runtime/test/store/postgres/dispatch.ts";
import { startPostgres } from "../test/postgres/server.ts";
import type { Postgres } from "../test/postgres/server.ts";
import { brief, percentile, result, table } from "./figures.ts";
import { load } from "./load.ts";
import type { Round } from "./load.ts";
import type { BenchOptions } from "./main.ts";
import { addKey, launchNylorun } from "./nylorun.ts";
import { Server } from "./server.ts";

const agent = fileURLToPath(new URL("agents/answer.ts", import.meta.url));
const path = "/v1/a2a/agents/answer";

export async function run({ quick }: BenchOptions): Promise<void> {
  const milliseconds = quick ? 1500 : 5000;
  const contexts = quick ? 10_000 : 100_000;
  const tasks = quick ? 50_000 : 1_000_000;
  const folder = await mkdtemp(join(tmpdir(), "nylorun-bench-"));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const postgres = stack.use(await startPostgres({ durable: true }));
  const figures: Record<string, number> = {};

  const nodes: Server[] = [];
  let key = "";
  const rows: string[][] = [];
  for (let count = 1; count <= 3; count++) {
    const node = launchNylorun({ home: join(folder, `node-${count}`), agents: [agent] });
    nodes.push(stack.use(await Server.start({ ...node, env: { ...node.env, NYLORUN_DATABASE_URL: postgres.url } })));
    key ||= await addKey(join(folder, "node-1"));
    await sendTo(nodes, { key, connections: 48, milliseconds: milliseconds / 3 });
    const before = await cpuOf(postgres);
    const ours = nodes.map((one) => one.cpuSeconds());
    const taken = await sendTo(nodes, { key, connections: 48, milliseconds });
    const requests = sum(taken.map((one) => one.requests));
    const database = (await cpuOf(postgres)) - before;
    const served = sum(nodes.map((one, n) => one.cpuSeconds() - ours[n]!));
    const perSecond = sum(taken.map((one) => one.perSecond));
    const latencies = Float64Array.from(taken.flatMap((one) => [...one.latencies])).toSorted();
    figures[`sends_${count}`] = perSecond;
    figures[`db_us_${count}`] = (database * 1e6) / requests;
    figures[`node_us_${count}`] = (served * 1e6) / requests;
    rows.push([
      String(count),
      brief(perSecond),
      brief(percentile(latencies, 0.5)),
      brief(percentile(latencies, 0.99)),
      brief((served * 1e6) / requests),
      brief((database * 1e6) / requests),
      `${brief((100 * database) / (database + served))} %`,
    ]);
  }
  console.log(
    `${table(["nodes", "sends/s", "p50 ms", "p99 ms", "node µs/send", "database µs/send", "database's share"], rows)}\n`,
  );
  for (const node of nodes.splice(1)) await node[Symbol.asyncDispose]();

  const dispatch = await timeDispatch(postgres, contexts, quick ? 50 : 300);
  figures["dispatch_p50"] = percentile(dispatch, 0.5);
  figures["dispatch_p99"] = percentile(dispatch, 0.99);
  console.log(
    `dispatch among ${contexts} contexts that wait: p50 ${brief(figures["dispatch_p50"])} ms, p99 ${brief(figures["dispatch_p99"])} ms\n`,
  );

  await fillTasks(postgres, tasks);
  const [node] = nodes;
  const target = { port: node!.port, path, headers: { Authorization: `Bearer ${key}` } };
  const list = await load(target, {
    connections: 4,
    milliseconds,
    exchange: {
      body: () => JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks", params: { pageSize: 50 } }),
      check(body) {
        const { totalSize } = (JSON.parse(body) as { result: { totalSize: number } }).result;
        if (totalSize < tasks) throw new Error(`the list has ${totalSize} tasks, not ${tasks}`);
      },
    },
  });
  const send = await load(target, { connections: 4, milliseconds });
  figures["list_p99"] = percentile(list.latencies, 0.99);
  figures["send_p99"] = percentile(send.latencies, 0.99);
  console.log(
    `among ${tasks} tasks of one subject, 4 callers at once: ListTasks p50 ${brief(percentile(list.latencies, 0.5))} ms, ` +
      `p99 ${brief(figures["list_p99"])} ms; SendMessage p50 ${brief(percentile(send.latencies, 0.5))} ms, p99 ${brief(figures["send_p99"])} ms\n`,
  );
  console.log(result("cluster", figures));
}

function sendTo(
  nodes: readonly Server[],
  { key, connections, milliseconds }: { key: string; connections: number; milliseconds: number },
): Promise<Round[]> {
  return Promise.all(
    nodes.map(({ port }) =>
      load(
        { port, path, headers: { Authorization: `Bearer ${key}` } },
        { connections: Math.floor(connections / nodes.length), milliseconds },
      ),
    ),
  );
}

/** Processor time of the server and all its children, in seconds: those that ended, too. */
async function cpuOf({ pid }: Postgres): Promise<number> {
  const stats = await Promise.all(
    (await readdir("/proc"))
      .filter((name) => /^\d+$/.test(name))
      .map((name) => readFile(`/proc/${name}/stat`, "utf8").catch(() => "")),
  );
  let ticks = 0;
  for (const stat of stats) {
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const own = Number(stat.split(" ", 1)[0]);
    // Fields 4 (parent), 14-15 (own time) and 16-17 (children's that ended) of proc(5).
    if (Number(fields[1]) === pid) ticks += Number(fields[11]) + Number(fields[12]);
    if (own === pid) ticks += Number(fields[11]) + Number(fields[12]) + Number(fields[13]) + Number(fields[14]);
  }
  return ticks / 100;
}

/** So many tasks that have ended, of the subject `bench`, in a tenth as many contexts. */
async function fillTasks(postgres: Postgres, tasks: number): Promise<void> {
  const query = (text: string) => postgres.query(text);
  const [owner] = await query(`
    SELECT s.scope, s.subject FROM nylorun.scopes s JOIN nylorun.subjects u ON u.subject = s.subject WHERE u.name = 'bench'`);
  const { scope, subject } = owner as { scope: string; subject: string };
  const many = Math.ceil(tasks / 10);
  const base = 100_000_000;
  await query(`
    INSERT INTO nylorun.contexts (context, scope, subject, name, created_at)
    SELECT ${base} + n, ${scope}, ${subject}, 'old-' || n, 0 FROM generate_series(1, ${many}) n`);
  await query(`
    INSERT INTO nylorun.names SELECT ${scope}, 'old-' || n, ${base} + n FROM generate_series(1, ${many}) n`);
  await query(`
    INSERT INTO nylorun.turns
      (context, turn, scope, state, status, status_at, created_at, length, agent_version, traceparent, message, view)
    SELECT ${base} + 1 + n % ${many}, ${base} + n, ${scope}, 'completed', 3, 1700000000000 + n * 1000, 1700000000000 + n * 1000, 0, '1.0.0',
      '00-0123456789abcdef0123456789abcdef-0123456789abcdef-01',
      '{"messageId":"old-' || n || '","parts":[{"text":"A question of ordinary length, as people ask them."}]}',
      '{"artifacts":[{"artifactId":"output","parts":[{"text":"An answer of ordinary length, as agents give them, to the question above."}]}],"totals":{"steps":1}}'
    FROM generate_series(1, ${tasks}) n`);
  await query(`
    INSERT INTO nylorun.tallies (scope, status, bucket, turns)
    SELECT scope, status, nylorun.bucket_of(status_at), count(*) FROM nylorun.turns WHERE turn > ${base} GROUP BY 1, 2, 3
    ON CONFLICT (scope, status, bucket) DO UPDATE SET turns = nylorun.tallies.turns + excluded.turns`);
  await query("ANALYZE");
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
