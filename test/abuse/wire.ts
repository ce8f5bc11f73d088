/** A connection on which anything may be said, and read or not. */
import { connect } from "node:net";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** For whatever is waited for, in milliseconds. */
const PATIENCE = 30_000;

export class Wire implements Disposable {
  readonly #socket: Socket;
  /** Resolves when it is closed, by whomever. */
  readonly closed: Promise<void>;
  /** What came in so far. */
  received = "";

  static async open(port: number): Promise<Wire> {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    const wire = new Wire(socket);
    await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    return wire;
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => (this.received += text));
    // Whoever closes it does so without ceremony.
    socket.on("error", () => {});
    this.closed = new Promise((resolve) => void socket.once("close", () => resolve()));
  }

  get isOpen(): boolean {
    return !this.#socket.closed && !this.#socket.destroyed;
  }

  write(data: string | Uint8Array): void {
    this.#socket.write(data);
  }

  /** The head of a request that has a key. */
  ask(port: number, key: string, headers: Readonly<Record<string, string>>): void {
    const given = { host: `127.0.0.1:${port}`, "content-type": "application/json", "a2a-version": "1.0", ...headers };
    const lines = Object.entries({ ...given, authorization: `Bearer ${key}` }).map(
      ([name, value]) => `${name}: ${value}`,
    );
    this.write(`POST /v1/a2a/agents/moods/ HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
  }

  /** Reads nothing more, for the time being. */
  stopReading(): void {
    this.#socket.pause();
  }

  readOn(): void {
    this.#socket.resume();
  }

  /** Reads so much more, and then no more. */
  async read(bytes: number): Promise<void> {
    const end = this.received.length + bytes;
    const stop = () => {
      if (this.received.length >= end) this.stopReading();
    };
    this.#socket.on("data", stop);
    this.readOn();
    await this.until((text) => text.length >= end || undefined);
    this.#socket.off("data", stop);
  }

  /** The HTTP status of the first answer, once it has begun. */
  async status(): Promise<number> {
    return this.until((text) => {
      const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(text) ?? [];
      return status === undefined ? undefined : Number(status);
    });
  }

  /** What is found in all that came in, once it is found. */
  async until<T>(find: (received: string) => T | undefined): Promise<T> {
    const deadline = performance.now() + PATIENCE;
    for (;;) {
      const found = find(this.received);
      if (found !== undefined) return found;
      if (performance.now() > deadline || !this.isOpen)
        throw new Error(`What came in${this.isOpen ? "" : " until it was closed"}: ${this.received.slice(0, 500)}`);
      await delay(5);
    }
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}
