/**
 * 100,000 turns that wait for an approval in one home: what they cost in memory, how long it takes to answer one, and how long to
 * start beside them. To compare, each is measured for a home with nothing in it too.
 *
 * The turns are made by as many calls of SendMessage. What is measured are processes that were started afterwards: nothing of
 * the making is left in their memory.
 */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { timeToCard } from "./card.ts";
import { timeCommit } from "./disk.ts";
import { brief, median, percentile, result, spread, table } from "./figures.ts";
import { load } from "./load.ts";
import type { Target } from "./load.ts";
import type { BenchOptions } from "./main.ts";
import { addKey, launchNylorun } from "./nylorun.ts";
import { Server, spawnNode } from "./server.ts";

const INTERACTIONS = "https://docs.nylorun.com/a2a/interactions/v1";
const MIB = 1024 * 1024;
const agent = fileURLToPath(new URL("agents/approval.ts", import.meta.url));

/** A turn that waits, and the approval that it waits for. */
interface Waiting {
  readonly taskId: string;
  readonly interactionId: string;
}

interface Home {
  readonly home: string;
  readonly key: string;
  /** Those that are answered while the clock runs, a group for each round. */
  readonly groups: readonly (readonly Waiting[])[];
}

interface Measured {
  /** MiB: when it has served for a while; and after the answers. */
  readonly idle: number;
  readonly answered: number;
  /** Milliseconds, ascending. */
  readonly latencies: Float64Array;
  /** Of the very first answer of the process, in milliseconds. */
  readonly first: number;
  /** Processor time of the server, in milliseconds an answer: what is left of it when others use the machine too. */
  readonly cpu: number;
}

export async function run({ quick, rounds = quick ? 1 : 3 }: BenchOptions): Promise<void> {
  const turns = quick ? 2_000 : 100_000;
  const answers = quick ? 100 : 300;
  const folder = await mkdtemp(join(tmpdir(), "nylorun-bench-"));
  try {
    const commitMs = timeCommit(folder);
    console.log(`control: one durable commit takes ${brief(commitMs)} ms\n`);
    const stored = await fill(join(folder, "stored"), { turns, groups: rounds, each: answers });
    // Turns to answer are needed here too: so few that they do not count.
    const empty = await fill(join(folder, "empty"), { turns: rounds * answers, groups: rounds, each: answers });

    const starts: Record<"empty" | "stored", number[]> = { empty: [], stored: [] };
    for (let round = 0; round < (quick ? 3 : 9); round += 1) {
      starts.empty.push(await timeToCard("Approval", (port) => spawnOn(join(folder, `empty-${round}`), port)));
      starts.stored.push(await timeToCard("Approval", (port) => spawnOn(stored.home, port)));
    }
    const measured: Record<"empty" | "stored", Measured[]> = { empty: [], stored: [] };
    for (let round = 0; round < rounds; round += 1) {
      measured.empty.push(await measure(empty, round));
      measured.stored.push(await measure(stored, round));
    }
    report({ turns, starts, measured, commitMs });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function spawnOn(home: string, port: number) {
  const { args, env } = launchNylorun({ home, agents: [agent], port });
  return spawnNode(args, env);
}

function targetOf({ port }: Server, key: string): Target {
  const headers = { Authorization: `Bearer ${key}`, "A2A-Extensions": INTERACTIONS };
  return { port, path: "/v1/a2a/agents/approval", headers };
}

/** Sends so many messages, and waits until all of their turns wait. */
async function fill(
  home: string,
  { turns, groups, each }: { readonly turns: number; readonly groups: number; readonly each: number },
): Promise<Home> {
  const key = await addKey(home);
  await using server = await Server.start(launchNylorun({ home, agents: [agent] }));
  const target = targetOf(server, key);
  const ids: string[] = [];
  const start = performance.now();
  await load(target, {
    connections: 64,
    requests: turns,
    milliseconds: 600_000,
    exchange: {
      body: () => request("SendMessage", { message: message() }),
      check: (body) => void ids.push((parse(body) as { readonly task: Task }).task.id),
    },
  });
  if (ids.length !== turns) throw new Error(`Only ${ids.length} of ${turns} messages were sent in ten minutes.`);
  const waiting = { status: "TASK_STATE_AUTH_REQUIRED", pageSize: 1 };
  for (let seconds = 0; ; seconds += 1) {
    const { totalSize } = (await call(target, "ListTasks", waiting)) as { readonly totalSize: number };
    if (totalSize === turns) break;
    if (seconds > 120) throw new Error(`Only ${totalSize} of ${turns} turns wait for their approval.`);
    await setTimeout(1_000);
  }
  const perSecond = (turns * 1000) / (performance.now() - start);
  console.log(`${turns.toLocaleString("en")} turns were made, and wait, at ${brief(perSecond)}/s`);

  // From everywhere in the home, in no order.
  const step = Math.floor(ids.length / (groups * each));
  const chosen: Waiting[] = [];
  for (const id of ids.filter((_, index) => index % step === 0).slice(0, groups * each)) {
    const { status } = (await call(target, "GetTask", { id })) as Task;
    chosen.push({ taskId: id, interactionId: status.message!.metadata[INTERACTIONS]!.interactionId });
  }
  const shuffled = chosen.map((item) => ({ item, at: Math.random() })).toSorted((a, b) => a.at - b.at);
  const all = shuffled.map(({ item }) => item);
  return { home, key, groups: Array.from({ length: groups }, (_, at) => all.slice(at * each, (at + 1) * each)) };
}

/** Starts a process, looks at its memory, and sends it a group of approvals, one after another, each until its task is completed. */
async function measure({ home, key, groups }: Home, round: number): Promise<Measured> {
  await using server = await Server.start(launchNylorun({ home, agents: [agent] }));
  const target = targetOf(server, key);
  await call(target, "ListTasks", { pageSize: 1, status: "TASK_STATE_WORKING" });
  await setTimeout(3_000);
  const idle = server.residentBytes() / MIB;
  const group = groups[round]!;
  let next = 0;
  let first = Number.NaN;
  const answer = (requests: number) =>
    load(target, {
      connections: 1,
      requests,
      milliseconds: 120_000,
      exchange: {
        body: () => request("SendMessage", { message: approval(group[next++]!) }),
        check: (body) => {
          const { status } = (parse(body) as { readonly task: Task }).task;
          if (status.state !== "TASK_STATE_COMPLETED") throw new Error(`An approved task is ${status.state}.`);
        },
      },
    });
  ({
    latencies: [first = Number.NaN],
  } = await answer(1));
  const before = server.cpuSeconds();
  const { latencies, requests } = await answer(group.length - 1);
  const cpu = ((server.cpuSeconds() - before) * 1000) / requests;
  if (requests !== group.length - 1) throw new Error(`Only ${requests} approvals were taken within two minutes.`);
  return { idle, answered: server.residentBytes() / MIB, latencies, first, cpu };
}

interface Task {
  readonly id: string;
  readonly status: {
    readonly state: string;
    readonly message?: { readonly metadata: Readonly<Record<string, { readonly interactionId: string }>> };
  };
}

function message(): object {
  return { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "1001" }] };
}

