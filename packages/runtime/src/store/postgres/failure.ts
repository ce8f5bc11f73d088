/** What a failed call of the database means for who asked: whether it was done, and whether it may be tried again. */
import { StoreError } from "../errors.ts";

/**
 * | kind    | means                                                                     |
 * |---------|---------------------------------------------------------------------------|
 * | absent  | there was nobody to ask: it was not done                                  |
 * | unknown | it was asked, and the answer was lost: it may have been done              |
 * | full    | the database's disk is full: it was not done                              |
 * | refused | the database says what is wrong with it: it was not done, and never will  |
 */
export type FailureKind = "absent" | "unknown" | "full" | "refused";

/** Not done, but only because of what else went on (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
const PASSING = new Set([
  "40001", // serialization_failure
  "40P01", // deadlock_detected
  "55P03", // lock_not_available
  "57014", // query_canceled: its time was up
  "25006", // read_only_sql_transaction: a server that is no primary any more, or not yet
  "53200", // out_of_memory
  "53300", // too_many_connections
  "0A000", // feature_not_supported: a plan that another node's migration has made stale
]);

export function failureOf(error: unknown): FailureKind {
  // A fault of ours: to ask again would not mend it.
  if (error instanceof TypeError || error instanceof RangeError) return "refused";
  const code = sqlState(error);
  if (code === undefined) return "unknown";
  if (code === "53100") return "full";
  return PASSING.has(code) || code.startsWith("08") || code.startsWith("57P") ? "unknown" : "refused";
}

/** Whether a connection on which this came can be used again. */
export function breaksConnection(error: unknown): boolean {
  const code = sqlState(error);
  return code === undefined || code.startsWith("08") || code.startsWith("57P") || code === "25006";
}

/** What PostgreSQL names an error by; undefined: it did not come from there. */
function sqlState(error: unknown): string | undefined {
  const { code } = error as { code?: unknown };
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && !code.startsWith("E") ? code : undefined;
}

/** Of a database with which nothing can be begun. Without the whole address: a password may be in it. */
export function unusable(code: "store.broken" | "store.unavailable", url: string, error: unknown): StoreError {
  return new StoreError(code, `The database of ${hostOf(url)} cannot be used: ${reasonOf(error)}.`, { cause: error });
}

/** An error of several attempts, at each address of a name, says nothing itself. */
function reasonOf(error: unknown): string {
  const { message, errors } = error as Error & { errors?: readonly Error[] };
  return message || (errors ?? []).map((one) => one.message).join(", ");
}

function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return "that address";
  }
}

export function storeError(kind: FailureKind, error: unknown): StoreError {
  const why = (error as Error).message;
  switch (kind) {
    case "full":
      return new StoreError("store.full", `Nothing of this write is stored: ${why}.`, { cause: error });
    case "refused":
      return new StoreError("store.failed", `A write failed: ${why}.`, { cause: error });
    case "absent":
    case "unknown":
      return new StoreError("store.unavailable", `The database does not answer: ${why}.`, { cause: error });
  }
}
