/**
 * Follows one task, for as long as somebody wants to know: by the agent's stream where there is one, else by asking.
 *
 * Several readers share one feed. Each gets the newest state, never an older one after it; what changes faster than a reader reads
 * is left out, but for the last. A terminal state is final, whatever an agent says later (I5).
 */
import { EXTENSIONS, isTerminal } from "@nylorun/protocol";
import type { Artifact, StreamResponse, Task } from "@nylorun/protocol";

import type { Connection } from "./connection.ts";
import { A2aClientError, invalidAnswer } from "./errors.ts";
import { BackOff, pause } from "./patience.ts";

/** Looks at a task that does not change come this far apart at first, in milliseconds. */
const FIRST_PAUSE = 60;
export interface FeedOptions {
  readonly connection: Connection;
  /** Between two looks, at most, in milliseconds. */
  readonly pollMs: number;
  /** Of a look. One message is enough to find a Runtime's reply, which is the last one. */
  readonly historyLength: number;
  /** Characters of a task that a stream has put together: one that adds for ever is not followed for ever. */
  readonly maxAnswerBytes: number;
}

export class Feed {
  readonly #connection: Connection;
  readonly #pollMs: number;
  readonly #historyLength: number;
  readonly #maxAnswerBytes: number;
  #task: Task;
  /** Goes up whenever the task is another one. */
  #version = 0;
  /** What came before the newest reply left is no news any more. */
  #asOf = 0;
  #changed: PromiseWithResolvers<void> = Promise.withResolvers();
  #readers = 0;
  #running: AbortController | undefined;

  constructor(task: Task, { connection, pollMs, historyLength, maxAnswerBytes }: FeedOptions) {
    this.#task = task;
    this.#connection = connection;
    this.#pollMs = pollMs;
    this.#historyLength = historyLength;
    this.#maxAnswerBytes = maxAnswerBytes;
  }

  get task(): Task {
    return this.#task;
  }

  /** What an agent answered to something that may have changed the task. Looks that are under way are old now. */
  take(task: Task): void {
    this.#asOf++;
    this.#accept(task);
  }

