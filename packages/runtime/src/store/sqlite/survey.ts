/**
 * What goes through all of the database takes long, so it has a thread and a connection of its own: copies, and the look whether
 * everything is whole. Neither keeps anybody from writing.
 */
import { once } from "node:events";
import { Worker } from "node:worker_threads";

import { StoreError } from "../errors.ts";

export type Task =
  /** Writes everything, as of one moment, to a file that is not there yet. */
  | { readonly do: "copy"; readonly to: string }
  /** Looks whether what is stored is whole. `most`: databases of more bytes than this are looked at in part. */
  | { readonly do: "check"; readonly most: number };

export interface Surveyed {
  /** What is wrong, in SQLite's words. */
  readonly problems: readonly string[];
}

export type SurveyResult = Surveyed | { readonly failed: string };

/**
 * @param signal Ends it early: when this rejects, with the signal's reason, the thread and its connection are gone.
 * @throws StoreError `store.failed`: why it could not be done.
 */
export async function survey(file: string, task: Task, signal?: AbortSignal): Promise<Surveyed> {
  signal?.throwIfAborted();
  const entry = import.meta.url.endsWith(".ts") ? "./survey-thread.ts" : "./survey-thread.js";
  const worker = new Worker(new URL(entry, import.meta.url), { workerData: { file, task }, name: "survey" });
  // A check is not what keeps a process; who waits for a copy keeps it by waiting.
  if (task.do === "check") worker.unref();
  try {
    const [result] = (await once(worker, "message", { signal })) as [SurveyResult];
    if ("failed" in result) throw new StoreError("store.failed", result.failed);
    return result;
  } catch (error) {
    if (!signal?.aborted) throw error;
    await worker.terminate();
    throw signal.reason;
  }
}
