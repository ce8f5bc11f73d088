/** The example agents as their callers meet them: served over A2A. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { startRuntime } from "@nylorun/runtime";
import type { Runtime } from "@nylorun/runtime";

import echo from "../echo.ts";
import profiler from "../profiler.ts";

const progress = "https://docs.nylorun.com/a2a/progress/v1";

describe("served", { timeout: 60_000 }, () => {
  let folder: string;
  let runtime: Runtime;
  let key: string;
  let messages = 0;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "nylorun-examples-"));
    runtime = await startRuntime({ agents: [echo, profiler], home: join(folder, "home"), port: 0, logLevel: "silent" });
    key = await runtime.addKey({ role: "subject", subject: "reader" });
  });

  after(async () => {
    await runtime?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function call(agent: string, method: string, params: object) {
    const response = await fetch(`${runtime.url}/v1/a2a/agents/${agent}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "a2a-version": "1.0",
        "a2a-extensions": progress,
        authorization: `Bearer ${key}`,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    const answer: any = await response.json();
    assert.equal(answer.error, undefined);
    return answer.result;
  }

  async function send(agent: string, text: string, configuration = {}) {
    messages += 1;
    const message = { messageId: `m${messages}`, role: "ROLE_USER", parts: [{ text }] };
    return (await call(agent, "SendMessage", { message, configuration })).task;
  }

  const long = `id,price\n${Array.from({ length: 400_000 }, (_, n) => `${n},${n % 977}.5`).join("\n")}\n`;

  test("echo answers with what it was sent", async () => {
    const task = await send("echo", "Hello, wörld!");
    assert.equal(task.status.state, "TASK_STATE_COMPLETED");
    assert.deepEqual(task.artifacts[0].parts, [{ text: "Hello, wörld!" }]);
  });

  test("the profiler answers with data, and its plan says how it went", async () => {
    const rows = Array.from({ length: 9 }, (_, n) => `${n + 1},1${n + 1}`);
    const task = await send("profiler", `id,age\n${rows.join("\n")}\n10,920\n`);
    assert.equal(task.status.state, "TASK_STATE_COMPLETED");
    const { data } = task.artifacts[0].parts[0];
    assert.equal(data.rows, 10);
    assert.deepEqual(
      data.columns.map(({ name, type, outliers }: any) => [name, type, outliers.examples]),
      [
        ["id", "integer", []],
        ["age", "integer", [{ row: 10, value: 920 }]],
      ],
    );
    assert.deepEqual(task.metadata[progress].steps, [
      { label: "Read the CSV", state: "done", note: "10 rows, 2 columns" },
      { label: "Infer column types", state: "done" },
      { label: "Profile columns", state: "done" },
      { label: "Look for outliers", state: "done", note: "1 found" },
    ]);
  });

  test("the profiler refuses what is no CSV, and says what it takes", async () => {
    const task = await send("profiler", "What can you do for me?");
    assert.equal(task.status.state, "TASK_STATE_REJECTED");
    assert.match(task.status.message.parts[0].text, /first line should name the columns/);
  });

  test("a long file holds up nobody, and its task ends when it is cancelled", async () => {
    const working = await send("profiler", long, { returnImmediately: true });
    assert.equal((await send("echo", "meanwhile")).status.state, "TASK_STATE_COMPLETED");
    const { status } = await call("profiler", "CancelTask", { id: working.id });
    assert.equal(status.state, "TASK_STATE_CANCELED");
  });

  test("a long file is read to its end", async () => {
    const task = await send("profiler", long);
    assert.equal(task.status.state, "TASK_STATE_COMPLETED");
    assert.equal(task.artifacts[0].parts[0].data.rows, 400_000);
    const said = task.history.filter(({ role }: any) => role === "ROLE_AGENT");
    assert.deepEqual(
      said.map(({ parts }: any) => parts[0].text),
      [`Profiling ${long.length.toLocaleString("en")} characters of CSV.`],
    );
  });
});
