/** What an author hands over as a file, as its bytes; and the bytes on their way into a blob store: counted, hashed, and none too many. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";

import type { FileContent } from "@nylorun/agents";

import type { Intake } from "./blob.ts";
import { FileError } from "./errors.ts";
import { isOwn, released } from "./own-memory.ts";

/** Bytes of a local file that are read in one go. */
const PIECE = 256 * 1024;

export interface Received {
  /** Bytes. */
  readonly size: number;
  readonly sha256: string;
}

export interface ReceiveOptions {
  readonly intake: Intake;
  /** Of all bytes. */
  readonly limit: number;
  /** Whether there is room for more. */
  readonly hasRoom: () => boolean;
  readonly signal: AbortSignal;
}

/**
 * @throws FileError `file.tooLarge`, `file.noRoom`; BlobError; the signal's reason; what the chunks throw.
 */
export async function receive(
  chunks: AsyncIterable<Uint8Array>,
  { intake, limit, hasRoom, signal }: ReceiveOptions,
): Promise<Received> {
  const hash = createHash("sha256");
  let size = 0;
  for await (const chunk of untilAborted(chunks, signal)) {
    size += chunk.length;
    if (size > limit) throw new FileError("file.tooLarge", `It has more than the ${limit} bytes that a file may have.`);
    if (!hasRoom()) throw new FileError("file.noRoom", "The disk has less room than is kept for what runs.");
    hash.update(chunk);
    await intake.write(chunk);
  }
  return { size, sha256: hash.digest("hex") };
}

/** @throws FileError `file.invalid`, `file.unreadable`; what a function throws. */
export async function* chunksOf(content: FileContent): AsyncGenerator<Uint8Array, void, undefined> {
  const given = typeof content === "function" ? await content() : content;
  if (typeof given === "function") return yield* chunksOf(given);
  if (typeof given === "string" || given instanceof Uint8Array) return yield chunkOf(given);
  if (isLocal(given)) return yield* readLocal(given.localPath);
  if (!isIterable(given)) throw notContent(given);
  if (isOwn(given)) return yield* released(given as AsyncIterable<Uint8Array>);
  for await (const chunk of given) yield chunkOf(chunk);
}

export function isText(content: FileContent): boolean {
  return typeof content === "string";
}

async function* readLocal(path: string): AsyncGenerator<Uint8Array, void, undefined> {
  const unreadable = (why: string, cause?: unknown) =>
    new FileError("file.unreadable", `The local file ${path} cannot be read: ${why}.`, { cause });
  try {
    // A device or a pipe may have no end.
    if (!(await stat(path)).isFile()) throw unreadable("it is no regular file");
    yield* createReadStream(path, { highWaterMark: PIECE }) as AsyncIterable<Uint8Array>;
  } catch (error) {
    if (error instanceof FileError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw unreadable(code === "ENOENT" ? "there is none" : message, error);
  }
}

function chunkOf(chunk: unknown): Uint8Array {
  if (typeof chunk === "string") return Buffer.from(chunk, "utf8");
  if (chunk instanceof Uint8Array) return chunk;
  throw new FileError("file.invalid", `A file is made of texts and Uint8Arrays; a chunk of it is ${nameOf(chunk)}.`);
}

function isLocal(content: unknown): content is { readonly localPath: string } {
  return (
    typeof content === "object" && content !== null && "localPath" in content && typeof content.localPath === "string"
  );
}

function isIterable(content: unknown): content is AsyncIterable<unknown> {
  if (typeof content !== "object" || content === null) return false;
  return Symbol.asyncIterator in content || Symbol.iterator in content;
}

function notContent(content: unknown): FileError {
  return new FileError(
    "file.invalid",
    `A file's content is a text, a Uint8Array, a stream of them, { localPath }, or a function that gives one; it is ${nameOf(content)}.`,
  );
}

function nameOf(value: unknown): string {
  return value === null ? "null" : typeof value === "object" ? (value.constructor?.name ?? "an object") : typeof value;
}

/** Ends with the signal, whether the source listens to it or not. */
async function* untilAborted<Item>(
  items: AsyncIterable<Item>,
  signal: AbortSignal,
): AsyncGenerator<Item, void, undefined> {
  const iterator = items[Symbol.asyncIterator]();
  let giveUp: (reason: unknown) => void = () => undefined;
  const abort = () => giveUp(signal.reason);
  signal.addEventListener("abort", abort);
  let isOver = false;
  try {
    for (;;) {
      const next = await new Promise<IteratorResult<Item>>((resolve, reject) => {
        giveUp = reject;
        if (signal.aborted) abort();
        else iterator.next().then(resolve, reject);
      });
      isOver = next.done === true;
      if (next.done === true) return;
      yield next.value;
    }
  } catch (error) {
    isOver = !signal.aborted;
    throw error;
  } finally {
    signal.removeEventListener("abort", abort);
    // Not waited for: what does not listen to the signal may not come back.
    if (!isOver) iterator.return?.().catch(() => undefined);
  }
}
