import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { COMMAND } from "./connect.ts";

const root = mkdtempSync(join(tmpdir(), "nylorun-mcp-process-"));
after(() => rmSync(root, { recursive: true, force: true }));

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

interface Server {
  readonly child: ChildProcess;
  readonly folder: string;
  send(...messages: object[]): void;
  /** The next message. @throws When something else comes, or nothing within 5 s. */
  next(): Promise<any>;
  readonly said: () => string;
}

let servers = 0;

function start({ nodeArgs = [], reading = true }: { nodeArgs?: string[]; reading?: boolean } = {}): Server {
  const folder = join(root, `sink-${++servers}`);
  const child = spawn(process.execPath, [...nodeArgs, COMMAND], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, AGENT_PROGRESS_EVENTS_DIR: folder },
  });
  children.push(child);
  let said = "";
  child.stderr.on("data", (chunk) => (said += chunk));
  child.stdin.on("error", () => undefined);
  const lines: string[] = [];
  let rest = "";
  if (reading) {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const parts = (rest + text).split("\n");
      rest = parts.pop()!;
      lines.push(...parts);
    });
  }
  return {
    child,
    folder,
    send: (...messages) => child.stdin.write(messages.map((message) => `${JSON.stringify(message)}\n`).join("")),
    async next() {
      for (const deadline = Date.now() + 20_000; lines.length === 0; await delay(2)) {
        assert.ok(Date.now() < deadline, `nothing came; stderr: ${said}`);
      }
      const message = JSON.parse(lines.shift()!);
      assert.equal(message.jsonrpc, "2.0");
      return message;
    },
    said: () => said,
  };
}

const initialize = (id = 0): object => ({
  jsonrpc: "2.0",
  id,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
});

const call = (id: number, percent = id, extra: object = {}): object => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: {
    name: "report_progress",
    arguments: { task_id: "claude:x", percent, stage: "Working", status: "running", ...extra },
  },
});

async function started(options?: Parameters<typeof start>[0]): Promise<Server> {
  const server = start(options);
  server.send(initialize());
  assert.equal((await server.next()).result.serverInfo.name, "agent-progress");
  return server;
}

const stored = ({ folder }: Server): any[] =>
  readdirSync(folder).flatMap((name) =>
    readFileSync(join(folder, name), "utf8")
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line)),
  );

/** That the process ends within a second, and is gone. */
async function endsWithinASecond({ child, said }: Server): Promise<NodeJS.Signals | number> {
  const begun = performance.now();
  const [code, signal] =
    child.exitCode === null && child.signalCode === null
      ? await Promise.race([once(child, "exit"), delay(5_000, ["no end", undefined], { ref: false })])
      : [child.exitCode, child.signalCode];
  assert.notEqual(code, "no end", `it goes on; stderr: ${said()}`);
  assert.ok(performance.now() - begun < 1_000, `it took ${performance.now() - begun} ms`);
  assert.throws(() => process.kill(child.pid!, 0), { code: "ESRCH" });
  return signal ?? code;
}

