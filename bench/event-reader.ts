/** A reader of server-sent events that costs next to nothing: it counts them. */
import { connect } from "node:net";
import type { Socket } from "node:net";

export interface EventReaderOptions {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly onEvent: () => void;
}

const DATA = Buffer.from("\ndata: ");

export class EventReader implements Disposable {
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Resolves when the answer has begun. */
  static async open({ port, path, headers, onEvent }: EventReaderOptions): Promise<EventReader> {
    const socket = connect(port, "127.0.0.1");
    const lines = Object.entries({ host: `127.0.0.1:${port}`, ...headers }).map(([name, value]) => `${name}: ${value}`);
    socket.write(`GET ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
    await new Promise<void>((resolve, reject) => {
      socket.once("error", reject);
      socket.once("data", (chunk: Buffer) => {
        if (chunk.includes(" 200 ")) resolve();
        else reject(new Error(chunk.toString()));
      });
    });
    // No event is written in two parts.
    socket.on("data", (chunk: Buffer) => {
      for (let at = chunk.indexOf(DATA); at !== -1; at = chunk.indexOf(DATA, at + 1)) onEvent();
    });
    return new EventReader(socket);
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}
