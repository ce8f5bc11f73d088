/** {@link Operations} through the socket of the process that serves the home. */
import { request } from "node:http";

import { AccessError } from "../access/errors.ts";
import type { AccessErrorCode } from "../access/errors.ts";
import { OperationError } from "../http/operations.ts";
import type {
  DailyUsage,
  HeldTurn,
  LostEffect,
  OperationErrorCode,
  Operations,
  PushDelivery,
  WaitingContext,
} from "../http/operations.ts";
import type { KeyRecord } from "../store/store.ts";
import type { ServingProcess } from "./control.ts";
import { RuntimeError } from "./errors.ts";

/** An operation is a few writes; a process that takes longer than this, in milliseconds, is stuck. */
const PATIENCE = 30_000;
/** What goes through all of a home takes as long as the home is large. */
const LONG_PATIENCE = 6 * 3_600_000;

/** The process that takes commands there, if one does. A socket that a killed process left behind does not. */
export async function findServing(path: string): Promise<ServingProcess | undefined> {
  try {
    return (await call(path, { method: "GET", route: "/process", patience: PATIENCE })) as ServingProcess;
  } catch (error) {
    if (error instanceof RuntimeError) throw error;
    return undefined;
  }
}

/** @param path Where {@link findServing} found a process. */
export function connectControl(path: string): Operations {
  const through = async <T>(method: string, route: string, body?: unknown, patience = PATIENCE): Promise<T> => {
    try {
      return (await call(path, { method, route, body, patience })) as T;
    } catch (error) {
      if (error instanceof RuntimeError || error instanceof OperationError || error instanceof AccessError) throw error;
      const message = `The process that serves the home broke off (${(error as Error).message}); look whether it still runs.`;
      throw new RuntimeError("control.failed", message, { cause: error });
    }
  };
  return {
    addKey: (holder) => through("POST", "/keys", holder),
    listKeys: async () => (await through<{ keys: KeyRecord[] }>("GET", "/keys")).keys,
    revokeKey: (id) => through("DELETE", `/keys/${encodeURIComponent(id)}`),
    heldTurns: async () => (await through<{ turns: HeldTurn[] }>("GET", "/turns/held")).turns,
    releaseTurn: (taskId) => through("POST", `/turns/${encodeURIComponent(taskId)}/release`),
    failTurn: (taskId, reason) => through("POST", `/turns/${encodeURIComponent(taskId)}/fail`, { reason }),
    queues: async (limit) => (await through<{ queues: WaitingContext[] }>("GET", `/queues?limit=${limit}`)).queues,
    usage: async ({ days, subject }) => {
      const whose = subject === undefined ? "" : `&subject=${encodeURIComponent(subject)}`;
      return (await through<{ usage: DailyUsage[] }>("GET", `/usage?days=${days}${whose}`)).usage;
    },
    lostEffects: async () => (await through<{ effects: LostEffect[] }>("GET", "/effects")).effects,
    resolveEffect: (id, resolution) => through("POST", `/effects/${encodeURIComponent(id)}/resolve`, resolution),
    deliveries: async (state) =>
      (await through<{ deliveries: PushDelivery[] }>("GET", `/deliveries?state=${state}`)).deliveries,
    resendDelivery: (id) => through("POST", `/deliveries/${encodeURIComponent(id)}/resend`),
    rotateWebhookKey: () => through("POST", "/webhook-keys/rotate"),
    erase: (what) => through("POST", "/erase", what, LONG_PATIENCE),
    backup: (file) => through("POST", "/backup", { file }, LONG_PATIENCE),
  };
}

interface Command {
  readonly method: string;
  readonly route: string;
  readonly body?: unknown;
  /** Milliseconds. */
  readonly patience: number;
}

function call(path: string, { method, route, body, patience }: Command): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { socketPath: path, method, path: `/v1/operator${route}`, agent: false, timeout: patience },
      (incoming) => {
        let text = "";
        incoming.setEncoding("utf8");
        incoming.on("data", (chunk: string) => (text += chunk));
        incoming.on("error", reject);
        incoming.on("end", () => {
          const { statusCode = 0 } = incoming;
          if (statusCode === 204) resolve(undefined);
          else if (statusCode >= 200 && statusCode < 300) resolve(JSON.parse(text));
          else reject(failed(statusCode, text));
        });
      },
    );
    outgoing.on("timeout", () => outgoing.destroy(new Error(`no answer within ${patience / 1000} s`)));
    outgoing.on("error", reject);
    if (body === undefined) outgoing.end();
    else outgoing.setHeader("content-type", "application/json").end(JSON.stringify(body));
  });
}

/** What the other process threw, thrown here. */
function failed(status: number, text: string): Error {
  if (status >= 500 || !text.startsWith("{")) {
    return new RuntimeError("control.failed", `The process that serves the home answered ${status}; its log says why.`);
  }
  const { code, message } = (JSON.parse(text) as { error: { code: string; message: string } }).error;
  return code === "subject.invalid"
    ? new AccessError(code satisfies AccessErrorCode, message)
    : new OperationError(code as OperationErrorCode, message);
}
