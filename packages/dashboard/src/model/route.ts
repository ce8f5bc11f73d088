/** Where in the dashboard a person is: the part of the address after `#`. */

export type Route =
  | { readonly view: "now" }
  | { readonly view: "task"; readonly agent: string; readonly taskId: string }
  | { readonly view: "report"; readonly taskId: string; readonly subject: string | undefined }
  | { readonly view: "context"; readonly agent: string; readonly contextId: string }
  | { readonly view: "agent"; readonly agent: string }
  | { readonly view: "history" }
  | { readonly view: "operator" };

export function routeOf(hash: string): Route {
  const [view = "", one, ...rest] = hash.replace(/^#\/?/, "").split("?", 1)[0]!.split("/").map(decoded);
  const other = rest.join("/");
  if (view === "tasks" && one && other) return { view: "task", agent: one, taskId: other };
  if (view === "contexts" && one && other) return { view: "context", agent: one, contextId: other };
  if (view === "reports" && one) return { view: "report", taskId: one, subject: other || undefined };
  if (view === "agents" && one) return { view: "agent", agent: one };
  if (view === "history" || view === "operator") return { view };
  return { view: "now" };
}

export const to = {
  now: "#/",
  history: "#/history",
  operator: "#/operator",
  task: (agent: string, taskId: string) => `#/tasks/${encodeURIComponent(agent)}/${encodeURIComponent(taskId)}`,
  context: (agent: string, id: string) => `#/contexts/${encodeURIComponent(agent)}/${encodeURIComponent(id)}`,
  agent: (agent: string) => `#/agents/${encodeURIComponent(agent)}`,
  /** @param subject Whose it is, where everybody's are shown. */
  report: (taskId: string, subject?: string) =>
    `#/reports/${[taskId, subject ?? ""]
      .filter((part) => part !== "")
      .map(encodeURIComponent)
      .join("/")}`,
} as const;

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
