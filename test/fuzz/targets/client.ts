/**
 * `createA2aClient`, against an agent that answers anything: cards, answers and events that are near good ones. Whatever comes, each call ends
 * soon, with what its type says or an error by its name; and credentials go nowhere but to the agent.
 */
import { A2aClientError, createA2aClient } from "@nylorun/agents/a2a";
import type { A2aTask, TaskView } from "@nylorun/agents/a2a";
import { EXTENSIONS, TASK_STATES } from "@nylorun/protocol";
import * as fc from "fast-check";

import { latin1, near, nearBytes } from "../edit.ts";
import type { Input, StartTarget } from "../target.ts";

interface Said {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** What stands for `result`, or what comes instead of an answer: bytes, one character each. */
  readonly result?: unknown;
  readonly bytes?: string;
  /** Events of a stream, instead. */
  readonly events?: readonly unknown[];
}

interface Agent {
  readonly card: unknown;
  readonly said: readonly Said[];
}

const AT = "https://agent.example/a2a/";
const PATIENCE = 10_000;

const part = fc.oneof(
  fc.constantFrom<unknown>(
    { text: "x" },
    { data: { a: [1] } },
    { url: "https://files.example/x" },
    { raw: "AAAA", filename: "a.bin" },
  ),
);
const message = fc.record({
  messageId: fc.constant("m"),
  role: fc.constant("ROLE_AGENT"),
  parts: fc.array(part, { maxLength: 2 }),
});
const extensionData = fc.constantFrom<unknown>(
  {},
  { [EXTENSIONS.interactions]: { interactionId: "i", kind: "approval", prompt: "?", detail: {} } },
  { [EXTENSIONS.interactions]: { interactionId: "i", kind: "question", prompt: "?", detail: { choices: ["a"] } } },
);
const taskData = fc.constantFrom<unknown>(
  {},
  { [EXTENSIONS.progress]: { steps: [{ label: "a", state: "active" }] } },
  { [EXTENSIONS.effects]: { uncertain: "e" } },
  { [EXTENSIONS.telemetry]: { steps: 1, traceId: "0".repeat(32) } },
);
const status = fc.tuple(fc.constantFrom(...TASK_STATES), message, extensionData).map(([state, words, metadata]) => ({
  state,
  timestamp: "2026-10-14T02:00:00.000Z",
  message: { ...words, metadata },
}));
const artifacts = fc.constantFrom<unknown>(
  [],
  [
    {
      artifactId: "a",
      parts: [{ text: "x" }],
      extensions: [EXTENSIONS.files],
      metadata: { [EXTENSIONS.files]: { kind: "file", version: 1, size: 1, sha256: "0".repeat(64), path: "x.txt" } },
    },
  ],
);
const tasks = fc.record({
  id: fc.constant("t"),
  contextId: fc.constant("c"),
  status,
  artifacts,
  history: fc.array(message, { maxLength: 1 }),
  metadata: taskData,
});
const results = fc.oneof(
  tasks.map((one) => ({ task: one })),
  tasks,
  message.map((one) => ({ message: one })),
  fc.record({
    tasks: fc.array(tasks, { maxLength: 2 }),
    nextPageToken: fc.constantFrom("", "n"),
    pageSize: fc.constant(50),
    totalSize: fc.constant(2),
  }),
  fc.constantFrom<unknown>(
    { configs: [{ id: "p", url: "https://x.example/" }], nextPageToken: "" },
    { id: "p", taskId: "t", url: "https://x.example/" },
    null,
    {},
  ),
);
const events = fc.oneof(
  tasks.map((one) => ({ task: one })),
  status.map((one) => ({ statusUpdate: { taskId: "t", contextId: "c", status: one } })),
  fc.constant({
    artifactUpdate: {
      taskId: "t",
      contextId: "c",
      append: true,
      artifact: { artifactId: "a", parts: [{ text: "x" }] },
    },
  }),
);
const cards = fc
  .record({
    streaming: fc.boolean(),
    extensions: fc.constantFrom(
      [],
      Object.values(EXTENSIONS).map((uri) => ({ uri, required: false })),
    ),
    url: fc.constantFrom(AT, AT, "http://agent.example/", "data:application/json,{}", "file:///etc/passwd"),
    protocolBinding: fc.constantFrom("JSONRPC", "JSONRPC", "HTTP+JSON"),
  })
  .map(({ streaming, extensions, url, protocolBinding }) => ({
    name: "Agent",
    description: "x",
    version: "1",
    supportedInterfaces: [{ url, protocolBinding, protocolVersion: "1.0" }],
    capabilities: { streaming, extensions },
    skills: [],
    defaultInputModes: [],
    defaultOutputModes: [],
  }));
const headers = fc.dictionary(
  fc.constantFrom("retry-after", "cache-control", "etag", "location", "content-type"),
  fc.constantFrom(
    "999999999",
    "Thu, 01 Jan 1970 00:00:00 GMT",
    "x",
    "max-age=0",
    "text/event-stream",
    "application/json",
  ),
  { maxKeys: 2 },
);
const said: fc.Arbitrary<Said> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ status: fc.constant(200), headers: fc.constant({}), result: near(results) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      status: fc.constant(200),
      headers: fc.constant({}),
      events: fc.array(near(events), { maxLength: 4 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      status: fc.constantFrom(200, 200, 204, 302, 400, 401, 404, 429, 500, 503),
      headers,
      bytes: nearBytes(results.map((one) => latin1(JSON.stringify({ jsonrpc: "2.0", id: 1, result: one })))),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      status: fc.constant(200),
      headers: fc.constant({}),
      bytes: near(
        fc.constant({
          jsonrpc: "2.0",
          id: null,
          error: {
            code: -32001,
            message: "x",
            data: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "R", metadata: {} }],
          },
        }),
      ).map((one) => latin1(JSON.stringify(one) ?? "")),
    }),
  },
);

