/**
 * Three nodes on one PostgreSQL, for 10 minutes or as many as are named, while nodes, the database and connections die; then I1-I8.
 *
 * 500 contexts, each second 10 messages whose work has effects; kill -9 of nodes, SIGSTOP of one past its lease, clocks that are
 * wrong by hours, a database that is restarted, killed, or cut off. `npm run soak -- cluster [MINUTES]`.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { Client } from "pg";

import { Nodes } from "../cluster/nodes.ts";
import { startPostgres } from "../postgres/server.ts";
import { check, readDeeds } from "./cluster/checker.ts";
import type { Heard } from "./cluster/checker.ts";
import { Load } from "./cluster/load.ts";
import { Operator } from "./cluster/operator.ts";

const minutes = Number(process.argv[2] ?? 10);
const leaseMs = 5000;
const hours = 3_600_000;
/** How long everything may take to come to rest at the end, in milliseconds. */
const rest = 420_000;

const say = (text: string) => process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
const pick = <Item>(items: readonly Item[]) => items[Math.floor(Math.random() * items.length)]!;

await using stack = new AsyncDisposableStack();
// Whoever ends it early leaves nothing running either.
for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const) {
  process.once(signal, () => {
    say("Interrupted: everything is stopped.");
    void stack.disposeAsync().finally(() => process.exit(code));
  });
}
const folder = mkdtempSync(join(tmpdir(), "nylorun-soak-"));
stack.defer(() => rmSync(folder, { recursive: true, force: true }));
const log = join(folder, "effects.jsonl");

const heard: Heard[] = [];
const hook = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("error", () => undefined);
  request.on("end", () => {
    // Whoever sent it may have died on the way. A receiver has bad moments, too. Then it is told again.
    if (!request.complete || Math.random() < 0.05) return void response.writeHead(500).end();
    const { task, statusUpdate, artifactUpdate } = JSON.parse(Buffer.concat(parts).toString()) as Record<
      string,
      { id?: string; taskId?: string; status?: { state: string } } | undefined
    >;
    const told = task ?? statusUpdate ?? artifactUpdate;
    heard.push({
      id: String(request.headers["webhook-id"]),
      task: told?.id ?? told?.taskId ?? "",
      state: told?.status?.state ?? "",
    });
    response.writeHead(204).end();
  });
}).listen(0, "127.0.0.1");
stack.defer(() => void hook.close());

const postgres = stack.use(await startPostgres({ durable: true }));
const nodes = stack.use(
  await Nodes.start({
    postgres,
    folder,
    agents: fileURLToPath(new URL("cluster/agent.ts", import.meta.url)),
    count: 3,
    env: {
      SOAK_LOG: log,
      NYLORUN_LEASE_MS: String(leaseMs),
      NYLORUN_DATABASE_CONNECTIONS: "6",
      NYLORUN_PUSH_SECRET: `whsec_${randomBytes(32).toString("base64")}`,
      NYLORUN_PUSH_HOSTS: "http://127.0.0.1:*",
      NODE_OPTIONS: `--import=${new URL("cluster/skew.ts", import.meta.url).href}`,
    },
  }),
);
const keys = new Map<string, string>();
for (const subject of ["ada", "bob", "eve", "joe", "kim"]) keys.set(subject, await nodes.key(subject));
const operatorKey = await nodes.key(undefined);
const { url } = nodes.proxy;
const load = new Load({
  url,
  keys,
  contexts: 500,
  rate: 10,
  hook: `http://127.0.0.1:${(hook.address() as AddressInfo).port}/hook`,
});
const operator = new Operator({ url, key: operatorKey, log });

const skew = () => ({ SKEW_MS: String(Math.round((Math.random() - 0.5) * 10 * hours)) });
const chaos: Record<string, () => Promise<void>> = {
  async "kill -9 a node"() {
    const n = Math.floor(Math.random() * nodes.count);
    await nodes.node(n).kill();
    await delay(Math.random() * 3000);
    await nodes.start(n, skew());
  },
  async "stop a node past its lease"() {
    const node = nodes.node(Math.floor(Math.random() * nodes.count));
    node.pause();
    await delay(leaseMs * (1.2 + Math.random()));
    node.wake();
  },
  async "restart the database"() {
    await postgres.stop();
    await delay(Math.random() * 4000);
    await postgres.start();
  },
  async "kill the database"() {
    await postgres.stop("crash");
    await postgres.start();
  },
  async "drop all connections"() {
    await postgres.dropConnections();
  },
};

let isOver = false;
const working = [load.send(), load.tend(() => isOver), operator.work(() => isOver)] as const;
const end = Date.now() + minutes * 60_000;
const told = new Map<string, number>();
while (Date.now() < end) {
  await delay(2000 + Math.random() * 6000);
  const what = pick(Object.keys(chaos));
  await chaos[what]!();
  told.set(what, (told.get(what) ?? 0) + 1);
  say(
    `${what}; ${load.told.length} messages taken, ${load.ends.size} tasks ended, ${operator.resolved} lost effects settled`,
  );
}
load.stop();
say("The storm is over; everything comes to rest.");
for (const deadline = Date.now() + rest; load.open > 0 && Date.now() < deadline;) await delay(500);
const outbox = async () =>
  Number((await postgres.query("SELECT count(*) AS n FROM nylorun.outbox WHERE given_up_at IS NULL"))[0]!["n"]);
for (const deadline = Date.now() + rest; (await outbox()) > 0 && Date.now() < deadline;) await delay(500);
// The last of cancelled turns' functions.
await delay(12_000);
isOver = true;
await Promise.all(working);

const client = new Client({ connectionString: postgres.url });
await client.connect();
await client.query("SET search_path TO nylorun");
const wrongs = await check(async (text) => (await client.query<Record<string, unknown>>(text)).rows, {
  load,
  log,
  heard,
});
await client.end();
const deeds = readDeeds(log);
say(`${[...told].map(([what, times]) => `${times} times: ${what}`).join("; ")}.`);
say(
  `${load.told.length} messages were taken (${load.unanswered} never answered), ${load.ends.size} tasks ended, ` +
    `${deeds.filter(({ what }) => what === "begin").length} effects were begun, ${operator.resolved} were lost and settled, ` +
    `${operator.released} times a turn was held and released, ` +
    `${heard.length} deliveries came.`,
);
for (const wrong of wrongs.slice(0, 50)) say(`WRONG: ${wrong}`);
if (load.open > 0) say(`WRONG: ${load.open} tasks have not ended.`);
say(wrongs.length === 0 && load.open === 0 ? "I1-I8 hold." : `${wrongs.length} things are wrong.`);
process.exitCode = wrongs.length === 0 && load.open === 0 ? 0 : 1;
