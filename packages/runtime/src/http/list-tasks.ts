/** ListTasks (A2A 1.0, section 3.1.4): pages of the caller's tasks with one agent, latest status change first. */
import { invalidParams } from "@nylorun/protocol";
import type { ListTasksRequest, ListTasksResponse } from "@nylorun/protocol";

import type { LinksOf } from "../files/task-links.ts";
import type { Engine } from "../turn/engine.ts";
import type { TaskIds } from "../turn/task-id.ts";
import { taskOf } from "../turn/task.ts";
import type { Call } from "./call.ts";
import type { PageTokens } from "./page-token.ts";

const PAGE_SIZE = 50;
/** A page of large tasks is over sooner: so much of them is read at once, in characters. */
const PAGE_CHARACTERS = 4 * 1024 * 1024;

export interface ListOptions {
  readonly engine: Engine;
  readonly taskIds: TaskIds;
  readonly tokens: PageTokens;
  readonly linksOf: LinksOf;
  readonly publicUrl: string;
}

export type ListTasks = (call: Call, request: ListTasksRequest) => Promise<ListTasksResponse>;

/** Makes the method. It throws A2aError: -32602 for a token of another list, or none of ours. */
export function createListTasks({ engine, taskIds, tokens, linksOf, publicUrl }: ListOptions): ListTasks {
  return async ({ scope, active }, request) => {
    const { contextId, status, pageSize = PAGE_SIZE, pageToken, historyLength, includeArtifacts = false } = request;
    const { subject, agent } = scope;
    const statusFrom = request.statusTimestampAfter && Date.parse(request.statusTimestampAfter);
    const list = JSON.stringify([subject, agent, contextId ?? null, status ?? null, statusFrom ?? null]);
    const after = pageToken === undefined ? undefined : ((await tokens.open(pageToken, list)) ?? refuseToken());
    const { turns, more, total } = await engine.list({
      subject,
      agent,
      ...(contextId !== undefined && { contextId }),
      ...(status !== undefined && { status }),
      ...(typeof statusFrom === "number" && { statusFrom }),
      ...(after && { after }),
      limit: pageSize,
      size: PAGE_CHARACTERS,
    });
    const last = turns.at(-1);
    const tasks = turns.map(async (turn) => {
      const links = includeArtifacts ? await linksOf(turn, turn.view.artifacts) : undefined;
      return taskOf(turn, { taskIds, active, historyLength, links, publicUrl, artifacts: includeArtifacts });
    });
    return {
      tasks: await Promise.all(tasks),
      nextPageToken: more && last ? await tokens.seal(last, list) : "",
      pageSize,
      totalSize: total,
    };
  };
}

function refuseToken(): never {
  throw invalidParams([
    {
      field: "pageToken",
      description:
        "must be the nextPageToken of an earlier answer, sent with the same contextId, status and statusTimestampAfter",
    },
  ]);
}
