/** A line to a server that can lose what comes back, refuse to be opened, and be cut: as networks do. */
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

export interface LossyLine extends AsyncDisposable {
  /** The server's address, by way of this line. */
  readonly url: string;
  /**
   * What is asked next with these words in it is asked, and its answer is lost with the connection.
   *
   * @param then `down`: with all of them, and there are no new ones until it is `up` again.
   */
  loseAnswerTo(words: string, then?: "down"): void;
  /** How many answers were lost. */
  readonly lost: number;
  /** Cuts all connections; until it is `up` again, there are no new ones. */
  down(): void;
  up(): void;
}

export async function openLossyLine(url: string): Promise<LossyLine> {
  const to = new URL(url);
  const open = new Set<Socket>();
  let words: string | undefined;
  let afterwards: "down" | undefined;
  let isDown = false;
  let lost = 0;
  const cut = () => {
    isDown = true;
    for (const socket of open) socket.destroy();
  };
  const server = createServer((client) => {
    if (isDown) return void client.destroy();
    const upstream = connect(Number(to.port), to.hostname);
    let losing = false;
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        open.delete(one);
        other.destroy();
      });
    }
    client.on("data", (asked) => {
      if (words !== undefined && asked.includes(words)) {
        losing = true;
        words = undefined;
      }
      upstream.write(asked);
    });
    upstream.on("data", (answer) => {
      if (!losing) return void client.write(answer);
      lost++;
      if (afterwards === "down") return cut();
      client.destroy();
      upstream.destroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const line = new URL(url);
  line.port = String((server.address() as AddressInfo).port);
  return {
    url: line.href,
    loseAnswerTo(given, then) {
      words = given;
      afterwards = then;
    },
    get lost() {
      return lost;
    },
    down: cut,
    up: () => void (isDown = false),
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
