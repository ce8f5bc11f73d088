/** The socket on which a serving process takes commands: requests near those of the `nylorun` command. Each is done or refused, and the next one is answered. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";

import * as fc from "fast-check";

import { latin1, near, nearBytes } from "../edit.ts";
import { checkAnswer, Served } from "../served.ts";
import type { HttpAnswer } from "../served.ts";
import type { Input, StartTarget } from "../target.ts";

interface Command {
  readonly method: string;
  /** Below `/v1/operator`. */
  readonly route: string;
  readonly type: string;
  /** One character a byte. */
  readonly body: string;
  /** Sent as it is, instead; one character a byte. */
  readonly bytes?: string;
}

/** Nothing is done to what others of these commands aim at; and no file is made, as each of these paths is there. */
const bodies = fc.oneof(
  fc.record({
    role: fc.constantFrom("subject", "operator", "root"),
    subject: fc.oneof(fc.constant("eve"), fc.string()),
  }),
  fc.record({ what: fc.constant("subject"), subject: fc.constantFrom("nobody", "a b", "\0") }),
  fc.record({ what: fc.constant("task"), taskId: fc.constantFrom("@lost", "x", "AAAAAAAAAAAAAAAAAAAAAA") }),
  fc.record({
    what: fc.constant("context"),
    subject: fc.constant("eve"),
    agent: fc.constantFrom("target", "\0", "x".repeat(4_001)),
    contextId: fc.constantFrom("talk", "\0", "\uD800"),
  }),
  fc.record({
    outcome: fc.constantFrom("completed", "failed", "retry", "x"),
    value: fc.jsonValue(),
    message: fc.string(),
  }),
  fc.record({ reason: fc.string() }),
);
const files = fc
  .constantFrom("/", "/dev/null", "/nowhere/at/all", "relative", "", "a\0b", "/\0", "x".repeat(5_000))
  .map((file) => ({ file }));
const routes = fc.oneof(
  fc.constantFrom(
    "/process",
    "/keys",
    "/effects",
    "/turns/held",
    "/deliveries?state=waiting",
    "/deliveries?state=x",
    "/erase",
    "/webhook-keys/rotate",
    "/keys",
    "/nothing",
  ),
  fc
    .tuple(
      fc.constantFrom("/keys/", "/effects/", "/turns/", "/deliveries/"),
      fc.constantFrom("@approving", "x", "999999", "%00", "%ff", "%", "..", "9".repeat(30)),
      fc.constantFrom("", "/resolve", "/release", "/fail", "/resend"),
    )
    .map((parts) => parts.join("")),
);
const jsons = near(bodies).map((value) => latin1(JSON.stringify(value) ?? ""));
const commands = fc.record(
  {
    method: fc.constantFrom("GET", "POST", "POST", "POST", "DELETE", "PUT"),
    route: routes,
    type: fc.constantFrom("application/json", "application/json", "text/plain"),
    body: fc.oneof({ weight: 4, arbitrary: jsons }, { weight: 1, arbitrary: nearBytes(jsons) }),
    bytes: nearBytes(
      fc.constant(
        "POST /v1/operator/keys HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
      ),
    ),
  },
  { requiredKeys: ["method", "route", "type", "body"] },
);
const backups = files.map((file) => ({
  method: "POST",
  route: "/backup",
  type: "application/json",
  body: latin1(JSON.stringify(file)),
}));

/** How long bytes that are no request are listened to, in milliseconds. */
const LISTEN = 10;
const PATIENCE = 20_000;

export const startControl: StartTarget = async () => {
  const served = await Served.start();
  const { control } = JSON.parse(readFileSync(join(served.runtime.home, "owner.json"), "utf8")) as { control: string };
  const ask = ({ method, route, type, body }: Command): Promise<HttpAnswer> => {
    const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
    const sent = request(
      {
        socketPath: control,
        agent: false,
        method,
        path: `/v1/operator${served.fill(route)}`,
        headers: { "content-type": type },
        signal: AbortSignal.timeout(PATIENCE),
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () =>
          resolve({
            status: response.statusCode!,
            type: response.headers["content-type"] ?? "",
            text: Buffer.concat(chunks).toString(),
          }),
        );
      },
    );
    sent.on("error", reject);
    if (method === "GET" || method === "DELETE") sent.end();
    else sent.end(Buffer.from(served.fill(body), "latin1"));
    return promise;
  };
  const sendRaw = async (bytes: string): Promise<void> => {
    const socket = connect(control);
    socket.on("error", () => undefined);
    const closed = once(socket, "close");
    socket.write(Buffer.from(bytes, "latin1"));
    await new Promise((go) => setTimeout(go, LISTEN));
    socket.destroy();
    await closed;
  };
  return {
    inputs: fc.oneof({ weight: 8, arbitrary: commands }, { weight: 1, arbitrary: backups }),
    async check(input: Input) {
      const command = input as Command;
      if (command.bytes !== undefined) await sendRaw(command.bytes);
      const before = await served.version();
      const answer = await ask(command);
      checkAnswer(answer);
      if (answer.status >= 400 && (await served.version()) !== before) {
        // Something else may have been written at that moment.
        const quiet = await served.quiet();
        if ((await ask(command)).status >= 400 && (await served.version()) !== quiet) {
          throw new Error(`is refused and changes something: ${answer.text.slice(0, 300)}`);
        }
      }
      const alive = await ask({ method: "GET", route: "/process", type: "", body: "" });
      if ((JSON.parse(alive.text) as { pid?: unknown }).pid !== process.pid)
        throw new Error(`then it says ${alive.text}`);
    },
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
};
