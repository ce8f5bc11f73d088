/** A Runtime to be fuzzed: tasks in several states to aim at, and whether anything was written since. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent as HttpAgent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";

import { OutcomeUnknown, reply } from "@nylorun/agents";
import { EXTENSIONS } from "@nylorun/protocol";
import type { OpenInteraction, Task } from "@nylorun/protocol";
import { startRuntime } from "@nylorun/runtime";
import type { Runtime } from "@nylorun/runtime";
import { Client } from "pg";

import { makeAgent } from "../conformance/agents.ts";
import { Wire } from "../conformance/wire.ts";

export interface HttpInput {
  readonly method: string;
  readonly path: string;
  /** `@ada`, `@bob` and `@operator` stand for their keys; see {@link Served.fill}. */
  readonly headers: Readonly<Record<string, string>>;
  /** One character a byte. */
  readonly body: string;
}

export interface HttpAnswer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

const agent = makeAgent(
  "target",
  async (turn) => {
    if (turn.text.startsWith("ask"))
      return turn.ask({ prompt: "What?", schema: { type: ["string", "number", "object"] } });
    if (turn.text.startsWith("approve")) return turn.approve({ prompt: "Do it?" });
    if (turn.text.startsWith("lose")) {
      return turn.effect("lose", () => {
        throw new OutcomeUnknown("Lost.");
      });
    }
    if (turn.text.startsWith("hang")) {
      return new Promise<string>((resolve) => turn.signal.addEventListener("abort", () => resolve("")));
    }
    if (turn.text === "file") await turn.file("notes.txt", "0123456789");
    if (turn.text.startsWith("message")) return reply(turn.text);
    return { text: turn.text, parts: turn.parts.length };
  },
  { inputModes: ["*/*"] },
);

const URI = EXTENSIONS.interactions;
/** Where webhooks may be, beside the one that takes everything. */
export const HOSTS = ["hooks.example.com", "*.example.org", "http://plain.example.com:8080"];
/** In milliseconds: nothing here takes as long. */
const PATIENCE = 30_000;

/** Changes with each write to what a Runtime keeps. */
interface Version {
  now(): Promise<string>;
  close(): Promise<void>;
}

export class Served implements AsyncDisposable {
  readonly runtime: Runtime;
  readonly ada: Wire;
  readonly #names: ReadonlyMap<string, string>;
  readonly #version: Version;
  readonly #resources: AsyncDisposableStack;
  readonly #agent = new HttpAgent({ keepAlive: true, maxSockets: 4 });

  private constructor(parts: {
    runtime: Runtime;
    ada: Wire;
    names: ReadonlyMap<string, string>;
    version: Version;
    resources: AsyncDisposableStack;
  }) {
    this.runtime = parts.runtime;
    this.ada = parts.ada;
    this.#names = parts.names;
    this.#version = parts.version;
    this.#resources = parts.resources;
  }

  /** @param databaseUrl Where everything is kept. Default: in a file. */
  static async start(databaseUrl?: string): Promise<Served> {
    await using resources = new AsyncDisposableStack();
    const folder = mkdtempSync(join(tmpdir(), "nylorun-fuzz-"));
    resources.defer(() => rmSync(folder, { recursive: true }));
    const home = join(folder, "home");
    // A webhook that takes everything at once, so that nothing is tried again while others are looked at.
    const webhook = createServer((incoming, response) => {
      incoming.resume();
      response.writeHead(204).end();
    });
    webhook.listen(0, "127.0.0.1");
    await once(webhook, "listening");
    resources.defer(() => {
      webhook.close();
      webhook.closeAllConnections();
    });
    const hook = `http://127.0.0.1:${(webhook.address() as AddressInfo).port}`;
    const runtime = resources.use(
      await startRuntime({
        agents: [agent],
        home,
        port: 0,
        logLevel: "silent",
        stopGraceMs: 0,
        a2aWaitMs: 200,
        bodyBytes: 65_536,
        pushSecret: [`whsec_${Buffer.alloc(32, 1).toString("base64")}`],
        pushHosts: [hook, ...HOSTS],
        databaseUrl,
      }),
    );
    const keyOf = (subject: string) => runtime.addKey({ role: "subject", subject });
    const [ada, bob] = [new Wire(runtime.url, await keyOf("ada")), new Wire(runtime.url, await keyOf("bob"))];
    const open = async (wire: Wire, text: string): Promise<{ task: string; interaction: string }> => {
      const headers = { "a2a-extensions": URI };
      const { id } = await wire.send("target", text);
      await wire.until("target", id, text === "ask" ? "TASK_STATE_INPUT_REQUIRED" : "TASK_STATE_AUTH_REQUIRED");
      const { status } = await wire.result<Task>("target", "GetTask", { id }, { headers });
      const { interactionId } = status.message!.metadata![URI] as OpenInteraction;
      return { task: id, interaction: interactionId };
    };
    const [ask, approve, bobs] = [await open(ada, "ask"), await open(ada, "approve"), await open(bob, "approve")];
    const running = await ada.send("target", "hang");
    const lost = await ada.send("target", "lose");
    const names = new Map([
      ["@ada", ada.key],
      ["@bob", bob.key],
      ["@operator", await runtime.addKey({ role: "operator" })],
      ["@asking", ask.task],
      ["@question", ask.interaction],
      ["@approving", approve.task],
      ["@approval", approve.interaction],
      ["@bobs", bobs.task],
      ["@bobsapproval", bobs.interaction],
      ["@done", (await ada.send("target", "Hello", { message: { contextId: "talk" } })).id],
      ["@lost", lost.id],
      ["@hook", hook],
      ["@running", running.id],
    ]);
    const version =
      databaseUrl === undefined ? fileVersion(join(home, "nylorun.db")) : await sharedVersion(databaseUrl);
    resources.defer(() => version.close());
    return new Served({ runtime, ada, names, version, resources: resources.move() });
  }

