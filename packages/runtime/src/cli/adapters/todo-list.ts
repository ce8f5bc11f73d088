/** A coding agent's own list of what is to be done, and how far that is. */

export interface Todo {
  readonly id: string;
  readonly label: string;
  readonly state: "open" | "active" | "done";
}

/** Finished of all, in percent; undefined of an empty list. */
export function percentOf(todos: readonly Todo[]): number | undefined {
  if (todos.length === 0) return undefined;
  return (100 * todos.filter(({ state }) => state === "done").length) / todos.length;
}

/** What is being done, as the list says. */
export function activeLabel(todos: readonly Todo[]): string | undefined {
  return todos.find(({ state }) => state === "active")?.label;
}

/** The words of Claude Code and of the Agent Client Protocol for the state of an entry. */
export function todoState(word: unknown): Todo["state"] {
  return word === "completed" || word === "cancelled" ? "done" : word === "in_progress" ? "active" : "open";
}

/** For task ids: what the contract allows of a text. */
export function slugOf(text: string, length: number): string {
  return text
    .replaceAll(/[^a-zA-Z0-9._]+/g, "-")
    .replaceAll(/^[^a-zA-Z0-9]+|-+$/g, "")
    .slice(0, length);
}
