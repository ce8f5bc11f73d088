import { EXTENSIONS } from "@nylorun/protocol";
/** The JSON-RPC endpoint: requests near good ones, and bytes near those. */
import * as fc from "fast-check";

import { faultsOf } from "../../conformance/shape.ts";
import { startPostgres } from "../../postgres/server.ts";
import { latin1, near, nearBytes } from "../edit.ts";
import { fitting } from "../schema.ts";
import { checkRequest, Served } from "../served.ts";
import type { HttpAnswer, HttpInput } from "../served.ts";
import type { Input, StartTarget } from "../target.ts";

const URIS = Object.values(EXTENSIONS);
const ids = fc.constantFrom("@asking", "@approving", "@bobs", "@done", "@lost", "AAAAAAAAAAAAAAAAAAAAAA", "x", "");
const texts = fc.oneof(fc.constantFrom("Hello", "ask", "approve", "message"), fc.string({ maxLength: 20 }));

const parts = fc.oneof(
  fc.record({ text: texts }),
  fc.record({ data: fc.jsonValue() }),
  fc.record({ raw: fc.base64String(), mediaType: fc.constantFrom("text/plain", "image/png", "") }),
  fc.record({ url: fc.webUrl(), filename: fc.string(), mediaType: fc.constant("text/csv") }),
);
const answers = fc.oneof(
  fitting("a2a/interactions.v1.json", "interactionAnswer"),
  fc.record({ interactionId: fc.constantFrom("@question", "@approval", "@bobsapproval"), approved: fc.boolean() }),
  fc.record({ interactionId: fc.constantFrom("@question", "@approval"), value: fc.jsonValue() }),
);
const data = fc.oneof(
  fc.constant({}),
  answers.map((answer) => ({ [EXTENSIONS.interactions]: answer })),
  fitting("a2a/progress.v1.json").map((plan) => ({ [EXTENSIONS.progress]: plan })),
  fc.constant({ delivery: "reject" }),
);
const message = fc.record(
  {
    messageId: fc.oneof(fc.uuid(), fc.constantFrom("again", "")),
    role: fc.constantFrom("ROLE_USER", "ROLE_AGENT", "ROLE_UNSPECIFIED", 1),
    parts: fc.array(parts, { minLength: 1, maxLength: 3 }),
    contextId: fc.constantFrom("talk", "other"),
    taskId: ids,
    metadata: data,
    extensions: fc.subarray(URIS),
    referenceTaskIds: fc.array(ids, { maxLength: 3 }),
  },
  { requiredKeys: ["messageId", "role", "parts"] },
);
const hook = fc.record(
  {
    url: fc.oneof(
      fc.constantFrom("@hook/x", "@hook/x", "@hook/x?token=1", "http://127.0.0.1:1/", "https://[::ffff:10.0.0.1]/"),
      fc.webUrl(),
    ),
    id: fc.oneof(fc.string(), fc.constantFrom("a\0", "\uDC00", "a".repeat(257))),
    token: fc.string(),
    authentication: fc.constant({ scheme: "Bearer", credentials: "x" }),
  },
  { requiredKeys: ["url"] },
);
const sending = fc.record(
  {
    message,
    configuration: fc.record(
      {
        returnImmediately: fc.boolean(),
        historyLength: fc.nat(5),
        acceptedOutputModes: fc.array(fc.constantFrom("text/plain", "*/*")),
        taskPushNotificationConfig: hook,
      },
      { requiredKeys: [] },
    ),
    metadata: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 2 }),
    tenant: fc.constant("acme"),
  },
  { requiredKeys: ["message"] },
);
const listing = fc.record(
  {
    contextId: fc.constantFrom("talk", ""),
    status: fc.constantFrom("TASK_STATE_COMPLETED", "TASK_STATE_WORKING", "", "TASK_STATE_UNSPECIFIED", 3),
    pageSize: fc.integer({ min: -1, max: 101 }),
    pageToken: fc.oneof(fc.base64String(), fc.constant("")),
    historyLength: fc.nat(3),
    statusTimestampAfter: fc.date({ noInvalidDate: false }).map((date) => JSON.parse(JSON.stringify(date)) as unknown),
    includeArtifacts: fc.boolean(),
  },
  { requiredKeys: [] },
);
const calls: fc.Arbitrary<readonly [string, unknown]> = fc.oneof(
  { weight: 4, arbitrary: sending.map((params) => ["SendMessage", params] as const) },
  { weight: 1, arbitrary: sending.map((params) => ["SendStreamingMessage", params] as const) },
  { weight: 2, arbitrary: listing.map((params) => ["ListTasks", params] as const) },
  {
    weight: 2,
    arbitrary: fc
      .record({ id: ids, historyLength: fc.nat(3) }, { requiredKeys: ["id"] })
      .map((params) => ["GetTask", params] as const),
  },
  // Of Bob's tasks, and of those that have ended: the others are aimed at by what follows.
  { weight: 1, arbitrary: fc.constantFrom("@bobs", "@done", "x").map((id) => ["CancelTask", { id }] as const) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        fc.constantFrom(
          "CreateTaskPushNotificationConfig",
          "GetTaskPushNotificationConfig",
          "ListTaskPushNotificationConfigs",
          "DeleteTaskPushNotificationConfig",
          "GetExtendedAgentCard",
          "SubscribeToTask",
          "constructor",
          "message/send",
        ),
        fc.tuple(hook, ids).map(([config, taskId]) => ({ ...config, taskId })),
      )
      .map(([method, params]) => [method, params] as const),
  },
);

