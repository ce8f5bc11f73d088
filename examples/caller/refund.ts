/**
 * Calls the example agent `refunds`, shows what it does, and asks you before it pays.
 *
 *     npm start                                              in one terminal
 *     node examples/caller/refund.ts "Refund order 1001"     in another
 */
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline/promises";

import { createA2aClient } from "@nylorun/agents/a2a";
import type { A2aClient, OpenApproval, TaskView } from "@nylorun/agents/a2a";

/** @param ask Shows a person what is to be approved, and says what they decided. */
export async function refund(
  agent: A2aClient,
  text: string,
  ask: (open: OpenApproval) => Promise<boolean>,
): Promise<TaskView> {
  const task = await agent.send(text);
  for await (const now of task.updates()) {
    for (const { label, state } of now.plan?.steps ?? []) console.log(state.padEnd(8), label);
    if (now.interaction?.kind === "approval") await task.approve(await ask(now.interaction));
  }
  return task.done();
}

if (import.meta.main) {
  const { NYLORUN_URL: url = "http://127.0.0.1:6956", NYLORUN_KEY: key = readFileSync(".nylorun/local.key", "utf8") } =
    process.env;
  const agent = await createA2aClient({ url: `${url}/v1/a2a/agents/refunds/`, auth: key });
  const terminal = createInterface(process.stdin, process.stdout);
  const { output, totals, traceId } = await refund(
    agent,
    process.argv[2] ?? "Refund order 1001",
    async ({ prompt }) => {
      return (await terminal.question(`${prompt} Type yes to approve: `)) === "yes";
    },
  );
  terminal.close();
  console.log(output, totals, traceId);
}
