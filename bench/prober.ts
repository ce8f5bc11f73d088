/** Asks for tasks on one connection, in a thread of its own: how busy the load beside it is does not count. */
import { parentPort, Worker, workerData } from "node:worker_threads";

import { load } from "./load.ts";
import type { Target } from "./load.ts";

export interface Probe {
  readonly target: Target;
  readonly ids: readonly string[];
  readonly milliseconds: number;
}

/** Latencies in milliseconds, ascending. */
export function probe(options: Probe): Promise<Float64Array> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: options });
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}

/** What asks for one of these tasks after another, and looks whether it is that one. */
export function gets(ids: readonly string[]) {
  let next = 0;
  const asked = () => ids[next++ % ids.length]!;
  return {
    body: () => JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetTask", params: { id: asked() } }),
    check(body: string) {
      if (!body.includes('"TASK_STATE_COMPLETED"') || !body.includes('"Here is your answer."'))
        throw new Error(`Expected a completed task with its artifact, got:\n${body}`);
    },
  };
}

if (parentPort !== null) {
  const { target, ids, milliseconds } = workerData as Probe;
  const { latencies } = await load(target, { connections: 1, milliseconds, exchange: gets(ids) });
  parentPort.postMessage(latencies);
}
