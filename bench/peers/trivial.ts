/**
 * The least that a server can do: takes a request, answers fixed bytes that look like a completed task. As fast as this, and no
 * faster, can the load be.
 *
 *     node bench/peers/trivial.ts PORT
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const answer = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  result: {
    task: {
      id: "0".repeat(36),
      contextId: "0".repeat(36),
      status: { state: "TASK_STATE_COMPLETED", timestamp: "2026-01-01T00:00:00.000Z" },
      artifacts: [{ artifactId: "output", name: "output", parts: [{ text: "Here is your answer." }] }],
      history: [{ messageId: "0".repeat(36), role: "ROLE_USER", parts: [{ text: "A question." }] }],
    },
  },
});

const server = createServer((request, response) => {
  request.resume().once("end", () => {
    response.writeHead(200, { "content-type": "application/json", "content-length": answer.length });
    response.end(answer);
  });
});
server.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => {
  console.log(`listening on ${(server.address() as AddressInfo).port}`);
});
process.once("SIGTERM", () => process.exit(0));
