/**
 * Progress of an agent that speaks the Agent Client Protocol, from what it and its client say to each other (versions 1 and 2).
 *
 * | message                                    | status                                       |
 * |--------------------------------------------|----------------------------------------------|
 * | client: session/prompt                     | started                                      |
 * | agent: session/update with a plan or a tool | running; percent from the plan                |
 * | agent: session/request_permission          | paused, until the client answers              |
 * | agent: the answer to the prompt; or idle   | done, or error unless the turn ended by itself |
 */
import { basename } from "node:path";

import type { Progress } from "../reports/reporter.ts";
import { activeLabel, percentOf, slugOf, todoState } from "./todo-list.ts";
import type { Todo } from "./todo-list.ts";

export interface AcpReport {
  readonly task: string;
  readonly agent: string;
  readonly session: string;
  readonly progress: Progress;
}

const ANSWERS_THAT_MATTER: ReadonlySet<string> = new Set(["initialize", "session/new", "session/prompt"]);

type Fields = Readonly<Record<string, unknown>>;

interface Session {
  folder: string;
  todos: readonly Todo[];
  tool: string | undefined;
  running: boolean;
}

/** Sees the messages of one connection, and says what to report. */
export class AcpProgress {
  readonly #sessions = new Map<string, Session>();
  /** Requests that wait for their answer, by the side that sent them and their id. */
  readonly #asked = new Map<string, { readonly method: string; readonly session: string; readonly folder: string }>();
  readonly #fallback: string;
  #agent: string | undefined;

  /**
   * @param agent Its name, if it was given one.
   * @param command What it is called by, until it says its name.
   */
  constructor(agent: string | undefined, command: string) {
    this.#agent = agent;
    this.#fallback = slugOf(basename(command), 40) || "agent";
  }

  fromClient(message: unknown): AcpReport | undefined {
    const { id, method, params } = objectOf(message);
    const { sessionId, cwd } = objectOf(params);
    if (typeof method !== "string") return this.#answered("agent", id, message);
    const session = textOf(sessionId) ?? "";
    if (ANSWERS_THAT_MATTER.has(method)) {
      this.#asked.set(`client:${String(id)}`, { method, session, folder: textOf(cwd) ?? "" });
    }
    if (method === "session/load" || method === "session/resume") this.#open(session, textOf(cwd));
    if (method !== "session/prompt" || session === "") return undefined;
    const known = this.#open(session, undefined);
    known.running = true;
    known.tool = undefined;
    return this.#report(session, "started", activeLabel(known.todos) ?? "Thinking");
  }

  fromAgent(message: unknown): AcpReport | undefined {
    const { id, method, params } = objectOf(message);
    if (typeof method !== "string") return this.#answered("client", id, message);
    const { sessionId, update, toolCall, title } = objectOf(params);
    const session = textOf(sessionId);
    if (session === undefined) return undefined;
    if (method === "session/request_permission") {
      this.#asked.set(`agent:${String(id)}`, { method, session, folder: "" });
      const what = textOf(objectOf(toolCall)["title"]) ?? textOf(title);
      return this.#report(session, "paused", "Waiting for permission", what);
    }
    return method === "session/update" ? this.#updated(session, objectOf(update)) : undefined;
  }

  /** The agent is gone: what was going on will not end by itself. */
  ended(): AcpReport[] {
    return [...this.#sessions]
      .filter(([, { running }]) => running)
      .map(([session]) => this.#report(session, "error", "", "The agent ended"));
  }

  #updated(session: string, update: Fields): AcpReport | undefined {
    const known = this.#open(session, undefined);
    switch (update["sessionUpdate"]) {
      case "plan":
        known.todos = todosOf(update["entries"]);
        break;
      case "plan_update":
        known.todos = todosOf(objectOf(update["plan"])["entries"]);
        break;
      case "tool_call":
      case "tool_call_update":
        known.tool = textOf(update["title"]) ?? known.tool;
        break;
      case "state_update":
        if (update["state"] === "requires_action") return this.#report(session, "paused", "Waiting for you");
        if (update["state"] === "running") known.running = true;
        else if (update["state"] === "idle" && known.running) return this.#end(session, update["stopReason"]);
        break;
      default:
        return undefined;
    }
    const active = activeLabel(known.todos);
    // What is said after the turn's end, or before its beginning, belongs to none.
    if (!known.running) return undefined;
    return this.#report(
      session,
      "running",
      active ?? known.tool ?? "Working",
      active === undefined ? undefined : known.tool,
    );
  }