function approval({ taskId, interactionId }: Waiting): object {
  const metadata = { [INTERACTIONS]: { interactionId, approved: true } };
  return { ...message(), taskId, extensions: [INTERACTIONS], metadata };
}

function request(method: string, params: object): string {
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
}

function parse(body: string): unknown {
  const answer = JSON.parse(body) as { readonly result?: unknown };
  if (answer.result === undefined) throw new Error(`Expected a result, got:\n${body}`);
  return answer.result;
}

async function call({ port, path, headers }: Target, method: string, params: object): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "A2A-Version": "1.0", ...headers },
    body: request(method, params),
  });
  return parse(await response.text());
}

function report(figures: {
  readonly turns: number;
  readonly starts: Readonly<Record<"empty" | "stored", readonly number[]>>;
  readonly measured: Readonly<Record<"empty" | "stored", readonly Measured[]>>;
  readonly commitMs: number;
}): void {
  const { turns, starts, measured, commitMs } = figures;
  const of = (which: "empty" | "stored") => ({
    start: median(starts[which]),
    idle: median(measured[which].map(({ idle }) => idle)),
    answered: median(measured[which].map(({ answered }) => answered)),
    first: median(measured[which].map(({ first }) => first)),
    median: median(measured[which].map(p50)),
    cpu: median(measured[which].map(({ cpu }) => cpu)),
    p99: median(measured[which].map(({ latencies }) => percentile(latencies, 0.99))),
  });
  const empty = of("empty");
  const stored = of("stored");
  const row = (name: string, one: typeof empty) => [
    name,
    ...[one.start, one.idle, one.answered, one.first, one.median, one.p99, one.cpu].map(brief),
  ];
  console.log(
    `\n${table(
      ["", "ms to the card", "MiB idle", "MiB after answers", "first answer ms", "p50 ms", "p99 ms", "CPU ms each"],
      [row("few or none waiting", empty), row(`${turns.toLocaleString("en")} waiting`, stored)],
    )}\n`,
  );
  console.log(
    result("parked", {
      turns,
      growthMb: stored.idle - empty.idle,
      growthAfterAnswersMb: stored.answered - empty.answered,
      answerMs: stored.median,
      answerP99Ms: stored.p99,
      answerEmptyMs: empty.median,
      answerVsEmpty: median(measured.stored.map((one, round) => p50(one) / p50(measured.empty[round]!))),
      answerCpuMs: stored.cpu,
      answerCpuEmptyMs: empty.cpu,
      startMs: stored.start,
      startEmptyMs: empty.start,
      idleMb: stored.idle,
      commitMs,
      noise: Math.max(spread(measured.stored.map(({ idle }) => idle)), spread(measured.stored.map(p50))),
    }),
  );
}

function p50({ latencies }: Measured): number {
  return percentile(latencies, 0.5);
}
