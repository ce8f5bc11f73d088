/**
 * The push config methods (A2A 1.0, sections 3.1.7 to 3.1.10). Each looks for the task first: of others' tasks it must not even tell
 * that they are there (I7).
 */
import { randomUUID } from "node:crypto";

import { A2aError, invalidParams, taskNotFound } from "@nylorun/protocol";
import type { ExtensionUri, TaskPushNotificationConfig } from "@nylorun/protocol";

import type { Push } from "../push/push.ts";
import { readTarget, shownConfig } from "../push/target.ts";
import type { PushConfig, PushTarget } from "../store/push.ts";
import type { Store } from "../store/store.ts";
import type { Engine } from "../turn/engine.ts";
import { pushConfigLimit } from "../turn/inbox.ts";
import type { Method } from "./methods.ts";

export interface PushConfigMethods {
  readonly CreateTaskPushNotificationConfig: Method<"CreateTaskPushNotificationConfig">;
  readonly GetTaskPushNotificationConfig: Method<"GetTaskPushNotificationConfig">;
  readonly ListTaskPushNotificationConfigs: Method<"ListTaskPushNotificationConfigs">;
  readonly DeleteTaskPushNotificationConfig: Method<"DeleteTaskPushNotificationConfig">;
}

/** Configs on one page, unless the caller wants fewer: more than a task has. */
const PAGE = 100;

export function createPushConfigMethods(options: {
  readonly engine: Engine;
  readonly store: Store;
  readonly push: Push;
}): PushConfigMethods {
  const { engine, store, push } = options;
  return {
    async CreateTaskPushNotificationConfig({ scope, active }, { taskId, ...config }) {
      const turn = await engine.get(scope, taskId);
      const target = targetOf(config, push, { active, field: "" });
      const put = await store.push.put(turn, target);
      if (put === "unknown") throw taskNotFound(taskId);
      if (put === "full") throw pushConfigLimit("taskId");
      return shownConfig(taskId, target);
    },

    async GetTaskPushNotificationConfig({ scope }, { taskId, id }) {
      const configs = await store.push.list(await engine.get(scope, taskId));
      const config = configs.find((one) => one.id === id);
      if (config === undefined) throw configNotFound();
      return shownConfig(taskId, config);
    },

    async ListTaskPushNotificationConfigs({ scope }, { taskId, pageSize = 0, pageToken }) {
      const configs = await store.push.list(await engine.get(scope, taskId));
      const rest = pageToken ? after(configs, pageToken) : configs;
      const page = rest.slice(0, pageSize > 0 ? pageSize : PAGE);
      return {
        configs: page.map((config) => shownConfig(taskId, config)),
        ...(page.length < rest.length && { nextPageToken: tokenOf(page.at(-1)!) }),
      };
    },

    async DeleteTaskPushNotificationConfig({ scope }, { taskId, id }) {
      // Deleting again is the same.
      await store.push.remove(await engine.get(scope, taskId), id);
      return {};
    },
  };
}

/** @throws A2aError -32602. */
export function targetOf(
  config: TaskPushNotificationConfig,
  { hosts }: Push,
  { active, field }: { readonly active: ReadonlySet<ExtensionUri>; readonly field: string },
): PushTarget {
  return readTarget(config, { hosts, extensions: [...active], field, newId: randomUUID });
}

/** A2A 1.0, section 3.1.8. */
function configNotFound(): A2aError {
  return new A2aError("TaskNotFound", { message: "The task has no push config with this id" });
}

/** The last config of a page; and when it came to be, should it be deleted before the next page is asked for. */
function tokenOf({ createdAt, id }: PushConfig): string {
  return Buffer.from(`${createdAt} ${id}`).toString("base64url");
}

function after(configs: readonly PushConfig[], token: string): readonly PushConfig[] {
  const [, createdAt, id] = /^(\d{1,16}) (.+)$/s.exec(Buffer.from(token, "base64url").toString()) ?? [];
  if (id === undefined) throw invalidParams([{ field: "pageToken", description: "is none that was given out" }]);
  const last = configs.findIndex((config) => config.id === id);
  return last < 0 ? configs.filter((config) => config.createdAt > Number(createdAt)) : configs.slice(last + 1);
}
