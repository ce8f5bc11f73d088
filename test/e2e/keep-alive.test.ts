/** A call that waits longer than a proxy lets a connection be silent is answered through it all the same. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { test } from "node:test";

import { Caller } from "./callers.ts";
import { Process } from "./process.ts";

/** How long nothing may come, in milliseconds: longer than the Runtime is silent (15 s), shorter than the call waits. */
const IDLE = 18_000;
const WORK = 21_000;

/** Passes on what comes either way, and closes what is silent for too long, as load balancers do. */
async function startProxy(
  port: number,
): Promise<AsyncDisposable & { readonly port: number; readonly closed: () => number }> {
  const open = new Set<Socket>();
  let closed = 0;
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    const close = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on("error", close).on("close", close);
    }
    client.pipe(upstream).pipe(client);
    upstream.setTimeout(IDLE, () => {
      closed++;
      close();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    closed: () => closed,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

test("a blocking call outlives a proxy's limit for silence, and is the same JSON in the end", async () => {
  await using runtime = await Process.start();
  const { key } = await runtime.as("ada");
  await using proxy = await startProxy(runtime.port);
  // A connection on which nothing comes: the proxy is one that closes.
  const silent = connect(proxy.port, "127.0.0.1");
  const cut = once(silent, "close");
  const ada = new Caller({ url: `http://127.0.0.1:${proxy.port}` }, key);
  const began = performance.now();
  const { status } = await ada.send("moods", `work ${WORK}`, { signal: AbortSignal.timeout(WORK + 20_000) });
  assert.equal(status.state, "TASK_STATE_COMPLETED");
  assert.ok(performance.now() - began > IDLE, "it waited longer than a silent connection lives");
  await cut;
  assert.equal(proxy.closed(), 1, "only the silent one was closed");
});
