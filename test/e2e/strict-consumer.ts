/** A program of a strict caller. It is compiled against what is published, with every check there is, and never run. */
import { A2aClientError, createA2aClient, createA2aHandler, toProgressEvent, verifyWebhook } from "@nylorun/agents/a2a";
import type { A2aHandler, A2aTask, Interaction, SeenIds, TaskView } from "@nylorun/agents/a2a";

export async function callAgent(): Promise<void> {
  const agent = await createA2aClient({ url: "https://example.com/agent/", auth: async () => "token" });
  const task: A2aTask = await agent.send("Refund order 1001", { delivery: "reject", contextId: "c" });
  for await (const now of task.updates()) {
    const view: TaskView = now;
    const labels: readonly string[] = view.plan?.steps.map(({ label }) => label) ?? [];
    const percent: number = toProgressEvent(now).percent;
    if (now.interaction?.kind === "approval") await task.approve(labels.length > percent);
    if (now.interaction?.kind === "question") {
      const open: Interaction = now.interaction;
      const choices: readonly string[] | undefined = now.interaction.choices;
      await task.answer(choices?.[0] ?? "", { interaction: open });
    }
    if (now.interaction?.kind === "connection") {
      const url: string | undefined = now.interaction.url;
      await task.connected(url !== undefined);
    }
  }
  try {
    const { output, files, totals, traceId } = await task.done();
    const text: unknown = output;
    const bytes: readonly Uint8Array[] = await Promise.all(files.map((file) => file.bytes()));
    const cost: number | undefined = totals?.costUsd;
    const trace: string | undefined = traceId;
    report(text, bytes, cost, trace);
  } catch (error) {
    if (error instanceof A2aClientError && error.code === "task.failed") report(error.task?.text, error.reason);
  }
}

export async function receive(request: Request): Promise<void> {
  const seen: SeenIds = { add: () => true, delete: () => undefined };
  const hook = await verifyWebhook(request, { secrets: ["whsec_AAAA"], seen });
  await hook.once((update) => report(update.statusUpdate?.status.state));
}

export function gateway(privateKey: Readonly<Record<string, unknown>>): Promise<A2aHandler> {
  return createA2aHandler({
    agents: ["refunds"],
    runtimeUrl: "http://127.0.0.1:6956",
    publicUrl: "https://app.example.com/a2a",
    subject: (request) => request.headers.get("x-partner") ?? undefined,
    signer: { issuer: "https://app.example.com", audience: "nylorun", privateKey },
  });
}

export const reports: (readonly unknown[])[] = [];

function report(...values: readonly unknown[]): void {
  reports.push(values);
}
