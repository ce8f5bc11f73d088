/**
 * Takes what is pushed to it, and counts. What is pushed to `/hang` is never answered.
 *
 *     node bench/peers/receiver.ts
 *
 * Prints `listening on PORT` when it serves; `GET /` says how many there were, and when the last one came.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

let count = 0;
let last = 0;

const server = createServer((request, response) => {
  if (request.method === "GET") {
    response.end(JSON.stringify({ count, last }));
    return;
  }
  if (request.url === "/hang") return;
  request.on("end", () => {
    count++;
    last = Date.now();
    response.writeHead(204).end();
  });
  request.resume();
});
server.listen(0, "127.0.0.1", () => console.log(`listening on ${(server.address() as AddressInfo).port}`));
process.once("SIGTERM", () => process.exit(0));
