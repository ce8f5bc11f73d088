/** An agent of the Agent Client Protocol, made with its official SDK: what it does is what it is asked to. */
import { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";

import { agent, methods, ndJsonStream } from "@agentclientprotocol/sdk";

const canceled = new Set<string>();

await agent({ name: "test" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: 1,
    agentCapabilities: {},
    agentInfo: { name: "planner", version: "1.0.0" },
  }))
  .onRequest(methods.agent.session.new, () => ({ sessionId: "0123456789abcdef" }))
  .onNotification(methods.agent.session.cancel, ({ params }) => void canceled.add(params.sessionId))
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const { sessionId, prompt } = params;
    const [first] = prompt;
    const text = first?.type === "text" ? first.text : "";
    const plan = (...statuses: ("pending" | "in_progress" | "completed")[]) =>
      client.notify(methods.client.session.update, {
        sessionId,
        update: {
          sessionUpdate: "plan",
          entries: statuses.map((status, index) => ({
            content: ["Read the code", "Change it", "Run the tests"][index]!,
            priority: "medium",
            status,
          })),
        },
      });
    if (text === "crash") process.exit(7);
    await plan("in_progress", "pending", "pending");
    await delay(300);
    await plan("completed", "in_progress", "pending");
    await client.notify(methods.client.session.update, {
      sessionId,
      update: { sessionUpdate: "tool_call", toolCallId: "1", title: "Edit events.ts", kind: "edit", status: "pending" },
    });
    if (text === "ask") {
      await client.request(methods.client.session.requestPermission, {
        sessionId,
        toolCall: { toolCallId: "1", title: "Edit events.ts" },
        options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }],
      });
    }
    await delay(300);
    if (text === "cancel") for (let tries = 0; !canceled.has(sessionId) && tries < 500; tries++) await delay(10);
    if (canceled.has(sessionId)) return { stopReason: "cancelled" };
    await plan("completed", "completed", "completed");
    return { stopReason: "end_turn" };
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>))
  .closed;
