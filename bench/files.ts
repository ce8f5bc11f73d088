/**
 * Files in and out: Nylorun, which hashes what it takes in, has it on the disk before it goes on, and checks who may have it, against
 * `node:http` streaming to and from a disk and nothing else.
 *
 * Up: a message names a file by its URL, and is answered when the file has been fetched and the turn has ended. Down: its link is
 * downloaded. The peer does the same with one pipeline each. All servers run for the whole time; rounds alternate between them.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import type { Task } from "@nylorun/protocol";

import { timeCommit } from "./disk.ts";
import { brief, median, result, spread, table } from "./figures.ts";
import type { BenchOptions } from "./main.ts";
import { addKey, launchNylorun } from "./nylorun.ts";
import { Server } from "./server.ts";

const MIB = 1024 ** 2;
const lanes = ["nylorun up", "plain up", "plain up, synced", "nylorun down", "plain down"] as const;
type Lane = (typeof lanes)[number];

export async function run({ quick, rounds = quick ? 3 : 9 }: BenchOptions): Promise<void> {
  const size = (quick ? 20 : 100) * MIB;
  const folder = await mkdtemp(join(tmpdir(), "nylorun-bench-"));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const start = async (...args: Parameters<typeof Server.start>) => stack.use(await Server.start(...args));
  const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));
  const commitMs = timeCommit(folder);
  console.log(`control: one durable commit takes ${brief(commitMs)} ms; files of ${size / MIB} MiB\n`);

  const home = join(folder, "home");
  const key = await addKey(home);
  const source = await start({
    name: "source",
    args: [file("peers/source.ts"), String(size)],
    port: /^listening on (\d+)$/,
  });
  const plain = await start({
    name: "plain",
    args: [file("peers/plain-files.ts"), folder],
    port: /^listening on (\d+)$/,
  });
  const launch = launchNylorun({ home, agents: [file("agents/files.ts")] });
  const url = `http://127.0.0.1:${source.port}/`;
  const ours = await start({
    ...launch,
    // A file that is fetched again is another one, so that none is found to be there already.
    env: { ...launch.env, NYLORUN_FILE_HOSTS: "http://127.0.0.1:*", NYLORUN_TOTAL_BYTES: String(1024 ** 4) },
  });

  let messages = 0;
  const send = async (text: string): Promise<Task> => {
    const message = {
      messageId: `m-${messages++}`,
      role: "ROLE_USER",
      parts: [{ text }, { url: `${url}${messages}.bin` }],
    };
    const response = await fetch(`http://127.0.0.1:${ours.port}/v1/a2a/agents/files`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "a2a-version": "1.0" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } }),
    });
    const { result: answer } = (await response.json()) as { result?: { task: Task } };
    if (answer?.task.status.state !== "TASK_STATE_COMPLETED") throw new Error(JSON.stringify(answer));
    return answer.task;
  };
  const take = async (synced: boolean) => {
    const response = await fetch(
      `http://127.0.0.1:${plain.port}/?url=${encodeURIComponent(url)}${synced ? "&sync" : ""}`,
      {
        method: "POST",
      },
    );
    if ((await response.text()) !== "taken") throw new Error("It was not taken.");
  };

  let link = "";
  const doing: Readonly<Record<Lane, () => Promise<unknown>>> = {
    "nylorun up": () => send("take"),
    "plain up": () => take(false),
    "plain up, synced": () => take(true),
    "nylorun down": () => download(link, size),
    "plain down": () => download(`http://127.0.0.1:${plain.port}/`, size),
  };
  const fresh = async () => {
    const task = await send("back");
    link = task.artifacts!.find(({ parts: [part] }) => part?.url !== undefined)!.parts[0]!.url!;
  };
  await fresh();
  for (const lane of lanes) await doing[lane]();

  const before = ours.residentBytes();
  let highest = before;
  const watch = setInterval(() => (highest = Math.max(highest, ours.residentBytes())), 20);
  const taken: Record<Lane, number[]> = {
    "nylorun up": [],
    "plain up": [],
    "plain up, synced": [],
    "nylorun down": [],
    "plain down": [],
  };
  for (let round = 0; round < rounds; round++) {
    await fresh();
    for (let at = 0; at < lanes.length; at++) {
      const lane = lanes[(at + round) % lanes.length]!;
      const began = performance.now();
      await doing[lane]();
      taken[lane].push(size / 1e6 / ((performance.now() - began) / 1000));
    }
  }
  clearInterval(watch);
  const grown = (highest - before) / 1e6;

  const ratio = (one: Lane, other: Lane) => median(taken[one].map((rate, round) => rate / taken[other][round]!));
  console.log(
    table(
      ["", "MB/s", "of rounds", "nylorun is"],
      lanes.map((lane) => [
        lane,
        brief(median(taken[lane])),
        `${brief(Math.min(...taken[lane]))}-${brief(Math.max(...taken[lane]))}`,
        lane.startsWith("nylorun")
          ? ""
          : `${brief(ratio(lane.includes("up") ? "nylorun up" : "nylorun down", lane))} x`,
      ]),
    ),
  );
  console.log(`\nresident memory of nylorun grew by ${brief(grown)} MB at most, over ${rounds} rounds\n`);
  console.log(
    result("files", {
      upVsPlain: ratio("nylorun up", "plain up"),
      upVsSynced: ratio("nylorun up", "plain up, synced"),
      downVsPlain: ratio("nylorun down", "plain down"),
      upMBs: median(taken["nylorun up"]),
      upPlainMBs: median(taken["plain up"]),
      upSyncedMBs: median(taken["plain up, synced"]),
      downMBs: median(taken["nylorun down"]),
      downPlainMBs: median(taken["plain down"]),
      grownMB: grown,
      commitMs,
      noise: Math.max(...lanes.map((lane) => spread(taken[lane]))),
    }),
  );
}

/** @throws When it is not of this size. */
async function download(url: string, size: number): Promise<void> {
  const length = await new Promise<number>((resolve, reject) => {
    get(url, (response) => {
      let sum = 0;
      response.on("data", (chunk: Buffer) => (sum += chunk.length));
      response.on("end", () => resolve(sum));
      response.on("error", reject);
    }).on("error", reject);
  });
  if (length !== size) throw new Error(`${url} gave ${length} bytes, not ${size}.`);
}
