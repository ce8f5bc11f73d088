/**
 * The methods of A2A, as the profile serves them. What it does not serve is answered with the error that A2A names for an agent
 * whose card does not declare it (A2A 1.0, section 3.3.4), whatever the parameters.
 */
import type { Agent } from "@nylorun/agents";
import {
  isA2aMethod,
  methodNotFound,
  parseParams,
  pushNotificationNotSupported,
  unsupportedOperation,
} from "@nylorun/protocol";
import type { A2aError, A2aMethod, A2aRequests } from "@nylorun/protocol";

import type { LinksOf } from "../files/task-links.ts";
import type { Push } from "../push/push.ts";
import type { Store } from "../store/store.ts";
import type { Engine } from "../turn/engine.ts";
import type { Tracer } from "../turn/ports.ts";
import type { TaskIds } from "../turn/task-id.ts";
import { taskOf } from "../turn/task.ts";
import type { Call } from "./call.ts";
import type { Limits } from "./limits.ts";
import { createListTasks } from "./list-tasks.ts";
import { createOpenWaits } from "./open-waits.ts";
import { createPageTokens } from "./page-token.ts";
import { createPushConfigMethods } from "./push-configs.ts";
import { createSendMessage } from "./send-message.ts";
import { traceSend } from "./traced-send.ts";

export interface MethodOptions {
  readonly agents: readonly Agent[];
  readonly engine: Engine;
  readonly store: Store;
  readonly taskIds: TaskIds;
  readonly linksOf: LinksOf;
  /** See `TaskOptions`. */
  readonly publicUrl: string;
  /** How long a blocking SendMessage waits, in milliseconds. */
  readonly waitMs: number;
  readonly limits: Limits;
  readonly tracer: Tracer;
  /** Undefined: nothing is pushed. */
  readonly push: Push | undefined;
  /** Aborted when the Runtime stops: waits end then. */
  readonly stopping: AbortSignal;
}

/**
 * Runs a method. The result is what `result` of the answer holds, or a {@link StillWaiting}.
 *
 * @throws A2aError -32601, -32602, and what the method throws.
 */
export type RunMethod = (name: string, params: unknown, call: Call) => Promise<object>;

export type Method<Name extends A2aMethod> = (call: Call, request: A2aRequests[Name]) => Promise<object>;

/** What is served, and which error the rest is. */
type Methods = { readonly [Name in A2aMethod]: Method<Name> | { readonly error: () => A2aError } };

export function createMethods(options: MethodOptions): RunMethod {
  const { engine, store, taskIds, linksOf, publicUrl, tracer, push, stopping } = options;
  const waits = createOpenWaits(engine, stopping);
  const noStreaming = notServed("Streaming is not supported: poll with GetTask, or let SendMessage wait.");
  const methods: Methods = {
    SendMessage: traceSend(tracer, createSendMessage({ ...options, waits })),
    GetTask: async ({ scope, active }, { id, historyLength }) => {
      const turn = await engine.get(scope, id);
      const links = await linksOf(turn, turn.view.artifacts);
      return taskOf(turn, { taskIds, active, historyLength, links, publicUrl });
    },
    ListTasks: createListTasks({ engine, taskIds, tokens: createPageTokens(store), linksOf, publicUrl }),
    CancelTask: async ({ scope, active }, { id }) => {
      const turn = await engine.cancel(scope, id);
      const links = await linksOf(turn, turn.view.artifacts);
      return taskOf(turn, { taskIds, active, links, publicUrl });
    },
    SendStreamingMessage: noStreaming,
    SubscribeToTask: noStreaming,
    ...(push === undefined ? notPushed : createPushConfigMethods({ engine, store, push })),
    GetExtendedAgentCard: notServed("This agent has no extended card: its public card says everything."),
  };

  return async (name, params, call) => {
    if (!isA2aMethod(name)) throw methodNotFound(name);
    // The parameters of a method go to the method of that name: the compiler cannot follow that through the table.
    const method = methods[name] as Method<A2aMethod> | { readonly error: () => A2aError };
    if ("error" in method) throw method.error();
    return method(call, parseParams(name, params));
  };
}

const noPush = { error: () => pushNotificationNotSupported() };
const notPushed = {
  CreateTaskPushNotificationConfig: noPush,
  GetTaskPushNotificationConfig: noPush,
  ListTaskPushNotificationConfigs: noPush,
  DeleteTaskPushNotificationConfig: noPush,
};

function notServed(message: string): { readonly error: () => A2aError } {
  return { error: () => unsupportedOperation(message) };
}