describe("The process of the MCP server", () => {
  // keeps: progress-mcp-ends
  it("ends when its standard input does (P11)", async () => {
    const server = await started();
    server.child.stdin!.end();
    assert.equal(await endsWithinASecond(server), 0);
    assert.equal(server.said(), "");
  });

  it("answers the calls that came before the end of its input, then ends", async () => {
    const server = await started();
    server.send(...Array.from({ length: 50 }, (_, index) => call(index + 1)));
    server.child.stdin!.end();
    for (let id = 1; id <= 50; id++) assert.equal((await server.next()).id, id);
    assert.equal(await endsWithinASecond(server), 0);
    assert.equal(stored(server).length, 50);
  });

  it("serves a client that sends everything at once from a file", async () => {
    const folder = join(root, `sink-${++servers}`);
    const input = join(root, "input.jsonl");
    writeFileSync(input, [initialize(), call(1), call(2)].map((message) => `${JSON.stringify(message)}\n`).join(""));
    const child = spawn(process.execPath, [COMMAND], {
      stdio: [openSync(input, "r"), "pipe", "inherit"],
      env: { ...process.env, AGENT_PROGRESS_EVENTS_DIR: folder },
    });
    children.push(child);
    let output = "";
    child.stdout!.on("data", (chunk) => (output += chunk));
    const [code] = await once(child, "close");
    assert.equal(code, 0);
    assert.deepEqual(
      output
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).id),
      [0, 1, 2],
    );
  });

  it("ends although its client does not take its answers", async () => {
    const server = start({ reading: false });
    server.send(initialize(), ...Array.from({ length: 3_000 }, (_, index) => call(index + 1)));
    for (let count = 0; count < 3_000; await delay(20)) {
      try {
        count = stored(server).length;
      } catch {
        // Not begun yet.
      }
    }
    server.child.stdin!.end();
    assert.equal(await endsWithinASecond(server), 0);
  });

  // keeps: progress-mcp-ends
  it("ends when nobody reads its answers any more (P11)", async () => {
    const server = await started();
    server.child.stdout!.destroy();
    server.send(call(1));
    assert.equal(await endsWithinASecond(server), 0);
    assert.equal(stored(server).length, 1);
  });

  it("ends at once on a signal, be calls in flight or not, and what it answered is stored", async () => {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
      const idle = await started();
      idle.child.kill(signal);
      assert.equal(await endsWithinASecond(idle), signal);

      const busy = await started();
      busy.send(...Array.from({ length: 500 }, (_, index) => call(index + 1, index / 10)));
      const { id } = await busy.next();
      busy.child.kill(signal);
      assert.equal(await endsWithinASecond(busy), signal);
      assert.ok(stored(busy).some(({ percent }) => percent === (id - 1) / 10));
    }
  });

  // keeps: progress-mcp-stdout
  it("keeps everything but the protocol from standard output (P12)", async () => {
    const noise = `
      setInterval(() => { console.log("stray"); process.stdout.write("stray\\n"); }, 1).unref();
      process.on("exit", () => console.log("stray at the end"));
    `;
    const server = await started({ nodeArgs: ["--import", `data:text/javascript,${encodeURIComponent(noise)}`] });
    for (let id = 1; id <= 100; id++) {
      server.send(call(id));
      assert.equal((await server.next()).id, id);
    }
    server.child.stdin!.end();
    assert.equal(await endsWithinASecond(server), 0);
    assert.match(server.said(), /stray/);
  });

  it("goes on when nobody reads its standard error", async () => {
    const server = await started();
    server.child.stderr!.destroy();
    writeFileSync(server.folder, "in the folder's place");
    server.send(call(1), call(2));
    assert.equal((await server.next()).result.structuredContent.persisted, false);
    assert.equal((await server.next()).result.structuredContent.persisted, false);
  });

  it("goes on after input that is no JSON, no JSON-RPC, or of half a character", async () => {
    const server = await started();
    server.child.stdin!.write('nonsense\n{"jsonrpc":"2.0"}\n[]\n\n\r\n{"id":1}\n');
    const bytes = Buffer.from(`${JSON.stringify(call(7, 7, { stage: "読" }))}\n`);
    const half = bytes.indexOf("読") + 1;
    server.child.stdin!.write(bytes.subarray(0, half));
    await delay(20);
    server.child.stdin!.write(bytes.subarray(half));
    let message = await server.next();
    while (message.id !== 7) message = await server.next();
    assert.equal(message.result.structuredContent.stage, "読");
  });

  it("refuses a number that is not finite, which JSON can hold after all (P1)", async () => {
    const server = await started();
    for (const number of ["1e999", "-1e999"]) {
      server.child.stdin!.write(`${JSON.stringify(call(1)).replace('"percent":1', `"percent":${number}`)}\n`);
      const { result } = await server.next();
      assert.equal(result.isError, true);
      assert.match(result.content[0].text, /percent must be a finite number; it is -?Infinity/);
      server.child.stdin!.write(
        `${JSON.stringify(call(2, 2, { eta_seconds: 0 })).replace('"eta_seconds":0', `"eta_seconds":${number}`)}\n`,
      );
      assert.match((await server.next()).result.content[0].text, /eta_seconds must be a finite number of seconds/);
    }
    assert.ok(!existsSync(server.folder));
  });

  it("tells a person what it is", async () => {
    const child = spawn(process.execPath, [COMMAND, "--help"], { stdio: ["ignore", "pipe", "inherit"] });
    children.push(child);
    let output = "";
    child.stdout.on("data", (chunk) => (output += chunk));
    assert.deepEqual(await once(child, "close"), [0, null]);
    assert.match(output, /claude mcp add progress/);
  });
});