  /** Looks once, now. */
  async look(signal?: AbortSignal): Promise<Task> {
    const asOf = this.#asOf;
    const task = await this.#connection.getTask(this.#task.id, { historyLength: this.#historyLength, signal });
    if (asOf === this.#asOf) this.#accept(task);
    return this.#task;
  }

  /**
   * The task now, then each time it has changed, until it has ended.
   *
   * @throws A2aClientError when the agent cannot be asked any more; what the signal was aborted with.
   */
  async *read(signal: AbortSignal | undefined): AsyncGenerator<Task, void, undefined> {
    let seen = this.#version;
    signal?.throwIfAborted();
    yield this.#task;
    if (isTerminal(this.#task.status.state) && seen === this.#version) return;
    this.#readers++;
    try {
      for (;;) {
        while (seen === this.#version) {
          this.#run();
          await until(this.#changed.promise, signal);
        }
        seen = this.#version;
        yield this.#task;
        if (isTerminal(this.#task.status.state) && seen === this.#version) return;
      }
    } finally {
      this.#leave();
    }
  }

  #accept(task: Task): void {
    if (isTerminal(this.#task.status.state) && !isTerminal(task.status.state)) return;
    const before = this.#task;
    this.#task = task;
    if (essence(task) === essence(before)) return;
    this.#version++;
    this.#tell();
  }

  #tell(error?: unknown): void {
    const { resolve, reject, promise } = this.#changed;
    this.#changed = Promise.withResolvers();
    if (error === undefined) resolve();
    else {
      // There may be no reader that is waiting just now; the next one starts anew.
      promise.catch(() => undefined);
      reject(error);
    }
  }

  /** Follows, unless that is being done. After a failure it is tried anew for whoever still reads. */
  #run(): void {
    if (this.#running !== undefined) return;
    const running = (this.#running = new AbortController());
    this.#follow(running.signal).catch((error: unknown) => {
      if (this.#running !== running) return; // Nobody read any more, or another one follows by now.
      this.#running = undefined;
      this.#tell(error);
    });
  }

  #leave(): void {
    if (--this.#readers > 0) return;
    this.#running?.abort();
    this.#running = undefined;
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const backOff = new BackOff(FIRST_PAUSE, this.#pollMs);
    while (!isTerminal(this.#task.status.state)) {
      const before = this.#version;
      if (this.#connection.streams) await this.#stream(signal);
      if (isTerminal(this.#task.status.state)) return;
      if (this.#version !== before) backOff.reset();
      await pause(backOff.next(), signal);
      await this.look(signal);
      if (this.#version !== before) backOff.reset();
    }
  }

  /** Takes in a stream until it ends. Whatever ends it, asking says how things are. */
  async #stream(signal: AbortSignal): Promise<void> {
    try {
      for await (const event of this.#connection.subscribe(this.#task.id, signal)) {
        const task = merge(this.#task, event);
        if (essence(task).length > this.#maxAnswerBytes) {
          throw new A2aClientError("answer.tooLarge", `The task is longer than ${this.#maxAnswerBytes} bytes.`);
        }
        this.#accept(task);
        if (isTerminal(this.#task.status.state)) return;
      }
    } catch (caught) {
      signal.throwIfAborted();
      // What cannot be made a task of (nested too deep, say) is no update.
      const error = caught instanceof A2aClientError ? caught : invalidAnswer("An update makes no sense", caught);
      // What has ended has no stream either, so only a task that has not tells that there are none.
      if (REFUSES_STREAMS.has(error.code)) {
        await this.look(signal);
        if (!isTerminal(this.#task.status.state)) this.#connection.stopStreaming();
      }
    }
  }
}

/** What an agent answers that has no streams, whatever its card says. */
const REFUSES_STREAMS: ReadonlySet<string> = new Set([
  "a2a.unsupportedOperation",
  "a2a.methodNotFound",
  "agent.refused",
  "answer.invalid",
]);

/** A task with what an event of its stream says (A2A 1.0, sections 4.2.1 and 4.2.2). */
export function merge(task: Task, event: StreamResponse): Task {
  if (event.task !== undefined) return event.task.id === task.id ? event.task : task;
  if (event.statusUpdate !== undefined) {
    const { taskId, status, metadata } = event.statusUpdate;
    if (taskId !== task.id) return task;
    // A lost effect is news of the status that told of it; a plan holds until the next one.
    const { [EXTENSIONS.effects]: _, ...kept } = task.metadata ?? {};
    const { metadata: __, ...rest } = task;
    const joined = { ...kept, ...metadata };
    return { ...rest, status, ...(Object.keys(joined).length > 0 && { metadata: joined }) };
  }
  if (event.artifactUpdate !== undefined && event.artifactUpdate.taskId === task.id) {
    const { artifact, append } = event.artifactUpdate;
    const artifacts = task.artifacts ?? [];
    const index = artifacts.findIndex(({ artifactId }) => artifactId === artifact.artifactId);
    const before = artifacts[index];
    if (before === undefined) return { ...task, artifacts: [...artifacts, artifact] };
    const merged = append === true ? { ...before, ...artifact, parts: [...before.parts, ...artifact.parts] } : artifact;
    return { ...task, artifacts: artifacts.with(index, merged) };
  }
  return task;
}

/** What has to differ for a task to have changed. Links are made anew at each look, and lead to the same. */
function essence(task: Task): string {
  return JSON.stringify({ ...task, artifacts: task.artifacts?.map(withoutLinks) });
}

function withoutLinks(artifact: Artifact): unknown {
  const isVersioned = artifact.metadata?.[EXTENSIONS.files] !== undefined;
  const plain = (url: string) => (isVersioned ? "" : url.replace(/[?#].*$/, ""));
  return {
    ...artifact,
    parts: artifact.parts.map((part) => (part.url === undefined ? part : { ...part, url: plain(part.url) })),
  };
}

/** A promise, or what the signal is aborted with, whichever comes first. */
async function until(promise: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return promise;
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
