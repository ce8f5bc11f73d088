/** What tasks that have ended leave in a process that serves, and how long a list and a task take beside them (A33). */
import { load } from "../../bench/load.ts";
import type { Exchange } from "../../bench/load.ts";
import { messageOf } from "../e2e/callers.ts";
import { Process } from "../e2e/process.ts";

export interface EndedTasks {
  readonly tasks: number;
  /** Of the heap, for each of them, in bytes. */
  readonly heapBytesEach: number;
  readonly residentMb: number;
  readonly filesMore: number;
  /** In milliseconds. */
  readonly listP99: number;
  readonly getP99: number;
}

const MIB = 1024 * 1024;
/** Before that, code is compiled and caches are filled. */
const WARM_UP = 1_500;

export async function endTasks(tasks: number): Promise<EndedTasks> {
  await using runtime = await Process.start({ inspected: true });
  const ada = await runtime.as("ada");
  const target = { port: runtime.port, path: "/v1/a2a/agents/moods/", headers: { Authorization: `Bearer ${ada.key}` } };
  const call = (method: string, params: object) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  let id = "";
  const send: Exchange = {
    body: () => call("SendMessage", { message: messageOf("Hello") }),
    check(answer) {
      const { result } = JSON.parse(answer) as { result?: { task: { id: string; status: { state: string } } } };
      if (result?.task.status.state !== "TASK_STATE_COMPLETED")
        throw new Error(`Expected a task that has ended: ${answer}`);
      id = result.task.id;
    },
  };
  const ask = (body: () => string): Exchange => ({
    body,
    check(answer) {
      if (!answer.includes('"result"')) throw new Error(`Expected a result: ${answer}`);
    },
  });
  const limit = { milliseconds: 3_600_000 };
  await load(target, { connections: 16, requests: WARM_UP, exchange: send, ...limit });
  const before = { heap: (await runtime.heap()).used, files: runtime.openFiles };
  await load(target, { connections: 16, requests: tasks, exchange: send, ...limit });
  const { used } = await runtime.heap();
  const p99 = async (exchange: Exchange) => {
    const { latencies } = await load(target, { connections: 1, requests: 300, exchange, ...limit });
    return latencies[Math.floor(latencies.length * 0.99)]!;
  };
  return {
    tasks,
    heapBytesEach: (used - before.heap) / tasks,
    residentMb: runtime.residentBytes / MIB,
    filesMore: runtime.openFiles - before.files,
    listP99: await p99(ask(() => call("ListTasks", { pageSize: 50 }))),
    getP99: await p99(ask(() => call("GetTask", { id }))),
  };
}
