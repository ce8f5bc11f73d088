/** What the routes do with an update: remember how each task is. Yours would write to a database. */
import type { StreamResponse, TaskState } from "@nylorun/agents/a2a";

export const states = new Map<string, TaskState>();

export function remember({ task, statusUpdate }: StreamResponse): void {
  const id = task?.id ?? statusUpdate?.taskId;
  const status = (task ?? statusUpdate)?.status;
  if (id !== undefined && status !== undefined) states.set(id, status.state);
}

/** The secret that the agent's operator gave you, and the token that you made the config with. */
export function whatToExpect(): { readonly secrets: readonly string[]; readonly token: string } {
  const { A2A_WEBHOOK_SECRET: secret, A2A_WEBHOOK_TOKEN: token } = process.env;
  if (!secret || !token) throw new Error("Set A2A_WEBHOOK_SECRET and A2A_WEBHOOK_TOKEN.");
  return { secrets: [secret], token };
}
