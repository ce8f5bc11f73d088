/** SendMessage (A2A 1.0, section 3.1.1): what is checked before the engine takes a message, and how long its caller waits. */
import type { Agent } from "@nylorun/agents";
import {
  contentTypeNotSupported,
  matchesMode,
  mediaTypeOf,
  pushNotificationNotSupported,
  taskNotFound,
} from "@nylorun/protocol";
import type { SendMessageRequest, SendMessageResponse } from "@nylorun/protocol";

import type { LinksOf } from "../files/task-links.ts";
import type { Push } from "../push/push.ts";
import type { Store } from "../store/store.ts";
import { isOpenTo } from "../turn/callee.ts";
import type { Engine } from "../turn/engine.ts";
import type { TurnRecord } from "../turn/record.ts";
import type { TaskIds } from "../turn/task-id.ts";
import { sendResponseOf } from "../turn/task.ts";
import type { Call } from "./call.ts";
import type { Limits } from "./limits.ts";
import type { OpenWaits } from "./open-waits.ts";
import { targetOf } from "./push-configs.ts";

export interface SendOptions {
  readonly agents: readonly Agent[];
  readonly engine: Engine;
  readonly store: Store;
  readonly taskIds: TaskIds;
  readonly linksOf: LinksOf;
  readonly publicUrl: string;
  readonly waits: OpenWaits;
  readonly limits: Limits;
  /** Undefined: nothing is pushed. */
  readonly push: Push | undefined;
  /** How long a blocking call waits, in milliseconds. Then it answers with the task as it is: the profile's own rule. */
  readonly waitMs: number;
}

/** A call that goes on waiting. */
export interface StillWaiting {
  readonly response: Promise<SendMessageResponse>;
  readonly hangUp: () => void;
}

export type SendMessage = (call: Call, request: SendMessageRequest) => Promise<SendMessageResponse | StillWaiting>;

/** Makes the method. It throws A2aError: -32003, -32005, -32001, and what the engine throws; Refused 429 before it has taken anything. */
export function createSendMessage({
  agents,
  engine,
  store,
  taskIds,
  linksOf,
  publicUrl,
  waits,
  limits,
  push,
  waitMs,
}: SendOptions): SendMessage {
  const byId = new Map(agents.map((agent) => [agent.id, agent]));
  return async (call, { message, configuration }) => {
    const { scope, agent, active, traceparent } = call;
    const config = configuration?.taskPushNotificationConfig;
    if (config !== undefined && push === undefined) throw pushNotificationNotSupported();
    const target = config && targetOf(config, push!, { active, field: "configuration.taskPushNotificationConfig." });
    for (const part of message.parts) {
      const type = mediaTypeOf(part);
      if (!agent.inputModes.includes(type) && !matchesMode(type, agent.inputModes))
        throw notTaken(type, agent.inputModes);
    }
    if (message.referenceTaskIds !== undefined) await checkReferences(message.referenceTaskIds, scope.subject);

    const send = () =>
      engine.send({ subject: scope.subject, agent: scope.agent, message, active, traceparent, push: target });
    const respond = async (settled: TurnRecord) => {
      const links = await linksOf(settled, settled.view.artifacts);
      const historyLength = configuration?.historyLength;
      return sendResponseOf(settled, { taskIds, active, historyLength, links, publicUrl });
    };
    if (configuration?.returnImmediately === true) return await respond(await send());
    const over = limits.wait(scope.subject);
    let waitsOn = false;
    try {
      const turn = await send();
      const settled = await waits.brief(turn, waitMs);
      if (settled !== undefined) return await respond(settled);
      const wait = waits.long(turn, waitMs, call.request.signal);
      waitsOn = true;
      return { response: wait.turn.finally(over).then(respond), hangUp: wait.hangUp };
    } finally {
      if (!waitsOn) over();
    }
  };

  /** A message may refer to any task of its subject, with an agent that it may use. Of others it must not even tell that they are there (I7). */
  async function checkReferences(ids: readonly string[], subject: string): Promise<void> {
    for (const id of ids) {
      const key = taskIds.decode(id);
      const turn = key && (await store.loadTurn(key));
      const agent = turn && byId.get(turn.agent);
      if (turn?.subject !== subject || (agent && !isOpenTo(agent, subject))) throw taskNotFound(id);
    }
  }
}

export function isStillWaiting(result: object): result is StillWaiting {
  return "hangUp" in result;
}

function notTaken(type: string, modes: readonly string[]): Error {
  return contentTypeNotSupported(`This agent takes parts of ${modes.join(", ")}; one is ${type.slice(0, 100)}.`, {
    supportedTypes: modes.join(", "),
  });
}