const envelopes = calls.map(([method, params]) => ({ jsonrpc: "2.0", id: 1, method, params }));
const bodies = fc.oneof(
  { weight: 6, arbitrary: near(envelopes).map((value) => latin1(JSON.stringify(value) ?? "")) },
  { weight: 2, arbitrary: nearBytes(envelopes.map((value) => latin1(JSON.stringify(value)))) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 200 }).map(latin1) },
);
const headerSets = fc.record(
  {
    authorization: fc.constantFrom("Bearer @ada", "Bearer @ada", "Bearer @ada", "Bearer @operator", "Bearer x", ""),
    "content-type": fc.constantFrom(
      "application/json",
      "application/json",
      "application/json; charset=utf-8",
      "text/plain",
    ),
    "a2a-version": fc.constantFrom("1.0", "1.0", "1.0", "0.3", "1.0.5", "", "9"),
    "a2a-extensions": fc.oneof(
      fc.subarray(URIS).map((some) => some.join(",")),
      fc.constantFrom(",,,", "x, ,y"),
    ),
    traceparent: fc.oneof(
      fc.constant("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
      fc.constantFrom("x", "00-0-0-0"),
    ),
  },
  { requiredKeys: ["authorization", "content-type", "a2a-version"] },
);
const paths = fc.constantFrom(
  ...Array.from({ length: 12 }, () => "/v1/a2a/agents/target/"),
  "/v1/a2a/agents/target",
  "/v1/a2a/agents/target?A2A-Version=1.0",
  "/v1/a2a/agents/other/",
  "/v1/a2a/agents/%ff/",
  "/v1/a2a/agents/target%2f",
  "/v1/a2a/agents//",
);

const inputs = fc.record({ method: fc.constant("POST"), path: paths, headers: headerSets, body: bodies });

/** Of HTTP, or of JSON-RPC. */
function isRefusal({ status, text }: HttpAnswer): boolean {
  return status >= 400 || (status === 200 && text.includes('"error":{"code":-'));
}

const LIST = '{"jsonrpc":"2.0","id":1,"method":"ListTasks"}';

export const startA2a: StartTarget = async (corpus) => {
  const served = await Served.start();
  return {
    inputs: nearAnyOf(corpus),
    check: async (input) => void (await check(served, input as HttpInput)),
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
};

/** The same requests to two Runtimes, of which one keeps everything in PostgreSQL: they are answered alike, whatever a database can hold. */
export const startA2aPostgres: StartTarget = async (corpus) => {
  await using resources = new AsyncDisposableStack();
  const postgres = resources.use(await startPostgres());
  const shared = resources.use(await Served.start(postgres.url));
  const local = resources.use(await Served.start());
  const all = resources.move();
  return {
    inputs: nearAnyOf(corpus),
    async check(input) {
      const [one, other] = [await check(shared, input as HttpInput), await check(local, input as HttpInput)];
      if (one !== other)
        throw new Error(`is answered ${one} where PostgreSQL keeps it, and ${other} where a file does`);
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
};

function nearAnyOf(corpus: readonly Input[]): fc.Arbitrary<Input> {
  const kept = [LIST, ...corpus.map((input) => (input as HttpInput).body)];
  const near_ = inputs.chain((input) => nearBytes(fc.constantFrom(...kept)).map((body) => ({ ...input, body })));
  return fc.oneof({ weight: 8, arbitrary: inputs }, { weight: 1, arbitrary: near_ });
}

/** How it is answered: a status of HTTP, and the code of an error. */
async function check(served: Served, given: HttpInput): Promise<string> {
  if (!Served.canSend(given)) return "not at all";
  const answer = await checkRequest(served, given, isRefusal);
  if (answer.status !== 200) return String(answer.status);
  const body = JSON.parse(answer.text) as { readonly error?: { readonly code: number } };
  const faults = faultsOf("response", body);
  if (faults.length > 0) throw new Error(`${faults.join("; ")}: ${answer.text.slice(0, 300)}`);
  if (body.error?.code === -32603) throw new Error(`an internal error: ${answer.text}`);
  return body.error === undefined ? "200" : `200 (${body.error.code})`;
}
