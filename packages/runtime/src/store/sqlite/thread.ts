/**
 * Group commit: whatever is asked for while a batch is being written becomes the next batch. One batch is in flight at a time,
 * so operations happen in the order in which they were asked for.
 */
import { once } from "node:events";
import { Worker } from "node:worker_threads";

import { StoreError, type StoreErrorCode } from "../errors.ts";
import type { Operations } from "./operations.ts";
import type { BatchResult, Failed, OperationName } from "./writer.ts";

interface Pending {
  readonly operation: readonly [OperationName, unknown];
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
  /** When it was asked for. */
  readonly at: number;
  /** How long the texts in it are. */
  readonly size: number;
}

export interface WriterListeners {
  /** See SqliteStoreOptions. */
  readonly onWrite?: (ms: number) => void;
  readonly onBroken?: (error: StoreError) => void;
  /** Something has come to be due for a webhook. */
  readonly onAnnounced?: () => void;
}

/** So large that a batch holds the event loop of the writer for some tens of milliseconds at most. */
const batchLimit = 512;
/** The same, for large texts: so long that they are together. */
const batchSize = 4 * 1024 * 1024;

export class WriterThread {
  readonly #worker: Worker;
  readonly #listeners: WriterListeners;
  #queue: Pending[] = [];
  #inFlight: readonly Pending[] | undefined;
  #closing = false;
  #closed = false;

  static async open(file: string, listeners: WriterListeners = {}): Promise<WriterThread> {
    const entry = import.meta.url.endsWith(".ts") ? "./writer.ts" : "./writer.js";
    const worker = new Worker(new URL(entry, import.meta.url), { workerData: { file }, name: "store" });
    const [first] = (await once(worker, "message")) as ["ready" | Failed];
    if (first !== "ready") {
      await worker.terminate();
      throw storeError(first);
    }
    return new WriterThread(worker, listeners);
  }

  private constructor(worker: Worker, listeners: WriterListeners) {
    this.#worker = worker;
    this.#listeners = listeners;
    worker.on("message", (result: BatchResult) => this.#settle(result));
    worker.on("error", (error: Error) => {
      this.#fail(new StoreError("store.failed", `The store's thread died: ${error.message}.`));
    });
  }

  /** Resolves when the operation is on disk. */
  run<Name extends OperationName>(
    name: Name,
    args: Parameters<Operations[Name]>[0],
  ): Promise<ReturnType<Operations[Name]>> {
    if (this.#closing) return Promise.reject(new StoreError("store.closed", "The store is closed."));
    return new Promise((resolve, reject) => {
      this.#queue.push({ operation: [name, args], resolve, reject, at: performance.now(), size: sizeOf(args) });
      // The first one of a batch waits for what else this turn of the event loop brings.
      if (this.#queue.length === 1 && this.#inFlight === undefined) setImmediate(() => this.#send());
    });
  }

  /** Takes no more operations, and resolves when those that were asked for are on disk. */
  async drain(): Promise<void> {
    this.#closing = true;
    while (this.#inFlight !== undefined || this.#queue.length > 0) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async close(): Promise<void> {
    await this.drain();
    if (this.#closed) return;
    this.#closed = true;
    const exit = once(this.#worker, "exit");
    this.#worker.postMessage("close");
    await exit;
  }

  #send(): void {
    if (this.#inFlight !== undefined || this.#queue.length === 0) return;
    let count = 1;
    let size = this.#queue[0]!.size;
    while (count < this.#queue.length && count < batchLimit && size < batchSize) size += this.#queue[count++]!.size;
    const batch = count === this.#queue.length ? this.#queue : this.#queue.slice(0, count);
    this.#queue = count === this.#queue.length ? [] : this.#queue.slice(count);
    this.#inFlight = batch;
    this.#worker.postMessage(batch.map(({ operation }) => operation));
  }

  #settle(answer: BatchResult): void {
    const batch = this.#inFlight ?? [];
    this.#inFlight = undefined;
    const { onWrite, onBroken, onAnnounced } = this.#listeners;
    if ("failed" in answer) {
      const error = storeError(answer);
      for (const { reject } of batch) reject(error);
      if (answer.failed.code === "store.broken") onBroken?.(error);
    } else {
      if (onWrite !== undefined) {
        const now = performance.now();
        for (const { at } of batch) onWrite(now - at);
      }
      answer.results.forEach((result, index) => {
        const { resolve, reject } = batch[index]!;
        if ("error" in result) reject(new StoreError("store.failed", `A write failed: ${result.error}.`));
        else resolve(result.value as never);
      });
      if (answer.announced) onAnnounced?.();
    }
    this.#send();
  }

  #fail(error: StoreError): void {
    const lost = [...(this.#inFlight ?? []), ...this.#queue];
    this.#inFlight = undefined;
    this.#queue = [];
    this.#closing = this.#closed = true;
    for (const { reject } of lost) reject(error);
  }
}

/** Of a journal, as it comes here. */
interface Entry {
  readonly body?: string;
}

/** Characters of the texts that an operation brings: what is long in it stands at the first or the second level. */
function sizeOf(args: unknown): number {
  let size = 0;
  for (const value of Object.values(args as object)) {
    if (typeof value === "string") size += value.length;
    else if (Array.isArray(value)) for (const one of value as (Entry | null)[]) size += one?.body?.length ?? 0;
  }
  return size;
}

function storeError({ failed }: Failed): StoreError {
  const code = failed.code.startsWith("store.") ? (failed.code as StoreErrorCode) : "store.failed";
  const isPlain = code === "store.failed" || code === "store.full";
  const message = isPlain ? `Nothing of this write is stored: ${failed.message}.` : failed.message;
  return new StoreError(code, message);
}
