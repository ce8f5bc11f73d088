/** Stands before a Runtime and keeps its `A2A-Extensions` to itself: some servers send the data and no echo. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export async function startSilentProxy(target: string): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((request, response) => void pass(request, response));
  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = request.method === "POST" ? Buffer.concat(await request.toArray()) : undefined;
    const headers = new Headers();
    for (const name of ["content-type", "accept", "authorization", "a2a-version", "a2a-extensions"]) {
      const value = request.headers[name];
      if (typeof value === "string") headers.set(name, value);
    }
    const answer = await fetch(new URL(request.url!, target), { method: request.method!, headers, body: body ?? null });
    const text = (await answer.text()).replaceAll(target, url);
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" });
    response.end(text);
  }
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
