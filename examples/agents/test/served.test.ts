/** The example agents as their callers meet them: served over A2A. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { createA2aClient } from "@nylorun/agents/a2a";
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

  const output = (task: any) => task.artifacts.find(({ artifactId }: any) => artifactId === "output").parts[0];

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
    const { data } = output(task);
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
      { label: "Write the report", state: "done" },
    ]);
  });

  describe("a CSV that comes as", () => {
    const csv = 'name,"a | <b>",age\nAda,1,36\nBo,,920\n';
    const origin = createServer((_, response) => response.writeHead(200, { "content-type": "text/csv" }).end(csv));
    before(() => new Promise<void>((resolve) => origin.listen(0, "127.0.0.1", resolve)));
    after(() => origin.close());

    for (const kind of ["text", "raw", "url"] as const) {
      test(`${kind} is profiled; the report and the chart are downloaded, and are what they should be`, async () => {
        const { port } = origin.address() as AddressInfo;
        const parts = {
          text: { text: csv, mediaType: "text/csv" },
          raw: { raw: Buffer.from(csv).toString("base64"), filename: "people.csv" },
          url: { url: `http://127.0.0.1:${port}/people.csv`, mediaType: "text/csv" },
        };
        await using own = await serveFrom([`http://127.0.0.1:${port}`]);
        const agent = await createA2aClient({ url: `${own.url}/v1/a2a/agents/profiler/`, auth: own.key });
        const task = await agent.send([parts[kind]]);
        const { files, output: profile } = await task.done();
        assert.equal((profile as { rows: number }).rows, 2);
        const told = files.map(({ path, version, mediaType }) => [path, version, mediaType]);
        assert.deepEqual(told.slice(0, 2), [
          ["report.md", 1, "text/markdown"],
          ["chart.svg", 1, "image/svg+xml"],
        ]);
        // Each is checked by its size and hash as it comes.
        const [report, chart] = (await Promise.all(files.slice(0, 2).map((file) => file.text()))) as [string, string];
        assert.match(report, kind === "text" ? /^# Your CSV\n/ : /^# people.csv\n/);
        assert.ok(report.includes("| a \\| \\<b\\> | integer | 1 | 1 | 1 |"), report);
        assert.match(chart, /^<svg .*a \| &lt;b&gt;.*50 % · integer.*<\/svg>\n$/);
        const again = await agent.context(task.contextId).send([parts[kind]]);
        assert.equal((await again.done()).files[0]!.version, 2);
      });
    }

    async function serveFrom(fileHosts: readonly string[]) {
      const home = await mkdtemp(join(tmpdir(), "nylorun-examples-"));
      const server = await startRuntime({ agents: [profiler], home, port: 0, logLevel: "silent", fileHosts });
      return {
        url: server.url,
        key: await server.addKey({ role: "subject", subject: "reader" }),
        async [Symbol.asyncDispose]() {
          await server.stop();
          await rm(home, { recursive: true });
        },
      };
    }
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
    assert.equal(output(task).data.rows, 400_000);
    const said = task.history.filter(({ role }: any) => role === "ROLE_AGENT");
    assert.deepEqual(
      said.map(({ parts }: any) => parts[0].text),
      [`Profiling ${long.length.toLocaleString("en")} characters of CSV.`],
    );
  });
});
