/**
 * The writer thread. One batch of operations is one transaction: a savepoint per operation, one commit, one fsync. An operation
 * that throws is undone alone; a commit that fails rejects its whole batch.
 */
import { parentPort, workerData } from "node:worker_threads";

import { StoreError } from "../errors.ts";
import { takeOutGarbage } from "../garbage.ts";
import { openWritable } from "./database.ts";
import { isFull, isOfTheDisk } from "./disk.ts";
import { Operations } from "./operations.ts";

/** Names and arguments of the operations, in order. */
export type Batch = readonly (readonly [name: OperationName, args: unknown])[];
export type OperationName = Exclude<keyof Operations, "reserve" | "keep" | "undo" | "finish" | "forget" | "announced">;

/** What came of each, in the same order; or why nothing of the batch is stored. */
export type BatchResult =
  | {
      readonly results: readonly ({ readonly value: unknown } | { readonly error: string })[];
      /** Something has come to be due for a webhook. */
      readonly announced: boolean;
    }
  | Failed;
export interface Failed {
  readonly failed: { readonly code: string; readonly message: string };
}

const port = parentPort!;
try {
  const database = openWritable((workerData as { file: string }).file);
  const operations = new Operations(database);
  const begin = database.prepare("BEGIN IMMEDIATE");
  const savepoint = database.prepare("SAVEPOINT operation");
  const release = database.prepare("RELEASE operation");
  const undo = database.prepare("ROLLBACK TO operation");
  const commit = database.prepare("COMMIT");

  const run = (batch: Batch): BatchResult => {
    try {
      operations.reserve(batch.length);
      begin.run();
      const results = batch.map(([name, args]) => {
        savepoint.run();
        try {
          const value = (operations[name] as (args: unknown) => unknown)(args);
          release.run();
          operations.keep();
          return { value };
        } catch (error) {
          // What the disk refuses is no fault of the operation's: nothing of the batch can be trusted to have been written.
          if (isOfTheDisk(error)) throw error;
          undo.run();
          release.run();
          operations.undo();
          return { error: (error as Error).message };
        }
      });
      operations.finish();
      commit.run();
      return { results, announced: operations.announced() };
    } catch (error) {
      operations.forget();
      if (database.isTransaction) database.exec("ROLLBACK");
      return failed(error);
    }
  };

  port.on("message", (batch: Batch | "close") => {
    if (batch !== "close") return port.postMessage(run(batch));
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    database.close();
    port.close();
  });
  takeOutGarbage();
  port.postMessage("ready");
} catch (error) {
  port.postMessage(failed(error));
}

function failed(error: unknown): Failed {
  const { code, message } = error as Error & { code?: string };
  if (isFull(error)) return { failed: { code: "store.full", message } };
  // What a disk that failed says it has written, it may not have: nothing is to be built on that.
  if (isOfTheDisk(error))
    return { failed: { code: "store.broken", message: `The disk, or the database on it, failed: ${message}.` } };
  return { failed: { code: error instanceof StoreError ? error.code : (code ?? "store.failed"), message } };
}
