/**
 * What a webhook costs: deliveries a second to a receiver on this machine, at c = 16, of Nylorun, which stores each with its change, tries
 * it for a day and signs it, and of the official SDK's sender, which does none of that (in memory). Then what SendMessage takes with a
 * webhook that answers, with one that hangs, and without one.
 *
 * Rounds alternate between the servers, so that a slow moment of the machine meets them all. Ratios are taken within a round.
 */
import { randomUUID, randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { brief, median, percentile, result, spread, table } from "./figures.ts";
import { load } from "./load.ts";
import type { Exchange, Round, Target } from "./load.ts";
import type { BenchOptions } from "./main.ts";
import { addKey, launchNylorun } from "./nylorun.ts";
import { Server } from "./server.ts";

const peers = ["nylorun", "memory"] as const;
type Peer = (typeof peers)[number];
const webhooks = ["none", "answers", "hangs"] as const;
type Webhook = (typeof webhooks)[number];

const CONNECTIONS = 16;
/** Nothing more is on its way once nothing has come for so long, in milliseconds. */
const QUIET = 500;

interface Delivered {
  readonly perSecond: number;
  /** The SDK also sends what its caller has just been answered. */
  readonly perTask: number;
  /** Tasks of which the receiver has been told all. */
  readonly toldPerSecond: number;
}

export async function run({ quick, rounds = quick ? 3 : 5 }: BenchOptions): Promise<void> {
  const milliseconds = quick ? 700 : 3000;
  const folder = await mkdtemp(join(tmpdir(), "nylorun-bench-"));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const start = async (...args: Parameters<typeof Server.start>) => stack.use(await Server.start(...args));
  const port = /^listening on (\d+)$/;
  const peer = (name: string) => fileURLToPath(new URL(`peers/${name}.ts`, import.meta.url));

  const receiver = await start({ name: "receiver", args: [peer("receiver")], port });
  const home = join(folder, "home");
  const agent = fileURLToPath(new URL("agents/answer.ts", import.meta.url));
  const key = await addKey(home);
  const launch = launchNylorun({ home, agents: [agent] });
  const push = {
    NYLORUN_PUSH_SECRET: `whsec_${randomBytes(24).toString("base64")}`,
    NYLORUN_PUSH_HOSTS: `http://127.0.0.1:${receiver.port}`,
  };
  const nylorun = await start({ ...launch, env: { ...launch.env, ...push } });
  const memory = await start({ name: "memory", args: [peer("a2a-sdk"), "0", "", "push"], port });
  const targets: Record<Peer, Target> = {
    nylorun: { port: nylorun.port, path: "/v1/a2a/agents/answer", headers: { Authorization: `Bearer ${key}` } },
    memory: { port: memory.port, path: "/" },
  };
  const url = (path: string) => `http://127.0.0.1:${receiver.port}/${path}`;
  for (const one of peers) await load(targets[one], { connections: CONNECTIONS, milliseconds });

  const delivered: Record<Peer, Delivered[]> = { nylorun: [], memory: [] };
  for (let round = 0; round < rounds; round += 1) {
    for (const one of rotate(peers, round)) {
      delivered[one].push(await deliver(targets[one], { receiver: receiver.port, url: url("take"), milliseconds }));
    }
  }

  const waited: Record<Webhook, Round[]> = { none: [], answers: [], hangs: [] };
  const exchanges: Record<Webhook, Exchange | undefined> = {
    none: undefined,
    answers: withWebhook(url("take")),
    hangs: withWebhook(url("hang")),
  };
  for (let round = 0; round < rounds; round += 1) {
    for (const webhook of rotate(webhooks, round)) {
      const exchange = exchanges[webhook];
      waited[webhook].push(
        await load(targets.nylorun, { connections: CONNECTIONS, milliseconds, ...(exchange && { exchange }) }),
      );
      if (webhook === "answers") await quiet(receiver.port);
    }
  }
  report(delivered, waited);
}

/** Sends for a while, and waits until nothing more comes. */
async function deliver(
  target: Target,
  { receiver, url, milliseconds }: { receiver: number; url: string; milliseconds: number },
): Promise<Delivered> {
  const before = await counted(receiver);
  const began = Date.now();
  const sent = await load(target, { connections: CONNECTIONS, milliseconds, exchange: withWebhook(url) });
  const { count, last } = await quiet(receiver);
  const deliveries = count - before.count;
  return {
    perSecond: deliveries / ((last - began) / 1000),
    perTask: deliveries / sent.requests,
    toldPerSecond: sent.requests / ((last - began) / 1000),
  };
}

function withWebhook(url: string): Exchange {
  return {
    body: () =>
      JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "SendMessage",
        params: {
          message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "A question." }] },
          configuration: { taskPushNotificationConfig: { id: randomUUID(), url } },
        },
      }),
    check(body) {
      if (!body.includes("TASK_STATE_COMPLETED")) throw new Error(`The task is not completed: ${body}`);
    },
  };
}

