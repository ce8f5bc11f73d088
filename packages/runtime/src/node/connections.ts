/**
 * The connections of a server, and what they may hold:
 *
 * | there are                                  | goes                                                                       |
 * |--------------------------------------------|-----------------------------------------------------------------------------|
 * | more connections than allowed              | the one on which nothing has been asked for longest: who holds thousands open without asking for anything keeps nobody out |
 * | answers of which nothing is read any more   | they ({@link Connections.silent})                                           |
 * | more unread answers than memory is meant for | the largest ones                                                            |
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Of all answers, so many bytes may be unread. */
const UNREAD = 256 * 1024 * 1024;
/** How often that is looked at, in milliseconds. */
const EVERY = 1_000;

export class Connections implements Disposable {
  readonly #most: number;
  /** Those on which nothing is asked at the moment, since longest first. */
  readonly #idle = new Set<Socket>();
  readonly #answers = new Map<Socket, ServerResponse>();
  readonly #timer: NodeJS.Timeout;
  #size = 0;

  constructor(most: number) {
    this.#most = most;
    this.#timer = setInterval(() => this.#look(), EVERY).unref();
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
      this.#answers.delete(socket);
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
    this.#answers.set(socket, answer);
    answer.once("close", () => {
      // Who does not wait for an answer before asking again is still being answered.
      if (this.#answers.get(socket) !== answer) return;
      this.#answers.delete(socket);
      if (!socket.destroyed) this.#idle.add(socket);
    });
  }

  /** Nothing came or went on a connection for a while. What is asked there may take its time, but not to be read. */
  silent(socket: Socket): void {
    if (this.#answers.get(socket)?.writableLength !== 0) cut(socket);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    let total = 0;
    const unread: (readonly [Socket, number])[] = [];
    for (const [socket, { writableLength: length }] of this.#answers) {
      total += length;
      if (length > 0) unread.push([socket, length]);
    }
    if (total <= UNREAD) return;
    for (const [socket, length] of unread.toSorted(([, one], [, other]) => other - one)) {
      cut(socket);
      if ((total -= length) <= UNREAD) return;
    }
  }
}

/** At once: what is still to be sent would else stay in the system's buffers, for a reader that may never come. */
function cut(socket: Socket): void {
  if (socket.writableLength > 0) socket.resetAndDestroy();
  else socket.destroy();
}
