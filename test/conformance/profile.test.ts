/** What the profile decides where A2A leaves a choice, over HTTP, as far as no other test says it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Task } from "@nylorun/protocol";

import { actor } from "./agents.ts";
import { AT_ONCE, messageOf, serve } from "./wire.ts";
import type { Wire } from "./wire.ts";

/** The code and the reason that a message is refused with. */
async function refusal(wire: Wire, text: string, message: object): Promise<unknown[]> {
  const { body } = await wire.call("actor", "SendMessage", {
    message: messageOf(text, message),
    configuration: AT_ONCE,
  });
  return [body.error?.code, body.error?.data?.[0]?.reason];
}

describe("the profile", () => {
  // keeps: profile-checks-without-effect
  it("takes tenant and acceptedOutputModes, and neither has an effect", async () => {
    await using served = await serve({ agents: [actor] });
    const ada = await served.as("ada");
    const params = {
      tenant: "bob",
      message: messageOf("data"),
      configuration: { acceptedOutputModes: ["text/plain"] },
    };
    const { task } = await ada.result<{ task: Task }>("actor", "SendMessage", params);
    assert.ok(task.artifacts?.[0]?.parts[0]?.data);
    assert.equal((await ada.result<Task>("actor", "GetTask", { id: task.id, tenant: "carol" })).id, task.id);
    assert.equal(await (await served.as("bob")).code("actor", "GetTask", { id: task.id, tenant: "ada" }), -32001);
  });

  // keeps: profile-contexts-queue-limit
  it("queues contextQueueDepth messages in a context, and refuses the next: CONTEXT_QUEUE_FULL", async () => {
    await using served = await serve({ agents: [actor], contextQueueDepth: 2 });
    const ada = await served.as("ada");
    const message = { contextId: "talk" };
    const running = await ada.send("actor", "run", { message, configuration: AT_ONCE });
    for (const text of ["one", "two"]) {
      const { status } = await ada.send("actor", text, { message, configuration: AT_ONCE });
      assert.equal(status.state, "TASK_STATE_SUBMITTED");
    }
    assert.deepEqual(await refusal(ada, "three", message), [-32004, "CONTEXT_QUEUE_FULL"]);
    assert.deepEqual(await refusal(ada, "elsewhere", {}), [undefined, undefined], "other contexts go on");
    await ada.result("actor", "CancelTask", { id: running.id });
    await ada.until("actor", (await ada.send("actor", "three", { message })).id, "TASK_STATE_COMPLETED");
  });

  // keeps: profile-contexts-subject-limits
  it("keeps no more of a subject than it may have: SUBJECT_QUEUE_FULL, SUBJECT_STORAGE_FULL", async () => {
    await using served = await serve({ agents: [actor], subjectQueuedTurns: 1, subjectStoredBytes: 1_048_576 });
    const [ada, bob] = [await served.as("ada"), await served.as("bob")];
    const message = { contextId: "talk" };
    const { id } = await ada.send("actor", "run", { message, configuration: AT_ONCE });
    await ada.until("actor", id, "TASK_STATE_WORKING");
    await ada.send("actor", "one", { message, configuration: AT_ONCE });
    assert.deepEqual(await refusal(ada, "two", message), [-32004, "SUBJECT_QUEUE_FULL"]);
    assert.equal((await bob.send("actor", "Hello")).status.state, "TASK_STATE_COMPLETED", "others go on");

    const large = "a".repeat(300_000);
    const reasons: unknown[] = [];
    for (let more = 0; more < 8; more++) {
      const { body } = await bob.call("actor", "SendMessage", { message: messageOf(large) });
      if (body.error !== undefined) reasons.push(body.error.code, body.error.data?.[0]?.reason);
      if (reasons.length > 0) break;
    }
    assert.deepEqual(reasons, [-32004, "SUBJECT_STORAGE_FULL"]);
  });

  // keeps: profile-contexts-not-waiting
  it("refuses a message to a task that runs or is queued", async () => {
    await using served = await serve({ agents: [actor] });
    const ada = await served.as("ada");
    const message = { contextId: "talk" };
    const running = await ada.send("actor", "run", { message, configuration: AT_ONCE });
    await ada.until("actor", running.id, "TASK_STATE_WORKING");
    const queued = await ada.send("actor", "Hello", { message, configuration: AT_ONCE });
    for (const { id: taskId } of [running, queued]) {
      assert.equal((await refusal(ada, "More", { taskId }))[0], -32004);
    }
    assert.equal((await ada.list("actor")).totalSize, 2);
  });

  // keeps: profile-contexts-again-off
  it("runs a message again when messageDedupeMs is 0", async () => {
    await using served = await serve({ agents: [actor], messageDedupeMs: 0 });
    const ada = await served.as("ada");
    const params = { message: messageOf("Hello") };
    const [first, second] = [
      await ada.result<{ task: Task }>("actor", "SendMessage", params),
      await ada.result<{ task: Task }>("actor", "SendMessage", params),
    ];
    assert.notEqual(first.task.id, second.task.id);
    assert.equal((await ada.list("actor")).totalSize, 2);
  });
});
