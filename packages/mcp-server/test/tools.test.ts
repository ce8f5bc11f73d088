import assert from "node:assert/strict";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";

import { dayOf, daysBefore } from "@nylorun/progress";
import { isProgressEvent } from "@nylorun/protocol";

import { CLIENTS } from "./connect.ts";
import type { Connection } from "./connect.ts";

const root = mkdtempSync(join(tmpdir(), "nylorun-mcp-"));
after(() => rmSync(root, { recursive: true, force: true }));

let folders = 0;
const newFolder = (): string => join(root, `sink-${++folders}`);

const today = dayOf(Date.now());
const fileOf = (day: string): string => `events-${day}.jsonl`;

/** The records in the folder, in their order. */
function records(folder: string): any[] {
  return readdirSync(folder)
    .toSorted()
    .flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n").slice(0, -1))
    .map((line) => JSON.parse(line));
}

const report = (fields: object = {}): object => ({
  task_id: "claude:summarize",
  percent: 42,
  stage: "Reasoning",
  status: "running",
  ...fields,
});

/** What a result holds, whose text must say the same. */
function content(result: any): any {
  assert.equal(result.isError ?? false, false, JSON.stringify(result));
  assert.deepEqual(
    result.content.map(({ type }: { type: string }) => type),
    ["text"],
  );
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  return result.structuredContent;
}

/** What an error says, which must be text only. */
function refusal(result: any): string {
  assert.equal(result.isError, true, JSON.stringify(result));
  assert.equal(result.structuredContent, undefined);
  assert.deepEqual(Object.keys(result.content[0]).toSorted(), ["text", "type"]);
  return result.content[0].text;
}