export const startClient: StartTarget = async () => ({
  inputs: fc.record({
    card: fc.oneof({ weight: 2, arbitrary: cards }, { weight: 1, arbitrary: near(cards) }),
    said: fc.array(said, { minLength: 1, maxLength: 5 }),
  }),
  async check(input: Input) {
    const { card, said: answers } = input as Agent;
    let asked = 0;
    const fetch = (async (to: unknown, init?: RequestInit) => {
      const url = to instanceof Request ? to.url : String(to);
      init?.signal?.throwIfAborted();
      if (url.endsWith("agent-card.json")) return new Response(JSON.stringify(card) ?? "");
      const at = URL.parse(url);
      if (new Headers(init?.headers).has("authorization") && at?.protocol === "http:")
        throw new Broken("credentials go out in the clear");
      if (asked++ > 2_000) throw new Broken("asks for ever");
      return respond(answers[asked % answers.length]!, init);
    }) as typeof globalThis.fetch;
    await soon(async () => {
      const client = await createA2aClient({
        url: AT,
        auth: "key",
        fetch,
        timeoutMs: 1_000,
        sendTimeoutMs: 1_000,
        patienceMs: 0,
        pollMs: 1,
        silenceMs: 50,
        maxAnswerBytes: 100_000,
      });
      const sent = await client.send("Hello").catch(named);
      if (sent !== undefined) await use(sent);
      await client.task("t").then(use).catch(named);
      let count = 0;
      for await (const one of client.tasks()) {
        checkView(one);
        if (++count > 20) break;
      }
    }).catch(named);
    if (Object.keys(Object.prototype).length > 0) throw new Error("every object has become another");
  },
  async [Symbol.asyncDispose]() {},
});

/** Not what an agent has answered: it is not to be taken for that. */
class Broken extends Error {}

async function use(task: A2aTask): Promise<void> {
  checkView(task);
  if (task.id === undefined) return;
  await task.refresh().then(checkView).catch(named);
  await task.push.list().catch(named);
  await task.approve(true).then(checkView).catch(named);
  await task.answer("a").then(checkView).catch(named);
  let count = 0;
  const enough = AbortSignal.timeout(200);
  try {
    for await (const now of task.updates({ signal: enough })) {
      checkView(now);
      if (++count > 5) break;
    }
  } catch (error) {
    if (error !== enough.reason) named(error);
  }
  for (const file of task.files) await file.bytes({ maxBytes: 1_000 }).catch(named);
  await task.cancel().then(checkView).catch(named);
}

function respond(
  { status: code, headers: given, result, bytes, events: some }: Said,
  init: RequestInit | undefined,
): Response {
  const asked = typeof init?.body === "string" ? (JSON.parse(init.body) as { id?: unknown }) : {};
  const envelope = (one: unknown) => (asked.id === undefined ? one : { jsonrpc: "2.0", id: asked.id, result: one });
  if (code === 204) return new Response(null, { status: code });
  if (bytes !== undefined) return new Response(Buffer.from(bytes, "latin1"), { status: code, headers: given });
  if (some === undefined)
    return new Response(JSON.stringify(envelope(result)), { headers: { "content-type": "application/json" } });
  const text = some.map((one) => `data: ${JSON.stringify(envelope(one))}\n\n`).join("");
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

/** @throws What is none of the client's own errors. */
function named(error: unknown): undefined {
  if (
    error instanceof A2aClientError &&
    /^[a-z0-9]+\.[a-zA-Z]+$/.test(error.code) &&
    !error.code.includes("undefined")
  ) {
    for (let cause = error.cause; cause instanceof Error; cause = cause.cause) if (cause instanceof Broken) throw cause;
    return undefined;
  }
  throw error;
}

function checkView(view: TaskView): void {
  const { id, contextId, state, ended, waiting, since, text, plan, interaction, files, totals } = view;
  const isText = (one: unknown) => one === undefined || typeof one === "string";
  const wrong = (field: string) =>
    new Error(
      `${field} is none: ${JSON.stringify({ id, contextId, state, since, text, plan, interaction, totals }).slice(0, 300)}`,
    );
  for (const [field, one] of Object.entries({ id, contextId, since, text })) if (!isText(one)) throw wrong(field);
  if (!TASK_STATES.includes(state)) throw wrong("state");
  if (typeof ended !== "boolean" || typeof waiting !== "boolean") throw wrong("ended");
  if (plan !== undefined && !plan.steps.every(({ label }) => typeof label === "string")) throw wrong("plan");
  if (interaction !== undefined && (typeof interaction.prompt !== "string" || !isText(interaction.id)))
    throw wrong("interaction");
  for (const { name, mediaType, url, size } of files) {
    if (typeof name !== "string" || typeof mediaType !== "string" || !isText(url)) throw wrong("files");
    if (size !== undefined && !Number.isFinite(size)) throw wrong("files");
  }
  if (totals !== undefined && !Object.values(totals).every((one) => one === undefined || Number.isFinite(one)))
    throw wrong("totals");
}

async function soon(work: () => Promise<void>): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Broken(`is not done within ${PATIENCE} ms`)), PATIENCE);
  try {
    await Promise.race([work(), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