interface Counted {
  readonly count: number;
  readonly last: number;
}

async function counted(port: number): Promise<Counted> {
  return (await (await fetch(`http://127.0.0.1:${port}/`)).json()) as Counted;
}

async function quiet(port: number): Promise<Counted> {
  for (;;) {
    const now = await counted(port);
    if (Date.now() - now.last > QUIET) return now;
    await setTimeout(50);
  }
}

function rotate<T>(items: readonly T[], by: number): readonly T[] {
  const at = by % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
}

function report(delivered: Record<Peer, readonly Delivered[]>, waited: Record<Webhook, readonly Round[]>): void {
  const rate = (peer: Peer) => median(delivered[peer].map((one) => one.perSecond));
  const against = (figure: "perSecond" | "toldPerSecond") =>
    median(delivered.nylorun.map((one, round) => one[figure] / delivered.memory[round]![figure]));
  const rows = peers.map((peer) => {
    const rates = delivered[peer].map((one) => one.perSecond);
    return [
      `c = ${CONNECTIONS}, ${peer}`,
      brief(median(rates)),
      `${brief(Math.min(...rates))}-${brief(Math.max(...rates))}`,
      brief(median(delivered[peer].map((one) => one.perTask))),
      peer === "nylorun" ? "" : `${brief(against("perSecond"))} x`,
      brief(median(delivered[peer].map((one) => one.toldPerSecond))),
      peer === "nylorun" ? "" : `${brief(against("toldPerSecond"))} x`,
    ];
  });
  console.log(table(["", "deliveries/s", "of rounds", "a task", "nylorun is", "tasks told/s", "nylorun is"], rows));
  console.log();

  const p50 = (webhook: Webhook) => waited[webhook].map((round) => percentile(round.latencies, 0.5));
  const p99 = (webhook: Webhook) => waited[webhook].map((round) => percentile(round.latencies, 0.99));
  const slower = (webhook: Webhook) => median(p50(webhook).map((ms, round) => ms / p50("none")[round]!));
  console.log(
    table(
      [`SendMessage, c = ${CONNECTIONS}, webhook`, "p50 ms", "p99 ms", "p50 against none"],
      webhooks.map((webhook) => [
        webhook,
        brief(median(p50(webhook))),
        brief(median(p99(webhook))),
        `${brief(slower(webhook))} x`,
      ]),
    ),
  );
  console.log();
  console.log(
    result("push", {
      vsMemory: against("perSecond"),
      toldVsMemory: against("toldPerSecond"),
      perSecond: rate("nylorun"),
      perSecondMemory: rate("memory"),
      perTask: median(delivered.nylorun.map((one) => one.perTask)),
      perTaskMemory: median(delivered.memory.map((one) => one.perTask)),
      noneMs: median(p50("none")),
      answersMs: median(p50("answers")),
      hangsMs: median(p50("hangs")),
      hangsVsNone: slower("hangs"),
      answersVsNone: slower("answers"),
      noise: Math.max(...peers.map((peer) => spread(delivered[peer].map((one) => one.perSecond)))),
    }),
  );
}
