import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { defineAgent, OutcomeUnknown } from "@nylorun/agents";
import type { AgentDefinition, Turn } from "@nylorun/agents";
import { EXTENSIONS } from "@nylorun/protocol";
import { startRuntime } from "@nylorun/runtime";
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";

import { Place } from "../cli/nylorun.ts";
import type { Serving } from "../cli/nylorun.ts";
import { attributesOf, Collector } from "./collector.ts";
import type { ExportedSpan } from "./collector.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER = "00f067aa0ba902b7";
const SECRET = "xyzzy";
const [INTERNAL, SERVER] = [1, 2];

/** Looks something up, asks for approval, naps, and pays: with words in everything that must not get out. */
const PAYS = `
  const found = await turn.effect("find", () => ({ order: "${SECRET} found" }), { idempotent: true });
  const approved = await turn.approve({ prompt: "Pay ${SECRET} prompt?", detail: { note: "${SECRET} detail" } });
  await turn.sleep(50);
  await turn.effect("pay", () => {
    if (turn.text.includes("break")) throw new RangeError("${SECRET} error");
    return "${SECRET} receipt";
  });
  turn.usage({ tokens: 7 });
  return "${SECRET} output " + approved;`;

function exporting(collector: Collector): Readonly<Record<string, string>> {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_BSP_SCHEDULE_DELAY: "20",
  };
}

async function call(serving: Serving, key: string, params: object, traceparent?: string): Promise<Task> {
  const response = await fetch(`${await serving.ready}/v1/a2a/agents/pays/`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "a2a-version": "1.0",
      "a2a-extensions": `${EXTENSIONS.interactions}, ${EXTENSIONS.telemetry}`,
      ...(traceparent !== undefined && { traceparent }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params }),
  });
  const { result, error } = (await response.json()) as { result?: { task: Task }; error?: unknown };
  assert.ok(result, JSON.stringify(error));
  return result.task;
}

interface Task {
  readonly id: string;
  readonly contextId: string;
  readonly status: {
    readonly state: string;
    readonly message: { readonly metadata: Record<string, { interactionId: string }> };
  };
  readonly metadata?: Record<string, { traceId: string }>;
}

function message(text: string, more: object = {}): object {
  return { message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }], ...more } };
}

function approve(task: Task): object {
  const { interactionId } = task.status.message.metadata[EXTENSIONS.interactions]!;
  const metadata = { [EXTENSIONS.interactions]: { interactionId, approved: true } };
  return message(`${SECRET} answer`, { taskId: task.id, metadata, extensions: [EXTENSIONS.interactions] });
}

/** A span as its parent's name, an arrow, its own name. */
function family(spans: readonly ExportedSpan[]): string[] {
  const names = new Map(spans.map(({ spanId, name }) => [spanId, name]));
  return spans.map(({ name, parentSpanId }) => `${names.get(parentSpanId ?? "") ?? parentSpanId ?? "-"} > ${name}`);
}

