/**
 * Progress of Claude Code, from its hooks: what an event says, and what was said before, become a report. No word of the model
 * is needed for it.
 *
 * | hook                      | status  | stage                                              |
 * |---------------------------|---------|----------------------------------------------------|
 * | UserPromptSubmit          | started | what is active on the list, else "Thinking"         |
 * | PreToolUse, PostToolUse   | running | what is active on the list, else the tool           |
 * | Notification (permission) | paused  | "Waiting for permission"                            |
 * | Stop                      | done    | if nothing is left on the list                      |
 * |                           | paused  | "Waiting for you", else                             |
 * | StopFailure               | error   |                                                    |
 * | SessionEnd                | done    | if nothing is left on the list; error else. Nothing, when the task has ended before |
 *
 * Percent is finished entries of all on the list that the agent keeps (TodoWrite, or TaskCreate and TaskUpdate): 0 without one.
 */
import { basename } from "node:path";

import type { Progress } from "../reports/reporter.ts";
import { activeLabel, percentOf, slugOf, todoState } from "./todo-list.ts";
import type { Todo } from "./todo-list.ts";

/** What is remembered of a session between two hooks, each of which is a process of its own: changes, in their order. */
export type Change =
  | { readonly all: readonly Todo[] }
  | { readonly put: Partial<Todo> & Pick<Todo, "id"> }
  | { readonly drop: string }
  | { readonly status: Progress["status"]; readonly percent: number };

export interface Session {
  readonly todos: readonly Todo[];
  /** Of the last report. */
  readonly status: Progress["status"] | undefined;
  readonly percent: number;
}

/** What a hook is told, as far as it matters here. Everything may be missing, or be something else. */
export interface HookInput {
  readonly session_id?: unknown;
  readonly cwd?: unknown;
  readonly hook_event_name?: unknown;
  readonly tool_name?: unknown;
  readonly tool_input?: unknown;
  readonly tool_response?: unknown;
  readonly notification_type?: unknown;
  readonly error?: unknown;
  /** There in a subagent, which has no part in the session's list. */
  readonly agent_id?: unknown;
}

export const AGENT = "claude-code";

export function taskOf({ session_id: session, cwd }: HookInput): string | undefined {
  if (typeof session !== "string" || session === "") return undefined;
  const folder = typeof cwd === "string" ? slugOf(basename(cwd), 40) : "";
  return `${AGENT}:${folder === "" ? "" : `${folder}-`}${slugOf(session, 8)}`;
}

export function sessionOf(changes: readonly Change[]): Session {
  const todos = new Map<string, Todo>();
  let status: Session["status"];
  let percent = 0;
  for (const change of changes) {
    if ("all" in change) {
      todos.clear();
      for (const todo of change.all) todos.set(todo.id, todo);
    } else if ("put" in change) {
      const { id } = change.put;
      const known = todos.get(id);
      // An update of an entry whose creation was not heard says too little to show.
      if (known !== undefined || change.put.label !== undefined) {
        todos.set(id, { label: "", state: "open", ...known, ...change.put });
      }
    } else if ("drop" in change) todos.delete(change.drop);
    else ({ status, percent } = change);
  }
  return { todos: [...todos.values()], status, percent };
}

/** What an event changes on the list, if anything. */
export function listChange(input: HookInput): Change | undefined {
  if (input.hook_event_name !== "PostToolUse" || input.agent_id !== undefined) return undefined;
  const given = objectOf(input.tool_input);
  const answer = objectOf(input.tool_response);
  switch (input.tool_name) {
    case "TodoWrite":
      return { all: listOf(given["todos"]).map((todo, index) => todoOf(todo, String(index), "content")) };
    case "TaskList":
      return {
        all: listOf(answer["tasks"]).map((task, index) => todoOf(task, idOf(task["id"]) ?? String(index), "subject")),
      };
    case "TaskCreate": {
      const task = objectOf(answer["task"]);
      const id = idOf(task["id"]);
      return id === undefined ? undefined : { put: todoOf({ ...task, ...given, status: "pending" }, id, "subject") };
    }
    case "TaskUpdate": {
      const id = idOf(given["taskId"]);
      if (id === undefined) return undefined;
      if (given["status"] === "deleted") return { drop: id };
      const label = textOf(given["activeForm"]) ?? textOf(given["subject"]);
      const state = given["status"] === undefined ? undefined : todoState(given["status"]);
      return { put: { id, ...(label !== undefined && { label }), ...(state !== undefined && { state }) } };
    }
    default:
      return undefined;
  }
}

/** What to report; undefined: nothing. */
export function progressOf(input: HookInput, session: Session): Progress | undefined {
  const { todos } = session;
  const percent = percentOf(todos) ?? 0;
  const active = activeLabel(todos);
  const isDone = todos.every(({ state }) => state === "done");
  switch (input.hook_event_name) {
    case "UserPromptSubmit":
      return { percent: isDone ? 0 : percent, stage: active ?? "Thinking", status: "started" };
    case "PreToolUse":
    case "PostToolUse": {
      const tool = toolText(input);
      return { percent, stage: active ?? tool, status: "running", message: active === undefined ? undefined : tool };
    }
    case "Notification":
      if (input.notification_type !== "permission_prompt") return undefined;
      return { percent, stage: "Waiting for permission", status: "paused" };
    case "Stop":
      return isDone
        ? { percent: 100, stage: "Finished", status: "done" }
        : { percent, stage: active ?? "Waiting for you", status: "paused" };
    case "StopFailure":
      return {
        percent,
        stage: active ?? "",
        status: "error",
        message: textOf(input.error) ?? "It stopped with an error",
      };
    case "SessionEnd": {
      if (session.status === undefined || session.status === "done" || session.status === "error") return undefined;
      const finished = todos.filter(({ state }) => state === "done").length;
      const how = todos.length === 0 ? "" : ` with ${finished} of ${todos.length} steps done`;
      return isDone && todos.length > 0
        ? { percent: 100, stage: "Finished", status: "done" }
        : { percent, stage: active ?? "", status: "error", message: `The session ended${how}` };
    }
    default:
      return undefined;
  }
}

/** `Bash: Run the tests`, `Edit: events.ts`: as much of a tool's input as says what it is for. */
function toolText({ tool_name: name, tool_input: input }: HookInput): string {
  if (name === "TodoWrite" || (typeof name === "string" && /^Task(Create|Update|List|Get)$/.test(name)))
    return "Planning";
  const { description, file_path: path, pattern } = objectOf(input);
  const what = textOf(description) ?? (typeof path === "string" ? basename(path) : textOf(pattern));
  return [textOf(name) ?? "Working", what].filter((part) => part !== undefined).join(": ");
}

function todoOf(entry: Readonly<Record<string, unknown>>, id: string, label: string): Todo {
  const state = todoState(entry["status"]);
  const words = textOf(entry[label]) ?? "";
  return { id, label: (state === "active" ? textOf(entry["activeForm"]) : undefined) ?? words, state };
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function listOf(value: unknown): Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function idOf(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}
