/** The progress routes: reports near good ones, questions of all kinds, streams. */
import * as fc from "fast-check";

import { latin1, near, nearBytes } from "../edit.ts";
import { fitting } from "../schema.ts";
import { checkRequest, Served } from "../served.ts";
import type { HttpInput } from "../served.ts";
import type { Input, StartTarget } from "../target.ts";

const events = fitting("schema.json");
const tasks = fc.constantFrom("claude:one", "constructor", "10", "a:b:c");
const report = fc.oneof(
  events,
  fc.tuple(events, tasks).map(([event, task_id]) => ({ ...(event as object), task_id })),
);
const bodies = fc.oneof(
  { weight: 5, arbitrary: near(report).map((value) => latin1(JSON.stringify(value) ?? "")) },
  { weight: 2, arbitrary: nearBytes(report.map((value) => latin1(JSON.stringify(value)))) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 100 }).map(latin1) },
);
const bearer = fc.constantFrom("Bearer @ada", "Bearer @ada", "Bearer @bob", "Bearer @operator", "Bearer x");
const query = fc
  .dictionary(
    fc.constantFrom("task", "limit", "constructor", "x"),
    fc.oneof(
      fc.constantFrom("1", "1000", "1001", "0", "-1", "1e3", "", "claude:one"),
      fc.string({ maxLength: 20, unit: "binary-ascii" }),
    ),
    { maxKeys: 3 },
  )
  .map((fields) => new URLSearchParams(fields).toString());

const inputs = fc.oneof(
  fc.record({
    method: fc.constant("POST"),
    path: fc.constantFrom("/v1/progress", "/v1/progress?task=x"),
    headers: fc.record({
      authorization: bearer,
      "content-type": fc.constantFrom("application/json", "application/json", "text/plain", "application/json; x=y"),
    }),
    body: bodies,
  }),
  fc.record({
    method: fc.constantFrom("GET", "HEAD", "PUT", "DELETE", "OPTIONS"),
    path: fc
      .tuple(fc.constantFrom("/v1/progress", "/v1/progress/events", "/v1/progress/x"), query)
      .map(([at, search]) => `${at}?${search}`),
    headers: fc.record(
      {
        authorization: bearer,
        "last-event-id": fc.oneof(
          fc.constantFrom("0", "-1", "1e9", "x"),
          fc.string({ unit: "binary-ascii", maxLength: 20 }),
        ),
        accept: fc.constantFrom("text/event-stream", "*/*"),
      },
      { requiredKeys: ["authorization"] },
    ),
    body: fc.constant(""),
  }),
);

export const startProgress: StartTarget = async () => {
  const served = await Served.start();
  const everything = async (): Promise<string> => {
    const headers = { authorization: "Bearer @operator" };
    return (await served.ask({ method: "GET", path: "/v1/progress?limit=1000", headers, body: "" })).text;
  };
  return {
    inputs,
    async check(input: Input) {
      const given = input as HttpInput;
      if (!Served.canSend(given)) return;
      // A task that is still at work may show something new at the same moment, so it has to happen again.
      for (let again = 0; again < 3; again++) {
        const before = await everything();
        const answer = await checkRequest(served, given, ({ status }) => status >= 400);
        if (answer.status < 400 || (await everything()) === before) return;
        await served.quiet();
      }
      throw new Error("is refused and changes what is shown");
    },
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
};
