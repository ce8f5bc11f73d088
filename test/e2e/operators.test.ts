/**
 * What people do for a Runtime that runs by itself: somebody answers a task from the command line, and an operator says what became
 * of an effect that a process did not live to see the end of. Real processes, ended by kill -9.
 */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { EXTENSIONS } from "@nylorun/protocol";
import type { Message, Task } from "@nylorun/protocol";

import { startNodes } from "../cluster/nodes.ts";
import type { Nodes } from "../cluster/nodes.ts";
import { messageOf } from "./callers.ts";

const PAYER = fileURLToPath(new URL("agents/payer.ts", import.meta.url));

/** A home, its keys and the ledger that its agent writes. */
class Office implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "nylorun-operators-"));
  readonly ledger = join(this.folder, "ledger");
  #nodes!: Nodes;
  #ada = "";
  #operator = "";

  async open(): Promise<void> {
    this.#nodes = await startNodes({ folder: this.folder, agents: PAYER, env: { PAYER_LEDGER: this.ledger } });
    this.#ada = await this.#nodes.key("ada");
    this.#operator = await this.#nodes.key(undefined);
    writeFileSync(join(this.folder, "ada.key"), this.#ada);
  }

  serve(): Promise<void> {
    return this.#nodes.revive();
  }

  /** All of them; or the one that makes a payment. */
  async kill(payment?: Payment): Promise<void> {
    if (payment === undefined) return this.#nodes.kill();
    await this.#nodes.node(this.#nodes.nodeOf(payment.pid)!).kill();
  }

  get payments(): readonly Payment[] {
    if (!existsSync(this.ledger)) return [];
    // What is still being written is no line yet.
    const lines = readFileSync(this.ledger, "utf8").split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Payment);
  }

  /** The bank does not answer from here on; or it does. */
  set stuck(is: boolean) {
    if (is) writeFileSync(`${this.ledger}.stuck`, "");
    else rmSync(`${this.ledger}.stuck`);
  }

  async #fetch(path: string, key: string, body?: object): Promise<{ readonly status: number; readonly json: unknown }> {
    const response = await fetch(`${this.#nodes.url}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "a2a-version": "1.0",
        "a2a-extensions": `${EXTENSIONS.effects}, ${EXTENSIONS.interactions}`,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    return { status: response.status, json: text === "" ? undefined : JSON.parse(text) };
  }

  async #call<Result>(method: string, params: object): Promise<Result> {
    const { json } = await this.#fetch("/v1/a2a/agents/payer/", this.#ada, { jsonrpc: "2.0", id: 1, method, params });
    const { result, error } = json as { result?: Result; error?: unknown };
    if (result === undefined) throw new Error(`${method} was answered ${JSON.stringify(error)}`);
    return result;
  }

  async send(text: string, message: Partial<Message> = {}): Promise<Task> {
    const configuration = { returnImmediately: message.taskId === undefined ? undefined : true };
    const params = { message: messageOf(text, message), configuration };
    return (await this.#call<{ task: Task }>("SendMessage", params)).task;
  }

  get(id: string): Promise<Task> {
    return this.#call("GetTask", { id });
  }

  /** The task, once it is so. */
  async until(id: string, is: (task: Task) => boolean): Promise<Task> {
    for (const deadline = performance.now() + 50_000; performance.now() < deadline; await delay(25)) {
      const task = await this.get(id);
      if (is(task)) return task;
    }
    throw new Error(`The task did not come to it: ${JSON.stringify(await this.get(id))}`);
  }

  /** As the operator. */
  async operate(path: string, body?: object): Promise<{ readonly status: number; readonly json: unknown }> {
    return this.#fetch(`/v1/operator${path}`, this.#operator, body);
  }

  async lost(): Promise<readonly Lost[]> {
    const { status, json } = await this.operate("/effects");
    assert.equal(status, 200);
    return (json as { effects: readonly Lost[] }).effects;
  }

  /** As ada, at the command line. */
  answer(task: string, ...flags: readonly string[]) {
    return this.#nodes.run("answer", task, "--key-file", join(this.folder, "ada.key"), ...flags);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#nodes?.[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

interface Payment {
  readonly what: string;
  readonly key: string;
  /** The process that makes it. */
  readonly pid: number;
}

interface Lost {
  readonly effectId: string;
  readonly taskId: string;
  readonly name: string;
  readonly why: string;
  readonly state: string;
  readonly subject: string;
}

const outputOf = ({ artifacts }: Task) => artifacts?.[0]?.parts[0]?.text;
const isCompleted = ({ status }: Task) => status.state === "TASK_STATE_COMPLETED";

describe("a task that waits for an approval", () => {
  it("is approved from the command line, though words did not approve it, and after a kill -9", async () => {
    await using office = new Office();
    await office.open();
    const { id } = await office.send("the rent");
    const told = await office.send("approve", { taskId: id });
    assert.equal(told.status.state, "TASK_STATE_AUTH_REQUIRED");
    await office.kill();
    await office.serve();
    const { code, stdout } = await office.answer(id, "--approve");
    assert.deepEqual([code, stdout], [0, "Approved.\nThe task is completed:\n\n  Paid the rent, receipt 1.\n"]);
    assert.deepEqual(
      office.payments.map(({ what }) => what),
      ["the rent"],
    );
    const again = await office.answer(id, "--approve");
    assert.deepEqual([again.code, again.stderr], [1, "nylorun: The task waits for nothing: it is completed.\n"]);
    assert.equal(office.payments.length, 1);
  });
});

describe("an effect whose process was killed in the middle of it", () => {
  for (const [title, resolution, output, payments] of [
    [
      "is completed, when the operator finds it in the ledger",
      { outcome: "completed", value: { number: 99 } },
      "Paid the rent, receipt 99.",
      1,
    ],
    ["has failed, when the operator says so", { outcome: "failed", message: "No money." }, "Not paid: No money.", 1],
    [
      "is tried once more with the same key, when the operator allows it",
      { outcome: "retry" },
      "Paid the rent, receipt 1.",
      2,
    ],
  ] as const) {
    it(`${title}; and not before`, async () => {
      await using office = new Office();
      await office.open();
      office.stuck = true;
      const { id } = await office.send("the rent");
      const answering = office.answer(id, "--approve");
      await office.until(id, () => office.payments.length === 1);
      await office.kill(office.payments[0]);
      await answering.catch(() => undefined);

      await office.serve();
      const uncertain = await office.until(id, (task) => task.metadata?.[EXTENSIONS.effects] !== undefined);
      assert.equal(uncertain.status.state, "TASK_STATE_WORKING");
      const [effect, ...others] = await office.lost();
      assert.ok(effect !== undefined && others.length === 0);
      assert.deepEqual(
        [effect.taskId, effect.name, effect.why, effect.state, effect.subject],
        [id, "pay", "died", "uncertain", "ada"],
      );
      assert.deepEqual(uncertain.metadata?.[EXTENSIONS.effects], { uncertain: effect.effectId });
      // One more process does not make it certain.
      await office.kill();
      await office.serve();
      assert.deepEqual(await office.lost(), [effect]);
      assert.equal(office.payments.length, 1, "nobody has tried it again");

      office.stuck = false;
      assert.equal((await office.operate(`/effects/${effect.effectId}/resolve`, resolution)).status, 204);
      assert.equal(outputOf(await office.until(id, isCompleted)), output);
      assert.equal(office.payments.length, payments);
      assert.equal(new Set(office.payments.map(({ key }) => key)).size, 1);
      assert.deepEqual(await office.lost(), []);
      assert.equal((await office.operate(`/effects/${effect.effectId}/resolve`, resolution)).status, 404);
    });
  }
});
