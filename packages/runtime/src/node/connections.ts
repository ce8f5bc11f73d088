/**
 * The connections of a server, of which there are only so many. When one more comes, the one on which nothing has been asked for longest
 * goes: who holds thousands open without asking for anything keeps nobody out.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

export class Connections {
  readonly #most: number;
  /** Those on which nothing is asked at the moment, since longest first. */
  readonly #idle = new Set<Socket>();
  #size = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#size;
  }

  add(socket: Socket): void {
    this.#size++;
    this.#idle.add(socket);
    socket.once("close", () => {
      this.#size--;
      this.#idle.delete(socket);
    });
    if (this.#size <= this.#most) return;
    // Of those that are all busy none is given up: then it is the new one that goes.
    const [oldest = socket] = this.#idle;
    this.#idle.delete(oldest);
    oldest.destroy();
  }

  /** Something is asked on a connection, until the answer is out. */
  ask(socket: Socket, answer: ServerResponse): void {
    this.#idle.delete(socket);
    answer.once("close", () => {
      if (!socket.destroyed) this.#idle.add(socket);
    });
  }
}
