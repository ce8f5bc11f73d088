/** The socket itself: bytes near HTTP, sent in pieces. Whatever becomes of that connection, the next request of another one is answered. */
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

import * as fc from "fast-check";

import { nearBytes } from "../edit.ts";
import { Served } from "../served.ts";
import type { Input, StartTarget } from "../target.ts";

interface Bytes {
  /** One character a byte. */
  readonly pieces: readonly string[];
}

const HEAD =
  "POST /v1/a2a/agents/target/ HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer @ada\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\n";
const BODY = '{"jsonrpc":"2.0","id":1,"method":"ListTasks"}';
const GOOD = [
  `${HEAD}Content-Length: ${BODY.length}\r\n\r\n${BODY}`,
  `${HEAD}Transfer-Encoding: chunked\r\n\r\n${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`,
  `${HEAD}Content-Length: ${BODY.length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  `${HEAD}Expect: 100-continue\r\nContent-Length: ${BODY.length}\r\n\r\n`,
  "GET /v1/agents HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer @ada\r\n\r\nGET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
  "GET http://evil.example/v1/agents HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
  "OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
  "CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n",
  "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
  "GET //evil.example/%zz?%ff#x HTTP/1.0\r\n\r\n",
  "GET / HTTP/1.1\r\nHost: [::1]:99999\r\n\r\n",
  "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
  "GET / HTTP/1.1\r\n\r\n",
];

/** How long a connection is listened to, in milliseconds: what waits for more bytes says nothing. */
const LISTEN = 15;

export const startConnection: StartTarget = async (corpus) => {
  const served = await Served.start();
  const { hostname, port } = new URL(served.runtime.url);
  const kept = corpus.flatMap((input) => (input as Bytes).pieces);
  const inputs = fc
    .tuple(nearBytes(fc.constantFrom(...GOOD, ...kept), 5), fc.array(fc.nat(400), { maxLength: 3 }))
    .map(([bytes, cuts]): Bytes => {
      const places = [
        0,
        ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((one, other) => one - other),
        bytes.length,
      ];
      return { pieces: places.slice(1).map((end, index) => bytes.slice(places[index], end)) };
    });
  let waiting = 0;
  return {
    inputs,
    async check(input: Input) {
      const socket = connect({ host: hostname, port: Number(port) });
      const chunks: Buffer[] = [];
      socket.on("data", (chunk: Buffer) => chunks.push(chunk));
      socket.on("error", () => undefined);
      const { promise: closed, resolve: close } = Promise.withResolvers<null>();
      socket.on("close", () => close(null));
      for (const piece of (input as Bytes).pieces) {
        socket.write(Buffer.from(served.fill(piece), "latin1"));
        await delay(0);
      }
      await Promise.race([closed, delay(LISTEN)]);
      const answer = Buffer.concat(chunks).toString("latin1");
      const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(answer) ?? [];
      if (answer !== "" && status === undefined) throw new Error(`answered what is no HTTP: ${answer.slice(0, 200)}`);
      if (status !== undefined && Number(status) >= 500 && status !== "501") throw new Error(answer.slice(0, 500));
      socket.destroy();
      await closed;
      if (++waiting % 10 === 0) {
        const { status: alive } = await served.ask({ method: "GET", path: "/health", headers: {}, body: "" });
        if (alive !== 200) throw new Error(`then /health is ${alive}`);
      }
    },
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
};