  /** @param by Who had asked. */
  #answered(by: "client" | "agent", id: unknown, message: unknown): AcpReport | undefined {
    const key = `${by}:${String(id)}`;
    const asked = this.#asked.get(key);
    this.#asked.delete(key);
    const { result, error } = objectOf(message);
    switch (asked?.method) {
      case "initialize": {
        // `agentInfo` in version 1, `info` in version 2.
        const { agentInfo, info } = objectOf(result);
        const { name } = objectOf(agentInfo ?? info);
        this.#agent ??= slugOf(textOf(name) ?? "", 60) || undefined;
        return undefined;
      }
      case "session/new": {
        const session = textOf(objectOf(result)["sessionId"]);
        if (session !== undefined) this.#open(session, asked.folder);
        return undefined;
      }
      case "session/prompt": {
        const reason = objectOf(result)["stopReason"];
        if (error !== undefined) return this.#end(asked.session, "error", textOf(objectOf(error)["message"]));
        // In version 2 the answer says only that the prompt was taken.
        return reason === undefined ? undefined : this.#end(asked.session, reason);
      }
      case "session/request_permission":
        return this.#sessions.get(asked.session)?.running ? this.#resumed(asked.session) : undefined;
      default:
        return undefined;
    }
  }

  #resumed(session: string): AcpReport {
    const { todos, tool } = this.#open(session, undefined);
    return this.#report(session, "running", activeLabel(todos) ?? tool ?? "Working");
  }

  #end(session: string, reason: unknown, message?: string): AcpReport | undefined {
    const known = this.#sessions.get(session);
    if (known === undefined || !known.running) return undefined;
    known.running = false;
    if (reason === "end_turn" || reason === undefined || reason === null)
      return this.#report(session, "done", "Finished");
    return this.#report(session, "error", activeLabel(known.todos) ?? "", message ?? reasonText(reason));
  }

  #report(session: string, status: Progress["status"], stage: string, message?: string): AcpReport {
    const { todos, folder } = this.#open(session, undefined);
    const agent = this.#agent ?? this.#fallback;
    const place = slugOf(basename(folder), 40);
    return {
      task: `${agent}:${place === "" ? "" : `${place}-`}${slugOf(session, 12) || "session"}`.slice(0, 128),
      agent,
      session,
      progress: { percent: status === "done" ? 100 : (percentOf(todos) ?? 0), stage, status, message },
    };
  }

  #open(session: string, folder: string | undefined): Session {
    const known = this.#sessions.get(session) ?? { folder: "", todos: [], tool: undefined, running: false };
    known.folder = folder || known.folder;
    this.#sessions.set(session, known);
    return known;
  }
}

function todosOf(entries: unknown): Todo[] {
  if (!Array.isArray(entries)) return [];
  return entries.map((entry: unknown, index) => {
    const { content, status } = objectOf(entry);
    return { id: String(index), label: textOf(content) ?? "", state: todoState(status) };
  });
}

function reasonText(reason: unknown): string {
  switch (reason) {
    case "cancelled":
      return "Canceled";
    case "refusal":
      return "The agent refused";
    case "max_tokens":
      return "The limit of tokens was reached";
    case "max_turn_requests":
      return "The limit of requests was reached";
    default:
      return "The turn failed";
  }
}

function objectOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
