/** The figures of a process that serves: each is there, says what it should after work that is known, and is in the docs. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";

import { databaseUrl } from "../cluster/nodes.ts";
import { atOnce, messageOf } from "./callers.ts";
import { Process } from "./process.ts";

describe("the figures of a Runtime", () => {
  let runtime: Process;
  let texts: readonly string[];
  let figures: ReadonlyMap<string, number>;
  let waiting: Promise<unknown>;

  before(async () => {
    runtime = await Process.start({ settings: { maxRunningTurns: 2 } });
    const most = 2 * runtime.nodes;
    const ada = await runtime.as("ada");
    for (let sent = 0; sent < 3; sent++) await ada.send("moods", "Hello");
    await ada.send("moods", "fail");
    const { id } = await ada.send("moods", "ask");
    await ada.result("moods", "CancelTask", { id });
    await ada.send("moods", "ask");
    await ada.send("moods", "sleep", atOnce);
    await ada.get("moods", id);
    await ada.list("moods");
    assert.equal(await ada.refusal("moods", "GetTask", { id: "nobody's" }), -32001);
    assert.equal(await ada.refusal("moods", "Nonsense", {}), -32601);
    assert.equal((await fetch(`${runtime.url}/v1/a2a/agents/moods/`, { method: "POST" })).status, 401);
    // One runs and is waited for, others run, and one, of another context, has no room.
    waiting = ada.send("moods", "stay").catch(() => undefined);
    await runtime.measured((now) => now.get("nylorun_waits") === 1);
    for (let running = 2; running <= most; running++) {
      await ada.send("moods", "stay", atOnce);
      // It may be another node that has room.
      await runtime.measured((now) => now.get("nylorun_turns_running") === running);
    }
    const queued = await ada.send("moods", "stay", atOnce);
    await ada.send("moods", "Hello", { message: messageOf("Hello", { contextId: queued.contextId! }), ...atOnce });
    await runtime.measured(
      (now) => now.get("nylorun_queue_contexts") === 1 && now.get("nylorun_queue_age_seconds")! > 0,
    );
    figures = await runtime.metrics();
    texts = await runtime.metricsTexts();
  });
  after(async () => {
    await runtime[Symbol.asyncDispose]();
    await waiting;
  });

  const withPrefix = (prefix: string) => Object.fromEntries([...figures].filter(([name]) => name.startsWith(prefix)));

  it("count the turns that are stored by the state that callers are shown", () => {
    assert.deepEqual(withPrefix("nylorun_turns{"), {
      'nylorun_turns{state="submitted"}': 1,
      'nylorun_turns{state="working"}': 2 + 2 * runtime.nodes,
      'nylorun_turns{state="completed"}': 3,
      'nylorun_turns{state="failed"}': 1,
      'nylorun_turns{state="canceled"}': 1,
      'nylorun_turns{state="input_required"}': 1,
      'nylorun_turns{state="rejected"}': 0,
      'nylorun_turns{state="auth_required"}': 0,
    });
  });

  it("count what runs, waits and is queued at the moment", () => {
    assert.equal(figures.get("nylorun_turns_running"), 2 * runtime.nodes);
    assert.equal(figures.get("nylorun_waits"), 1);
    assert.equal(figures.get("nylorun_queue_contexts"), 1);
    assert.ok(figures.get("nylorun_queue_age_seconds")! > 0 && figures.get("nylorun_queue_age_seconds")! < 60);
    assert.ok(figures.get("nylorun_connections")! >= 2);
  });

  it("count calls by method and by how they were answered; what a caller makes up is no label", () => {
    assert.deepEqual(withPrefix("nylorun_calls_total"), {
      'nylorun_calls_total{method="SendMessage",answer="ok"}': 8 + 2 * runtime.nodes,
      'nylorun_calls_total{method="CancelTask",answer="ok"}': 1,
      'nylorun_calls_total{method="GetTask",answer="ok"}': 1,
      'nylorun_calls_total{method="ListTasks",answer="ok"}': 1,
      'nylorun_calls_total{method="GetTask",answer="-32001"}': 1,
      'nylorun_calls_total{method="unknown",answer="-32601"}': 1,
      'nylorun_calls_total{method="unknown",answer="request.unauthenticated"}': 1,
    });
  });

  it("count who is nobody, and what has not happened as nothing", () => {
    assert.equal(figures.get("nylorun_authentication_failures_total"), 1);
    assert.equal(figures.get("nylorun_files_removed_total"), 0);
  });

  it("tell how long writes take, as a histogram whose parts add up", () => {
    const buckets = [...figures].filter(([name]) => name.startsWith("nylorun_store_write_seconds_bucket"));
    const counts = buckets.map(([, count]) => count);
    assert.deepEqual(
      counts,
      counts.toSorted((one, other) => one - other),
    );
    assert.match(buckets.at(-1)![0], /le="\+Inf"/);
    assert.equal(counts.at(-1), figures.get("nylorun_store_write_seconds_count"));
    assert.ok(counts.at(-1)! >= 20);
    assert.ok(figures.get("nylorun_store_write_seconds_sum")! > 0);
  });

  it("tell what the disk, the event loop and the process take", () => {
    assert.ok(figures.get("nylorun_store_bytes")! > 50_000);
    // What of its space is free, PostgreSQL does not tell.
    if (databaseUrl === undefined) assert.ok(figures.get("nylorun_store_free_bytes")! >= 0);
    assert.ok(figures.get("nylorun_disk_free_bytes")! > 1_000_000);
    for (const quantile of ["0.5", "0.99", "1"]) {
      const seconds = figures.get(`nylorun_event_loop_delay_seconds{quantile="${quantile}"}`)!;
      assert.ok(seconds >= 0 && seconds < 60, quantile);
    }
    assert.ok(figures.get("process_resident_memory_bytes")! > 30_000_000);
    assert.ok(figures.get("process_cpu_seconds_total")! > 0.1);
    const started = figures.get("process_start_time_seconds")!;
    assert.ok(Math.abs(Date.now() / 1000 - started) < 120);
  });

  it("are in Prometheus's text form: each series once, under its help and its type", () => {
    const [text = ""] = texts;
    const types = new Map(
      [...text.matchAll(/^# TYPE (\S+) (gauge|counter|histogram)$/gm)].map(([, name, type]) => [name, type]),
    );
    const helps = new Set([...text.matchAll(/^# HELP (\S+) \S.*\.$/gm)].map(([, name]) => name));
    assert.deepEqual(new Set(types.keys()), helps);
    const series = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    for (const line of series) {
      const [, name, histogram] = /^(\w+?)(_bucket|_sum|_count)?(?:\{[^}]*\})? \S+$/.exec(line) ?? assert.fail(line);
      const type = types.get(name) ?? types.get(`${name}${histogram ?? ""}`);
      assert.ok(type !== undefined, line);
      if (type === "counter") assert.match(line, /^\w+_total/);
    }
    const names = series.map((line) => line.slice(0, line.lastIndexOf(" ")));
    assert.equal(new Set(names).size, names.length);
  });

  it("are all in docs/operate.md, and nothing else is", () => {
    const docs = readFileSync(new URL("../../docs/operate.md", import.meta.url), "utf8");
    const cells = [...docs.matchAll(/^\| (`(?:nylorun|process)_.*?) \|/gm)].map(([, cell]) => cell);
    const documented = new Set(cells.flatMap((cell) => [...cell!.matchAll(/`(\w+)/g)].map(([, name]) => name)));
    const served = new Set(texts.flatMap((text) => [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name)));
    // There is no secret to tell anybody anything with.
    served.add("nylorun_push_attempts_total");
    assert.deepEqual(documented, served);
  });
});