describe("a program that embeds a Runtime", () => {
  let folder: string;
  let exporter: InMemorySpanExporter;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "nylorun-tracing-"));
    exporter = new InMemorySpanExporter();
  });
  afterEach(() => {
    trace.disable();
    context.disable();
    rmSync(folder, { recursive: true });
  });

  function register(): void {
    trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  }

  /** Serves an agent that runs this, for as long as `use` takes. */
  async function serve(run: AgentDefinition["run"], use: (rpc: Rpc) => Promise<void>): Promise<void> {
    const skills = [{ id: "pay", name: "Pay", description: "Pays.", tags: ["pay"] }];
    const agent = defineAgent({ id: "pays", name: "Pays", description: "Pays.", version: "1.0.0", skills, run });
    const home = join(folder, crypto.randomUUID());
    await using runtime = await startRuntime({ agents: [agent], home, port: 0, logLevel: "silent", stopGraceMs: 0 });
    const authorization = `Bearer ${await runtime.addKey({ role: "subject", subject: "ada" })}`;
    await use(async (method, params) => {
      const response = await fetch(`${runtime.url}/v1/a2a/agents/pays/`, {
        method: "POST",
        headers: { authorization, "content-type": "application/json", "a2a-version": "1.0" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      });
      const { result, error } = (await response.json()) as { result?: unknown; error?: unknown };
      assert.ok(result, JSON.stringify(error));
      return result;
    });
  }
  type Rpc = (method: string, params: object) => Promise<unknown>;

  /** Attributes of the spans with this name, once there are so many. */
  async function attributes(name: string, count: number): Promise<readonly Readonly<Record<string, unknown>>[]> {
    for (let tries = 0; tries < 2000; tries++) {
      const found = exporter.getFinishedSpans().filter((span) => span.name === name);
      if (found.length >= count) return found.map((span) => span.attributes);
      await delay(10);
    }
    throw new Error(`There were never ${count} spans ${name}.`);
  }

  it("has turns traced by the SDK that it registered, and what its libraries do in effects below them", async () => {
    const run = (turn: Turn) => turn.effect("pay", () => trace.getTracer("library").startSpan("charge").end());
    await serve(run, async (rpc) => void (await rpc("SendMessage", message("Pay"))));
    register();
    assert.equal(exporter.getFinishedSpans().length, 0, "there was nobody to tell");
    await serve(run, async (rpc) => void (await rpc("SendMessage", message("Pay"))));
    const spans = exporter.getFinishedSpans();
    const names = new Map(spans.map((span) => [span.spanContext().spanId, span.name]));
    assert.deepEqual(
      spans.map(({ name, parentSpanContext }) => `${names.get(parentSpanContext?.spanId ?? "") ?? "-"} > ${name}`),
      [
        "effect pay > charge",
        "invoke_agent Pays > effect pay",
        "SendMessage pays > invoke_agent Pays",
        "- > SendMessage pays",
      ],
    );
  });

  it("sees each attempt of an effect, and that an outcome is lost", async () => {
    register();
    let attempts = 0;
    const run = async (turn: Turn) => {
      const slowOnce = () => (++attempts === 1 ? new Promise(() => undefined) : "done");
      await turn.effect("repeat", slowOnce, { idempotent: true, timeoutMs: 30 });
      await turn.effect("lose", () => Promise.reject(new OutcomeUnknown("No answer.")));
    };
    await serve(run, async (rpc) => {
      await rpc("SendMessage", { ...message("Pay"), configuration: { returnImmediately: true } });
      const told = ["nylorun.effect.attempt", "nylorun.effect.outcome", "error.type"];
      const repeated = await attributes("effect repeat", 2);
      assert.deepEqual(
        repeated.map((of) => told.map((name) => of[name])),
        [
          [1, "unknown", "timeout"],
          [2, "completed", undefined],
        ],
      );
      const [lost] = await attributes("effect lose", 1);
      assert.deepEqual(
        told.map((name) => lost![name]),
        [1, "unknown", "unknown"],
      );
      assert.equal((await attributes("invoke_agent Pays", 1))[0]!["nylorun.turn.state"], "uncertain");
    });
  });

  it("sees how waits end: in time, too late, or with their turn", async () => {
    register();
    const run = async (turn: Turn) => {
      await turn.approve({ prompt: "Soon?", expiresInMs: 30 }).catch(() => undefined);
      await turn.ask({ prompt: "When?" });
    };
    await serve(run, async (rpc) => {
      const configuration = { returnImmediately: true };
      const { task } = (await rpc("SendMessage", { ...message("Pay"), configuration })) as { task: Task };
      assert.equal((await attributes("wait approval", 1))[0]!["nylorun.wait.end"], "expired");
      // It may go on before it was parked, or be resumed: what tells is that the question is there.
      for (let tries = 0; tries < 2000; tries++) {
        const { status } = (await rpc("GetTask", { id: task.id })) as Task;
        if (status.state === "TASK_STATE_INPUT_REQUIRED") break;
        await delay(10);
      }
      await rpc("CancelTask", { id: task.id });
      assert.equal((await attributes("wait question", 1))[0]!["nylorun.wait.end"], "withdrawn");
    });
  });
});

