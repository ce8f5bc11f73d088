/** Push notifications, with webhooks that listen. */
import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingHttpHeaders, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";

import { verifyWebhook } from "@nylorun/agents/a2a";
import { EXTENSIONS } from "@nylorun/protocol";
import type {
  ListTaskPushNotificationConfigsResponse,
  StreamResponse,
  TaskPushNotificationConfig,
} from "@nylorun/protocol";

import { actor } from "./agents.ts";
import { faultsOf } from "./shape.ts";
import { AT_ONCE, messageOf, serve } from "./wire.ts";
import type { Served, Wire } from "./wire.ts";

const SECRET = `whsec_${Buffer.alloc(32, 3).toString("base64")}`;
const NOWHERE = "A".repeat(22);
const CREATE = "CreateTaskPushNotificationConfig";
const GET = "GetTaskPushNotificationConfig";
const LIST = "ListTaskPushNotificationConfigs";
const DELETE = "DeleteTaskPushNotificationConfig";

interface Delivery {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Takes what comes, after it has failed as often as it is told to. */
class Webhook implements AsyncDisposable {
  readonly deliveries: Delivery[] = [];
  failing = 0;
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      void request.toArray().then((chunks: Buffer[]) => {
        this.deliveries.push({ path: request.url!, headers: request.headers, body: Buffer.concat(chunks) });
        response.writeHead(this.failing-- > 0 ? 500 : 204).end();
      });
    });
  }

  async listen(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** What has come to a path, once there are so many. */
  async at(path: string, count: number): Promise<Delivery[]> {
    const deadline = performance.now() + 30_000;
    for (;;) {
      const found = this.deliveries.filter((one) => one.path === path);
      if (found.length >= count) return found;
      if (performance.now() > deadline) throw new Error(`After 30 s ${found.length} of ${count} have come to ${path}.`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }
}

const updateOf = ({ body }: Delivery): StreamResponse => JSON.parse(body.toString()) as StreamResponse;
const stateOf = (delivery: Delivery): string | undefined => {
  const { task, statusUpdate } = updateOf(delivery);
  return (task ?? statusUpdate)?.status.state;
};

describe("push", () => {
  let webhook: Webhook;
  let served: Served;
  let ada: Wire;

  before(async () => {
    webhook = await new Webhook().listen();
    served = await serve({ agents: [actor], pushSecret: [SECRET], pushHosts: [webhook.url] });
    ada = await served.as("ada");
  });
  after(async () => {
    await served[Symbol.asyncDispose]();
    await webhook[Symbol.asyncDispose]();
  });

  const create = (taskId: string, path: string, more: object = {}): Promise<TaskPushNotificationConfig> =>
    ada.result("actor", CREATE, { taskId, url: webhook.url + path, ...more });
  const configs = async (taskId: string): Promise<readonly TaskPushNotificationConfig[]> =>
    (await ada.result<ListTaskPushNotificationConfigsResponse>("actor", LIST, { taskId })).configs ?? [];
  const asking = async (): Promise<string> => (await ada.send("actor", "ask")).id;
  const answer = (taskId: string) => ada.send("actor", "a tree", { message: { taskId } });

  describe("configs", () => {
    // keeps: a2a-3.1.7-created, a2a-3.1.8-details, a2a-3.1.9-all
    it("are made with an id, found by it, and listed", async () => {
      const taskId = await asking();
      const [one, two] = [await create(taskId, "/one"), await create(taskId, "/two", { id: "two" })];
      assert.ok(one.id);
      assert.equal(two.id, "two");
      assert.equal(one.url, `${webhook.url}/one`);
      assert.deepEqual(await ada.result("actor", GET, { taskId, id: one.id }), one);
      assert.deepEqual(
        (await configs(taskId)).map(({ id }) => id),
        [one.id, two.id],
      );
    });

    // keeps: a2a-3.1.7-persists
    it("are there until they are deleted, whatever becomes of the task", async () => {
      const taskId = await asking();
      const { id } = await create(taskId, "/persists");
      await answer(taskId);
      await ada.until("actor", taskId, "TASK_STATE_COMPLETED");
      assert.deepEqual(
        (await configs(taskId)).map((one) => one.id),
        [id],
      );
    });

    // keeps: a2a-3.1.7-not-found, a2a-3.1.8-missing
    it("of a task that is not there, or somebody else's, are -32001, as is one that is not there", async () => {
      const taskId = await asking();
      const { id } = await create(taskId, "/mine");
      const bob = await served.as("bob");
      for (const [wire, of] of [
        [ada, NOWHERE],
        [bob, taskId],
      ] as const) {
        for (const [method, params] of [
          [CREATE, { taskId: of, url: `${webhook.url}/x` }],
          [GET, { taskId: of, id }],
          [LIST, { taskId: of }],
          [DELETE, { taskId: of, id }],
        ] as const) {
          assert.equal(await wire.code("actor", method, params), -32001, method);
        }
      }
      assert.equal(await ada.code("actor", GET, { taskId, id: "another" }), -32001);
      assert.equal((await configs(taskId)).length, 1);
    });

    // keeps: a2a-3.1.10-removed, a2a-3.1.10-again
    it("that are deleted are gone, any number of times, and nothing more is sent there", async () => {
      const taskId = await asking();
      const { id } = await create(taskId, "/deleted");
      await create(taskId, "/kept");
      await webhook.at("/deleted", 1);
      for (let again = 0; again < 3; again++) {
        const { body } = await ada.call("actor", DELETE, { taskId, id });
        assert.equal(body.error, undefined);
      }
      assert.equal(await ada.code("actor", GET, { taskId, id }), -32001);
      const sent = webhook.deliveries.filter(({ path }) => path === "/deleted").length;
      await answer(taskId);
      const kept = await webhook.at("/kept", 2);
      assert.ok(kept.length >= 2);
      assert.equal(webhook.deliveries.filter(({ path }) => path === "/deleted").length, sent);
    });
  });

  describe("deliveries", () => {
    // keeps: a2a-4.3.3-credentials
    it("carry the credentials and the token of their config", async () => {
      const taskId = await asking();
      const authentication = { scheme: "Bearer", credentials: "the-very-credentials" };
      await create(taskId, "/authenticated", { token: "the-very-token", authentication });
      const [{ headers }] = (await webhook.at("/authenticated", 1)) as [Delivery];
      assert.equal(headers.authorization, "Bearer the-very-credentials");
      assert.equal(headers["x-a2a-notification-token"], "the-very-token");
    });

    // keeps: a2a-4.3.3-payload, push-sent-snapshot, push-sent-ordered
    it("are one StreamResponse each, in the order of what happened, beginning with how it stands", async () => {
      const taskId = await asking();
      await create(taskId, "/order");
      await webhook.at("/order", 1);
      await answer(taskId);
      const deadline = performance.now() + 30_000;
      const told = () => webhook.deliveries.filter(({ path }) => path === "/order");
      while (!told().some((one) => stateOf(one) === "TASK_STATE_COMPLETED")) {
        assert.ok(performance.now() < deadline);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      for (const delivery of told()) {
        assert.match(delivery.headers["content-type"]!, /^application\/a2a\+json\b/);
        assert.equal(Object.keys(updateOf(delivery)).length, 1);
        const { task } = updateOf(delivery);
        if (task !== undefined) assert.deepEqual(faultsOf("task", task), []);
      }
      const states = told()
        .map(stateOf)
        .filter((state) => state !== undefined);
      assert.equal(states[0], "TASK_STATE_INPUT_REQUIRED");
      assert.equal(states.at(-1), "TASK_STATE_COMPLETED");
      assert.ok(updateOf(told()[0]!).task, "the first one is the task as it stands");
    });

    // keeps: a2a-4.3.3-at-least-once, a2a-13.2-retries
    it("that fail come again, the same one, until they are taken", { timeout: 60_000 }, async () => {
      const failing = await new Webhook().listen();
      await using _ = failing;
      await using other = await serve({ agents: [actor], pushSecret: [SECRET], pushHosts: [failing.url] });
      const caller = await other.as("ada");
      failing.failing = 1;
      const { id: taskId } = await caller.send("actor", "ask");
      await caller.result("actor", CREATE, { taskId, url: `${failing.url}/again` });
      const [first, second] = await failing.at("/again", 2);
      assert.equal(second!.headers["webhook-id"], first!.headers["webhook-id"]);
      assert.deepEqual(updateOf(second!).task?.id, updateOf(first!).task?.id);
    });

    // keeps: a2a-13.2-timeout
    it("that nobody answers are given up after 10 to 30 seconds", { timeout: 90_000 }, async () => {
      const cut = Promise.withResolvers<number>();
      const silent = createServer((request, response) => {
        const began = performance.now();
        request.resume();
        response.on("close", () => cut.resolve(performance.now() - began));
      });
      silent.listen(0, "127.0.0.1");
      await once(silent, "listening");
      const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
      try {
        await using other = await serve({ agents: [actor], pushSecret: [SECRET], pushHosts: [url] });
        const caller = await other.as("ada");
        const { id: taskId } = await caller.send("actor", "ask");
        await caller.result("actor", CREATE, { taskId, url });
        const took = await cut.promise;
        assert.ok(took >= 10_000 && took <= 30_000, `it was cut after ${took} ms`);
      } finally {
        silent.close();
        silent.closeAllConnections();
      }
    });

    // keeps: push-sent-signed
    it("are signed over their very bytes, with the secret and with a key whose public half is published", async () => {
      const taskId = await asking();
      await create(taskId, "/signed", { token: "t" });
      const [delivery] = (await webhook.at("/signed", 1)) as [Delivery];
      const hook = await verifyWebhook(delivery, { secrets: [SECRET], token: "t" });
      assert.equal(hook.taskId, taskId);
      const { "webhook-id": id, "webhook-timestamp": stamp, "webhook-signature": signatures } = delivery.headers;
      const published = await ada.get("/.well-known/nylorun-webhook-keys.json");
      const { keys } = published.body as unknown as { keys: readonly { kty: string; crv: string; x: string }[] };
      const signed = Buffer.concat([Buffer.from(`${id as string}.${stamp as string}.`), delivery.body]);
      const v1a = (signatures as string).split(" ").filter((one) => one.startsWith("v1a,"));
      const fits = v1a.some((one) =>
        keys.some((key) =>
          verify(
            null,
            signed,
            createPublicKey({ key, format: "jwk" }),
            Buffer.from(one.slice("v1a,".length), "base64"),
          ),
        ),
      );
      assert.ok(fits, `none of ${v1a.length} v1a signatures fits one of ${keys.length} published keys`);
      assert.ok(!signed.includes(Buffer.from(SECRET.slice(6))));
    });

    it("come for a config that came with the message, too", async () => {
      const configuration = { ...AT_ONCE, taskPushNotificationConfig: { url: `${webhook.url}/inline` } };
      await ada.result("actor", "SendMessage", { message: messageOf("Hello"), configuration });
      const deadline = performance.now() + 30_000;
      while (!webhook.deliveries.some((one) => one.path === "/inline" && stateOf(one) === "TASK_STATE_COMPLETED")) {
        assert.ok(performance.now() < deadline);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    });

    // keeps: push-sent-extensions
    it("hold no data of extensions that the request did not activate", async () => {
      const { id: taskId } = await ada.send("actor", "approve");
      await create(taskId, "/plain");
      await ada.result(
        "actor",
        CREATE,
        { taskId, url: `${webhook.url}/active` },
        { headers: { "a2a-extensions": EXTENSIONS.interactions } },
      );
      const [plain] = await webhook.at("/plain", 1);
      const [active] = await webhook.at("/active", 1);
      assert.ok(!plain!.body.toString().includes(EXTENSIONS.interactions));
      assert.ok(active!.body.toString().includes(EXTENSIONS.interactions));
      for (const other of [EXTENSIONS.telemetry, EXTENSIONS.progress])
        assert.ok(!active!.body.toString().includes(other));
    });
  });
});