  /** Puts what stands behind the names in their places. */
  fill(text: string): string {
    return text.replaceAll(/@[a-z]+/g, (name) => this.#names.get(name) ?? name);
  }

  /** Another one, once anything has been written to the store. */
  version(): Promise<string> {
    return this.#version.now();
  }

  /** The version once nothing has been written for a moment: what was accepted before may still be at work. */
  async quiet(): Promise<string> {
    const deadline = performance.now() + PATIENCE;
    for (let last = await this.version(); ;) {
      await delay(20);
      const now = await this.version();
      if (now === last || performance.now() > deadline) return now;
      last = now;
    }
  }

  /** @throws When there is no answer in time. */
  ask({ method, path, headers, body }: HttpInput): Promise<HttpAnswer> {
    const { hostname, port } = new URL(this.runtime.url);
    const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
    const sent = request(
      {
        hostname,
        port,
        method,
        path: this.fill(path),
        headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, this.fill(value)])),
        agent: this.#agent,
        signal: AbortSignal.timeout(PATIENCE),
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => {
          chunks.push(chunk);
          // A stream of events goes on for ever: its beginning is enough.
          if (response.headers["content-type"] === "text/event-stream") response.destroy();
        });
        response.on("error", reject);
        response.on("close", () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode!, type: response.headers["content-type"] ?? "", text });
        });
      },
    );
    sent.on("error", reject);
    sent.end(Buffer.from(this.fill(body), "latin1"));
    return promise;
  }

  /** Whether Node's client sends such a request at all. */
  static canSend({ path, headers }: HttpInput): boolean {
    return (
      /^\/[\x21-\x7e]*$/.test(path) &&
      Object.entries(headers).every(
        ([name, value]) =>
          /^[a-z0-9-]+$/i.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value) && value.trim() === value,
      )
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy();
    await this.#resources.disposeAsync();
  }
}

/** Of a file: SQLite tells each reader when others have written. */
function fileVersion(file: string): Version {
  const database = new DatabaseSync(file, { readOnly: true });
  const version = database.prepare("PRAGMA data_version");
  return { now: async () => String(Object.values(version.get()!)[0]), close: async () => database.close() };
}

/** What callers can change. Not PostgreSQL's own number of the next write: a refusal may have locked a row, and takes one. */
const CONTENT = `
  SELECT concat_ws(' ', (SELECT count(*) FROM contexts), (SELECT concat(count(*), ' ', sum(revision)) FROM turns), (SELECT count(*) FROM messages),
    (SELECT concat(count(*), ' ', sum(revision)) FROM push_configs), (SELECT count(*) FROM api_keys WHERE revoked_at IS NULL)) AS content`;

async function sharedVersion(connectionString: string): Promise<Version> {
  const client = new Client({ connectionString });
  await client.connect();
  await client.query("SET search_path TO nylorun");
  const now = async () => {
    const { rows } = await client.query<{ content: string }>(CONTENT);
    return rows[0]!.content;
  };
  return { now, close: () => client.end() };
}

/** What no answer may hold: where something stands in the code, and what the system said of it. */
const INSIDE = /\n\s+at |node:internal|\.ts:\d|\/packages\/|SQLITE|ENOENT|EACCES/;

/** @throws When an answer is none that a caller may be given. */
export function checkAnswer({ status, type, text }: HttpAnswer): void {
  if (status >= 500) throw new Error(`answered ${status}: ${text.slice(0, 500)}`);
  if (INSIDE.test(text)) throw new Error(`tells of the inside: ${text.slice(0, 500)}`);
  if (type.startsWith("application/json") && text !== "") JSON.parse(text);
}

/**
 * Asks, and sees that a refusal changes nothing. Chance may have something else written at the same moment, so it has to happen again.
 *
 * @throws When the answer is none, or a refusal changes something.
 */
export async function checkRequest(
  served: Served,
  input: HttpInput,
  isRefusal: (answer: HttpAnswer) => boolean,
): Promise<HttpAnswer> {
  let before = await served.version();
  let answer = await served.ask(input);
  checkAnswer(answer);
  for (let again = 0; again < 3 && isRefusal(answer) && (await served.version()) !== before; again++) {
    before = await served.quiet();
    answer = await served.ask(input);
    await delay(10);
    if (again === 2 && isRefusal(answer) && (await served.version()) !== before) {
      throw new Error(`is refused and changes something: ${answer.status} ${answer.text.slice(0, 300)}`);
    }
  }
  return answer;
}
