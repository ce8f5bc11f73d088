/** What docs/a2a/client.md shows, as code that runs: each function is one of its examples. */
import { appendFile, readFile } from "node:fs/promises";

import { A2aClientError, createA2aHandler, toProgressEvent } from "@nylorun/agents/a2a";
import type { A2aClient, A2aHandler, A2aTask, ProgressEvent, RemoteFile } from "@nylorun/agents/a2a";

/** Sends a message so that a crash of this program cannot send it twice. */
export async function sendOnce(agent: A2aClient, orderId: string): Promise<A2aTask> {
  const messageId = `refund-${orderId}`;
  const task = await agent.send(`Refund order ${orderId}`, { messageId });
  await appendFile("tasks.txt", `${task.id}\n`);
  return task;
}

/** Takes up every task that was begun before. */
export async function takeUp(agent: A2aClient): Promise<A2aTask[]> {
  const ids = (await readFile("tasks.txt", "utf8")).trim().split("\n");
  return Promise.all(ids.map((id) => agent.task(id)));
}

/** Two messages of one conversation. */
export async function converse(agent: A2aClient): Promise<unknown[]> {
  const conversation = agent.context();
  const first = await conversation.send("Remember the number 7.");
  const second = await conversation.send("Which number was it?");
  return [(await first.done()).output, (await second.done()).output];
}

/** Whatever the agent asks, answered by kind. */
export async function answerAll(task: A2aTask): Promise<void> {
  for await (const { interaction: open } of task.updates()) {
    if (open?.kind === "approval") await task.approve(true);
    if (open?.kind === "connection") await task.connected();
    if (open?.kind === "question" && !open.wantsAuthorization) await task.answer(open.choices?.[0] ?? "I do not know.");
  }
}

/** What went wrong, told apart by code. */
export async function outcome(agent: A2aClient, text: string): Promise<string> {
  try {
    const task = await agent.send(text, { delivery: "reject" });
    return String((await task.done()).output);
  } catch (error) {
    if (!(error instanceof A2aClientError)) throw error;
    if (error.reason === "CONTEXT_BUSY") return "It is busy with something else.";
    if (error.code === "task.rejected") return `It will not: ${error.task?.text}`;
    if (error.code === "send.unknown") return `Send it again as ${error.messageId}.`;
    throw error;
  }
}

/** The events that `<agent-progress>` draws. */
export async function* progressOf(task: A2aTask): AsyncGenerator<ProgressEvent> {
  for await (const now of task.updates()) yield toProgressEvent(now);
}

/** The tasks that wait for somebody. */
export async function waiting(agent: A2aClient): Promise<string[]> {
  const prompts: string[] = [];
  for await (const task of agent.tasks({ state: "TASK_STATE_AUTH_REQUIRED" })) {
    prompts.push(task.interaction?.prompt ?? "");
  }
  return prompts;
}

/** A file, checked while it is written. */
export async function save(file: RemoteFile, writable: WritableStream<Uint8Array>): Promise<void> {
  await (await file.stream()).pipeTo(writable);
}

/** A way for partners of an app to a Runtime that trusts the app. */
export function partners(runtimeUrl: string, privateKey: Readonly<Record<string, unknown>>): Promise<A2aHandler> {
  return createA2aHandler({
    agents: ["refunds"],
    runtimeUrl,
    publicUrl: "https://app.example.com/a2a",
    subject: (request) => partnerOf(request.headers.get("x-api-key")),
    signer: { issuer: "https://app.example.com", audience: "nylorun", privateKey },
  });
}

/** Your own accounts. */
function partnerOf(key: string | null): string | undefined {
  return key === "key-of-acme" ? "acme" : undefined;
}
