/** Where a task's updates are pushed to (A2A 1.0, sections 3.1.7 to 3.1.10). */
import type { AuthenticationInfo, TaskPushNotificationConfig } from "@nylorun/protocol";

import type { Connection } from "./connection.ts";
import { invalidCall } from "./errors.ts";
import { randomId } from "./random-id.ts";

/** A webhook that wants to hear of a task. */
export interface PushTarget {
  /** Where updates are posted. */
  readonly url: string;
  /** Names the config; the same id again replaces it. Default: the agent's choice. */
  readonly id?: string;
  /**
   * Comes with each update, so that the webhook can tell that somebody asked for it. Default: 128 random bits. Keep it: agents do not
   * show it again.
   */
  readonly token?: string;
  /** How the agent authenticates itself to the webhook. */
  readonly authentication?: AuthenticationInfo;
}

/** A config as the agent keeps it, with the token that it was made with. */
export interface PushConfig extends TaskPushNotificationConfig {
  readonly token: string;
}

interface Options {
  readonly signal?: AbortSignal;
}

/** The push configs of one task. All of them throw A2aClientError `a2a.pushNotificationNotSupported` where there is no push. */
export interface PushConfigs {
  create(target: PushTarget, options?: Options): Promise<PushConfig>;
  get(id: string, options?: Options): Promise<TaskPushNotificationConfig>;
  list(options?: Options): Promise<readonly TaskPushNotificationConfig[]>;
  /** Nothing more is pushed, not even what was due. Deleting again is no error. */
  delete(id: string, options?: Options): Promise<void>;
}

/** @internal */
export function pushConfigsOf(taskId: string, connection: Connection): PushConfigs {
  return {
    async create(target, options) {
      const config = pushConfigOf(target);
      const kept = await connection.createPushConfig({ ...config, taskId }, options);
      return { ...kept, token: config.token };
    },
    get: (id, options) => connection.getPushConfig(taskId, id, options),
    list: (options) => connection.listPushConfigs(taskId, options),
    delete: (id, options) => connection.deletePushConfig(taskId, id, options),
  };
}

/** @throws A2aClientError `call.invalid`. */
export function pushConfigOf({ url, id, token = randomId(), authentication }: PushTarget): PushConfig {
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? "")) {
    throw invalidCall(`A webhook's url must be an http or https address; it is "${url}".`);
  }
  return { url, token, ...(id !== undefined && { id }), ...(authentication && { authentication }) };
}
