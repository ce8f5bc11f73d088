/**
 * Preloaded into every test file: kills its process when it has not ended in time. The runner's own `--test-timeout` fails a
 * test that waits for ever, but does not end a file that spins or that something keeps alive. Hence a thread of its own.
 */
import { writeSync } from "node:fs";
import { isMainThread, Worker, workerData } from "node:worker_threads";

interface Deadline {
  /** Tells the watching thread from those of the code under test, into which this is preloaded too. */
  readonly watch: "test-deadline";
  readonly pid: number;
  readonly file: string;
  readonly ms: number;
}

if (isMainThread) {
  // Set by the runner in the processes of test files, and by scripts/test.ts.
  const ms = Number(process.env["TEST_FILE_TIMEOUT"]);
  if (process.env["NODE_TEST_CONTEXT"] !== undefined && ms > 0) {
    const deadline: Deadline = { watch: "test-deadline", pid: process.pid, file: process.argv[1] ?? "a test file", ms };
    new Worker(import.meta.filename, { workerData: deadline, execArgv: [] }).unref();
  }
} else if ((workerData as Partial<Deadline> | null)?.watch === "test-deadline") {
  const { pid, file, ms } = workerData as Deadline;
  setTimeout(() => {
    writeSync(2, `${file} has not ended after ${ms / 1000} s: killed\n`);
    process.kill(pid, "SIGKILL");
  }, ms);
}