describe("a Runtime that is told where traces go", () => {
  it("exports a turn as one trace below the caller's, over a kill and a restart, with effects and waits, and no word of anybody's", async () => {
    await using place = new Place();
    await using collector = await Collector.start();
    const env = exporting(collector);
    const key = await place.addKey("--subject", "ada");
    const agent = place.agent("pays", PAYS);
    const first = await place.serve([agent], env);
    const asked = await call(first, key, message(`${SECRET} text`), `00-${TRACE}-${CALLER}-01`);
    assert.equal(asked.status.state, "TASK_STATE_AUTH_REQUIRED");
    await collector.until((spans) => spans.length === 3);
    await first.kill("SIGKILL");

    const second = await place.serve([agent], env);
    const paid = await call(second, key, approve(asked), `00-${"e".repeat(32)}-${"f".repeat(16)}-01`);
    assert.equal(paid.status.state, "TASK_STATE_COMPLETED");
    assert.equal(paid.metadata?.[EXTENSIONS.telemetry]?.traceId, TRACE);
    const spans = await collector.until((all) => all.some(({ name }) => name === "effect pay") && all.length === 9);
    await second.kill("SIGTERM");

    assert.deepEqual(family(spans.filter(({ traceId }) => traceId === TRACE)), [
      `${CALLER} > SendMessage pays`,
      "SendMessage pays > invoke_agent pays",
      "invoke_agent pays > effect find",
      "SendMessage pays > wait approval",
      "SendMessage pays > invoke_agent pays",
      "SendMessage pays > wait sleep",
      "SendMessage pays > invoke_agent pays",
      "invoke_agent pays > effect pay",
    ]);
    const [other, ...none] = spans.filter(({ traceId }) => traceId !== TRACE);
    assert.deepEqual(none, []);
    assert.deepEqual(
      [other!.name, other!.traceId, other!.parentSpanId],
      ["SendMessage pays", "e".repeat(32), "f".repeat(16)],
    );

    const by = (name: string, n = 0) => spans.filter((span) => span.name === name && span.traceId === TRACE)[n]!;
    assert.deepEqual(attributesOf(by("SendMessage pays")), {
      "rpc.system.name": "jsonrpc",
      "rpc.method": "SendMessage",
      "messaging.system": "a2a",
      "messaging.operation.name": "SendMessage",
      "messaging.operation.type": "receive",
      "messaging.destination.name": "pays",
      "gen_ai.conversation.id": asked.contextId,
      "nylorun.task.id": asked.id,
      "nylorun.task.state": "TASK_STATE_AUTH_REQUIRED",
    });
    const run = {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.id": "pays",
      "gen_ai.agent.name": "pays",
      "gen_ai.agent.version": "1.0.0",
      "gen_ai.conversation.id": asked.contextId,
      "nylorun.task.id": asked.id,
    };
    assert.deepEqual(
      [0, 1, 2].map((n) => attributesOf(by("invoke_agent pays", n))),
      [
        { ...run, "nylorun.run.resumed": false, "nylorun.turn.state": "waiting" },
        { ...run, "nylorun.run.resumed": true, "nylorun.turn.state": "waiting" },
        { ...run, "nylorun.run.resumed": true, "nylorun.turn.state": "completed" },
      ],
    );
    const { "nylorun.effect.id": id, ...find } = attributesOf(by("effect find"));
    assert.match(String(id), /^[\w-]{22}$/);
    assert.deepEqual(find, {
      "nylorun.effect.name": "find",
      "nylorun.effect.attempt": 1,
      "nylorun.effect.idempotent": true,
      "nylorun.effect.outcome": "completed",
    });
    const wait = by("wait approval");
    assert.deepEqual(attributesOf(wait), {
      "nylorun.task.id": asked.id,
      "nylorun.wait.kind": "approval",
      "nylorun.wait.end": "answered",
    });
    assert.deepEqual(
      wait.links?.map(({ spanId }) => spanId),
      [other!.spanId],
      "it is linked to what answered it",
    );
    assert.equal(attributesOf(by("wait sleep"))["nylorun.wait.end"], "elapsed");
    const slept = Number(BigInt(by("wait sleep").endTimeUnixNano) - BigInt(by("wait sleep").startTimeUnixNano)) / 1e6;
    assert.ok(slept >= 50 && slept < 10_000, String(slept));
    // The wait began in the process that was killed, and ended in the other one.
    assert.ok(BigInt(wait.startTimeUnixNano) < BigInt(by("invoke_agent pays").endTimeUnixNano));
    assert.ok(BigInt(wait.endTimeUnixNano) > BigInt(by("invoke_agent pays").endTimeUnixNano));
    assert.deepEqual(
      spans.map(({ name, kind }) => kind === (name === "SendMessage pays" ? SERVER : INTERNAL)),
      spans.map(() => true),
    );
    assert.deepEqual(
      [collector.resource["service.name"], collector.resource["service.version"]],
      ["nylorun", "0.37.0-beta"],
    );
    for (const { body, path } of collector.received) {
      assert.equal(path, "/v1/traces");
      assert.ok(!body.toString().includes(SECRET), body.toString());
    }
    assert.equal(second.stderr.split("\n").filter((line) => line.includes('"warn"')).length, 0, second.stderr);
  });

  it("names the kind of an error, and none of its words; and the trace that it began itself is the one that the caller is told", async () => {
    await using place = new Place();
    await using collector = await Collector.start();
    const key = await place.addKey("--subject", "ada");
    const serving = await place.serve([place.agent("pays", PAYS)], {
      ...exporting(collector),
      OTEL_SERVICE_NAME: "refunds",
    });
    const asked = await call(serving, key, message(`break ${SECRET}`));
    const failed = await call(serving, key, approve(asked));
    assert.equal(failed.status.state, "TASK_STATE_FAILED");
    const spans = await collector.until((all) =>
      all.some((span) => attributesOf(span)["nylorun.turn.state"] === "failed"),
    );
    const traceId = failed.metadata?.[EXTENSIONS.telemetry]?.traceId;
    const first = spans.find(({ name }) => name === "SendMessage pays")!;
    assert.deepEqual([first.traceId, first.parentSpanId], [traceId, undefined]);
    const effect = spans.find(({ name }) => name === "effect pay")!;
    assert.deepEqual(
      [effect.status, attributesOf(effect)["error.type"], attributesOf(effect)["nylorun.effect.outcome"]],
      [{ code: 2 }, "RangeError", "failed"],
    );
    const run = spans.findLast(({ name }) => name === "invoke_agent pays")!;
    assert.deepEqual([run.status, attributesOf(run)["error.type"]], [{ code: 2 }, "EffectError"]);
    assert.ok(spans.every((span) => span.traceId === traceId || span.name === "SendMessage pays"));
    assert.equal(collector.resource["service.name"], "refunds");
    assert.ok(!collector.received.some(({ body }) => body.toString().includes(SECRET)));
  });

  it("follows a caller who does not want to be traced", async () => {
    await using place = new Place();
    await using collector = await Collector.start();
    const key = await place.addKey("--subject", "ada");
    const serving = await place.serve([place.agent("pays", PAYS)], exporting(collector));
    await call(serving, key, message("Pay"), `00-${"d".repeat(32)}-${CALLER}-00`);
    await call(serving, key, message("Pay"), `00-${TRACE}-${CALLER}-01`);
    const spans = await collector.until((all) => all.length >= 3);
    assert.ok(spans.every(({ traceId }) => traceId === TRACE));
  });

  it("sends protobuf by default, to where the environment says, with the headers that it says, and the rest when it stops", async () => {
    await using place = new Place();
    await using collector = await Collector.start();
    const key = await place.addKey("--subject", "ada");
    const serving = await place.serve([place.agent("pays", 'return "Paid.";')], {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/here`,
      OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=ada",
    });
    await call(serving, key, message("Pay"), `00-${TRACE}-${CALLER}-01`);
    assert.equal(await serving.kill("SIGTERM"), 0);
    assert.equal(collector.received.length, 1, "at once, though batches go every five seconds");
    const [{ path, headers, body }] = collector.received as [(typeof collector.received)[number]];
    assert.deepEqual([path, headers["content-type"], headers["x-tenant"]], ["/here", "application/x-protobuf", "ada"]);
    assert.ok(body.includes(Buffer.from(TRACE, "hex")) && body.includes("invoke_agent pays"));
  });

  for (const [title, env, warning] of [
    ["no endpoint", { OTEL_EXPORTER_OTLP_ENDPOINT: "" }, undefined],
    ["OTEL_SDK_DISABLED", { OTEL_SDK_DISABLED: "true" }, undefined],
    ["OTEL_TRACES_EXPORTER=none", { OTEL_TRACES_EXPORTER: "none" }, undefined],
    ["OTEL_TRACES_SAMPLER=always_off", { OTEL_TRACES_SAMPLER: "always_off" }, undefined],
    [
      "a protocol that is not built in",
      { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
      /OTEL_EXPORTER_OTLP_PROTOCOL must be http\/protobuf or http\/json; it is \\"grpc\\"/,
    ],
  ] as const) {
    it(`exports nothing with ${title}, and serves all the same`, async () => {
      await using place = new Place();
      await using collector = await Collector.start();
      const key = await place.addKey("--subject", "ada");
      const serving = await place.serve([place.agent("pays", 'return "Paid.";')], { ...exporting(collector), ...env });
      const task = await call(serving, key, message("Pay"), `00-${TRACE}-${CALLER}-01`);
      assert.equal(task.metadata?.[EXTENSIONS.telemetry]?.traceId, TRACE);
      assert.equal(await serving.kill("SIGTERM"), 0);
      assert.equal(collector.received.length, 0);
      if (warning === undefined) assert.doesNotMatch(serving.stderr, /"level":"(warn|error)"/);
      else assert.match(serving.stderr, warning);
    });
  }

  it("serves on when the collector is down, says so once, and stops in time", async () => {
    await using place = new Place();
    const key = await place.addKey("--subject", "ada");
    const serving = await place.serve([place.agent("pays", 'return "Paid.";')], {
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
      OTEL_BSP_SCHEDULE_DELAY: "10",
      OTEL_EXPORTER_OTLP_TIMEOUT: "100",
    });
    for (let n = 0; n < 5; n++) {
      await call(serving, key, message("Pay"));
      await delay(150);
    }
    const began = performance.now();
    assert.equal(await serving.kill("SIGTERM"), 0);
    assert.ok(performance.now() - began < 6_000);
    const warnings = serving.stderr.split("\n").filter((line) => line.includes('"level":"warn"'));
    assert.equal(warnings.filter((line) => line.includes("Traces: ")).length, 1, serving.stderr);
  });
});