for (const [name, connect] of Object.entries(CLIENTS)) {
  const open = (folder: string, environment: Record<string, string> = {}): Promise<Connection> =>
    connect({ AGENT_PROGRESS_EVENTS_DIR: folder, ...environment });

  describe(`The MCP server, to ${name}`, () => {
    // keeps: progress-mcp-tools, progress-mcp-loose
    it("introduces itself, and describes its two tools as hosts and models need it", async () => {
      await using client = await open(newFolder());
      assert.equal(client.server.name, "agent-progress");
      assert.match(String(client.server.version), /^\d+\.\d+\.\d+/);
      assert.match(String(client.server.instructions), /eta_seconds is null unless you really know it/);
      const { tools } = await client.request("tools/list");
      assert.deepEqual(
        tools.map((tool: any) => [tool.name, tool.title, tool.annotations.readOnlyHint]),
        [
          ["report_progress", "Report progress", false],
          ["get_status", "Get progress", true],
        ],
      );
      for (const { inputSchema, outputSchema, description } of tools) {
        for (const schema of [inputSchema, outputSchema]) {
          assert.equal(schema.$schema, "https://json-schema.org/draft/2020-12/schema");
          assert.equal(schema.type, "object");
          assert.notEqual(schema.additionalProperties, false);
        }
        assert.ok(description.length > 100);
      }
      // What is out of range is to reach the clamp.
      assert.deepEqual(Object.keys(tools[0].inputSchema.properties.percent).toSorted(), ["description", "type"]);
    });

    // keeps: progress-mcp-stored
    it("takes a report in, stores it before it answers, and answers with the event", async () => {
      const folder = newFolder();
      await using client = await open(folder);
      const before = Date.now();
      const answered = content(
        await client.call("report_progress", report({ eta_seconds: 30, message: "section 3 of 7", session_id: "s1" })),
      );
      const stored = records(folder);
      assert.equal(stored.length, 1);
      assert.deepEqual(answered, { ...stored[0], complete: false, persisted: true });
      const { timestamp, ...rest } = stored[0];
      assert.deepEqual(rest, {
        proto: 1,
        task_id: "claude:summarize",
        percent: 42,
        eta_seconds: 30,
        stage: "Reasoning",
        status: "running",
        message: "section 3 of 7",
        agent: "claude",
        session_id: "s1",
      });
      assert.ok(Date.parse(timestamp) >= before && Date.parse(timestamp) <= Date.now());
      assert.ok(isProgressEvent(answered));
      assert.equal(statSync(folder).mode & 0o777, 0o700);
      assert.equal(statSync(join(folder, fileOf(today))).mode & 0o777, 0o600);
    });

    it("clamps, cuts and cleans, ignores what it does not know, and invents no ETA (P1, P2, P23)", async () => {
      await using client = await open(newFolder());
      const taken = async (fields: object) => content(await client.call("report_progress", report(fields)));
      assert.equal((await taken({ percent: 107 })).percent, 100);
      assert.equal((await taken({ percent: -3 })).percent, 0);
      assert.equal((await taken({ percent: 10 })).percent, 10);
      assert.equal((await taken({})).eta_seconds, null);
      assert.equal((await taken({ eta_seconds: null })).eta_seconds, null);
      assert.equal((await taken({ eta_seconds: 0 })).eta_seconds, 0);
      assert.equal((await taken({ stage: "\u001b[2J\u001b]0;x\u0007Read\u202e\ning" })).stage, "Read ing");
      assert.equal((await taken({ message: "👩‍👩‍👧".repeat(100) })).message.length <= 2 * 280, true);
      const strange = await taken({ timestamp: "1999-01-01T00:00:00Z", unknown: 1, seq: 7 });
      assert.notEqual(strange.timestamp, "1999-01-01T00:00:00Z");
      assert.equal(strange.unknown, undefined);
      assert.equal((await taken({ percent: 100 })).complete, true);
      assert.equal((await taken({ percent: 3, status: "done" })).complete, true);
      assert.equal((await taken({ task_id: "constructor" })).task_id, "constructor");
    });

    it("refuses what cannot be drawn, in words that help, and stores nothing of it (P1, P13)", async () => {
      const folder = newFolder();
      await using client = await open(folder);
      const refused = async (fields: object) => refusal(await client.call("report_progress", report(fields)));
      assert.match(await refused({ percent: "42" }), /percent must be a finite number; it is "42"/);
      assert.match(await refused({ percent: undefined }), /percent .* missing/);
      assert.match(await refused({ eta_seconds: -1 }), /eta_seconds .* 0 or more, or null/);
      assert.match(await refused({ task_id: "../x" }), /task_id must be 1-128/);
      assert.match(
        await refused({ status: "finished" }),
        /status must be one of started, running, paused, done, error/,
      );
      assert.match(refusal(await client.call("report_progress")), /task_id .* missing/);
      assert.match(refusal(await client.call("get_status", { task_id: 7 })), /task_id must be a string/);
      assert.deepEqual(
        readdirSync(root).filter((one) => join(root, one) === folder),
        [],
      );
    });

    // keeps: progress-mcp-status
    it("shows the latest record of each task, of whoever reported it today or yesterday", async () => {
      const folder = newFolder();
      mkdirSync(folder);
      const written = (task_id: string, percent: number, day: string, time = "00:00:01.000Z") =>
        `${JSON.stringify({ proto: 1, eta_seconds: null, ...report({ task_id, percent }), timestamp: `${day}T${time}` })}\n`;
      const yesterday = daysBefore(today, 1);
      writeFileSync(join(folder, fileOf(daysBefore(today, 2))), written("other:old", 1, daysBefore(today, 2)));
      writeFileSync(
        join(folder, fileOf(yesterday)),
        written("other:a", 1, yesterday) + written("other:b", 2, yesterday),
      );
      writeFileSync(
        join(folder, fileOf(today)),
        `${written("other:a", 3, today, "00:00:00.000Z")}torn{\n${written("other:c", 100, today, "00:00:00.001Z")}`,
      );
      await using client = await open(folder);
      const status = async (input: object = {}) => content(await client.call("get_status", input));
      const brief = ({ tasks }: any) => tasks.map((task: any) => [task.task_id, task.percent, task.complete]);
      assert.deepEqual(brief(await status()), [
        ["other:c", 100, true],
        ["other:a", 3, false],
        ["other:b", 2, false],
      ]);
      content(await client.call("report_progress", report({ task_id: "10", percent: 5 })));
      content(await client.call("report_progress", report({ task_id: "other:b", percent: 6, status: "done" })));
      const found = await status();
      assert.deepEqual(brief(found).slice(0, 3), [
        ["other:b", 6, true],
        ["10", 5, false],
        ["other:c", 100, true],
      ]);
      for (const task of found.tasks) assert.equal(task.updated_at, task.timestamp);
      // Somebody else goes on.
      appendFileSync(join(folder, fileOf(today)), written("10", 7, today, "23:59:59.999Z"));
      assert.deepEqual(brief(await status({ task_id: "10" })), [["10", 7, false]]);
      assert.deepEqual(await status({ task_id: "nobody:knows" }), { tasks: [], total: 0 });
    });

    it("shows 100 tasks at most, and says how many there are (P25)", async () => {
      await using client = await open(newFolder());
      await Promise.all(
        Array.from({ length: 120 }, (_, index) => client.call("report_progress", report({ task_id: `x:${index}` }))),
      );
      const { tasks, total } = content(await client.call("get_status"));
      assert.equal(total, 120);
      assert.deepEqual(
        tasks.map(({ task_id }: any) => task_id),
        Array.from({ length: 100 }, (_, index) => `x:${119 - index}`),
      );
    });

    // keeps: progress-mcp-stored
    it("stores calls that come at once in the order in which they came (P14)", async () => {
      const folder = newFolder();
      await using client = await open(folder);
      const calls = Array.from({ length: 1_000 }, (_, index) =>
        index % 50 === 7
          ? client.call("get_status", { task_id: "claude:summarize" })
          : client.call(
              "report_progress",
              report({ percent: index / 10 }),
              index % 3 === 0 ? () => undefined : undefined,
            ),
      );
      const results = await Promise.all(calls);
      const expected = Array.from({ length: 1_000 }, (_, index) => index).filter((index) => index % 50 !== 7);
      assert.deepEqual(
        records(folder).map(({ percent }) => percent),
        expected.map((index) => index / 10),
      );
      // Each look sees every report that came before it, and none that came after.
      for (let index = 57; index < 1_000; index += 50) {
        assert.equal(content(results[index]).tasks[0].percent, (index - 1) / 10);
      }
      const times = records(folder).map(({ timestamp }) => Date.parse(timestamp));
      assert.deepEqual(
        times,
        times.toSorted((one, other) => one - other),
      );
    });

    // keeps: progress-mcp-notifications
    it("sends no notification that a client could read after the answer, though it gives a token (P10)", async () => {
      await using client = await open(newFolder());
      const heard: object[] = [];
      const calls = Array.from({ length: 200 }, (_, index) =>
        client.call("report_progress", report({ percent: index / 2 }), (progress) => heard.push(progress)),
      );
      for (const result of await Promise.all(calls)) content(result);
      assert.deepEqual(heard, []);
      assert.deepEqual(client.errors, []);
      assert.equal(client.said(), "");
    });

    it("answers although it cannot store, says so, warns once, and stores as soon as it can (P19)", async () => {
      const folder = newFolder();
      writeFileSync(folder, "a file in the folder's place");
      await using client = await open(folder);
      const persisted = async (percent: number) =>
        content(await client.call("report_progress", report({ percent }))).persisted;
      assert.deepEqual([await persisted(1), await persisted(2)], [false, false]);
      assert.equal(content(await client.call("get_status")).tasks[0].percent, 2);
      rmSync(folder);
      assert.equal(await persisted(3), true);
      assert.equal(content(await client.call("get_status")).tasks[0].percent, 3);
      assert.equal(records(folder).length, 1);
      assert.equal(client.said().split("\n").length - 1, 1);
      assert.match(client.said(), /not being stored in/);
    });

    // keeps: progress-sink-labels
    it("labels records with UAPB_AGENT, whatever the task is called", async () => {
      const folder = newFolder();
      await using client = await open(folder, { UAPB_AGENT: "codex" });
      content(await client.call("report_progress", report()));
      content(await client.call("report_progress", report({ task_id: "plain" })));
      assert.deepEqual(
        records(folder).map(({ agent, session_id }) => [agent, session_id]),
        [
          ["codex", "claude:summarize"],
          ["codex", "plain"],
        ],
      );
    });
  });
}
