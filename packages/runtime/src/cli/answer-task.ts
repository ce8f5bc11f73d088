/** Answers what a task waits for, as the subject it belongs to, and says what becomes of it. */
import { setTimeout as delay } from "node:timers/promises";
import { styleText } from "node:util";

import { EXTENSIONS, isEffectsData, isOpenInteraction, isTerminal, plainText } from "@nylorun/protocol";
import type { OpenInteraction, Task } from "@nylorun/protocol";

import { Caller, CallError } from "../node/caller.ts";
import type { Answering, Found } from "../node/caller.ts";
import { RuntimeError } from "../node/errors.ts";
import { signIn } from "../node/sign-in.ts";
import type { AnswerFlags } from "./answer.ts";
import { askPerson, decide, giveValue, interactionText } from "./interaction.ts";
import { askLine, canAsk } from "./prompt.ts";

/** How long to look what becomes of the task, in milliseconds; of a connection, whether the agent sees it; and how often at most. */
const LOOK = 10_000;
const LOOK_AT_CONNECTION = 3_000;
const PAUSE = 500;
/** Interactions of one task that are answered in one go. */
const MOST = 1_000;

const TAKEN = 0;
const LATER = 2;

/**
 * @returns The exit code: see `nylorun answer --help`.
 * @throws RuntimeError when the answer was not taken.
 */
export async function answerTask(id: string, given: AnswerFlags & { readonly home: string }): Promise<number> {
  const caller = new Caller(await signIn(given));
  const found = await caller.find(id);
  if (found === undefined) {
    const message = `There is no task ${id} at ${caller.url} that belongs to the subject of this key.`;
    throw new RuntimeError("task.unknown", message);
  }
  const open = openOf(found.task);
  if (open === undefined || (given.interaction !== undefined && given.interaction !== open.interactionId)) {
    throw new RuntimeError("task.notWaiting", open === undefined ? waitsForNothing(found.task) : waitsForAnother(open));
  }
  const answering = answerOf(open, given);
  if (answering === undefined && canAsk()) return converse(caller, found, open);
  if (answering === undefined) {
    show(found, open);
    process.stdout.write(`\n  interaction ${open.interactionId}\n`);
    process.stderr.write('Nothing was answered. "nylorun answer --help" says how a script does it.\n');
    return LATER;
  }
  const after = await take(caller, found, { open, answering });
  if (typeof after === "string") throw new RuntimeError("task.notWaiting", after);
  const next = openOf(after);
  if (next !== undefined && next.interactionId !== open.interactionId) {
    process.stdout.write("The task asks for something else now:\n\n");
    show({ ...found, task: after }, next);
    process.stdout.write(`\n  interaction ${next.interactionId}\n`);
  }
  return TAKEN;
}

/** Asks the person, one interaction after another, as long as the task has any. */
async function converse(caller: Caller, found: Found, first: OpenInteraction): Promise<number> {
  let code = LATER;
  let open = first;
  let shown: string | undefined;
  for (let asked = 0; asked < MOST; asked++) {
    if (shown !== open.interactionId) show(found, open);
    shown = open.interactionId;
    process.stderr.write("\n");
    const answering = await askPerson(open, askLine);
    if (answering === undefined) {
      process.stderr.write("Left for later.\n");
      return code;
    }
    const after = await take(caller, found, { open, answering });
    if (typeof after === "string") process.stderr.write(`${after}\n`);
    else code = TAKEN;
    const task = typeof after === "string" ? await caller.get(found.agent.id, found.task.id) : after;
    const next = openOf(task);
    // What does not fit is asked for again; a connection that the agent does not see yet is not.
    if (next === undefined || (next.interactionId === open.interactionId && typeof after !== "string")) return code;
    process.stdout.write("\n");
    open = next;
  }
  return code;
}

/** Sends the answer, and tells what becomes of the task. Returns the task; or why the answer was not taken. */
async function take(
  caller: Caller,
  { agent, task }: Found,
  { open, answering }: { readonly open: OpenInteraction; readonly answering: Answering },
): Promise<Task | string> {
  let now: Task;
  try {
    now = await caller.answer(agent.id, task, answering);
  } catch (error) {
    if (error instanceof CallError) return refusalText(error);
    throw error;
  }
  process.stdout.write(`${wordsOf(open, answering)}\n`);
  const deadline = performance.now() + (open.kind === "connection" ? LOOK_AT_CONNECTION : LOOK);
  for (let pause = 50; !hasCome(now, open) && performance.now() < deadline; pause = Math.min(PAUSE, pause * 2)) {
    await delay(pause);
    now = await caller.get(agent.id, task.id);
  }
  process.stdout.write(outcomeText(now, open));
  return now;
}

/** Whether the task has ended, or waits for something else. */
function hasCome(task: Task, answered: OpenInteraction): boolean {
  const open = openOf(task);
  return (
    isTerminal(task.status.state) ||
    isLost(task) ||
    (open !== undefined && open.interactionId !== answered.interactionId)
  );
}

function show({ agent }: Found, open: OpenInteraction): void {
  const asks = { approval: "asks for your approval", question: "asks", connection: "needs a connection" }[open.kind];
  const name = styleText("bold", plainText(agent.name, 60), { stream: process.stdout });
  process.stdout.write(`${name} ${asks}:\n\n${interactionText(open, process.stdout.columns ?? 80)}\n`);
}

/** What the flags say, if it is an answer to this. Undefined: they say nothing. */
function answerOf(
  open: OpenInteraction,
  { approve, deny, connected, value, text }: AnswerFlags,
): Answering | undefined {
  if ([approve, deny, connected, value, text].every((flag) => flag === undefined)) return undefined;
  switch (open.kind) {
    case "approval":
      if (approve || deny) return decide(open, approve === true);
      throw wrongKind("It is an approval that the task waits for: --approve or --deny.");
    case "connection":
      if (connected || deny) return decide(open, connected === true);
      throw wrongKind("It is a connection that the task waits for: --connected once it is made, or --deny.");
    case "question":
      if (text !== undefined) return giveValue(open, text);
      if (value !== undefined) return giveValue(open, parse(value));
      throw wrongKind("It is a question that the task waits for: --text TEXT or --value JSON.");
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw wrongKind(`--value takes JSON, such as 7, '"tomorrow"' or '{"id": 7}'; it got ${text.slice(0, 80)}`);
  }
}

function wrongKind(message: string): RuntimeError {
  return new RuntimeError("request.invalid", message);
}

function openOf({ status }: Task): OpenInteraction | undefined {
  const data = status.message?.metadata?.[EXTENSIONS.interactions];
  return isOpenInteraction(data) ? data : undefined;
}

function isLost({ metadata }: Task): boolean {
  return isEffectsData(metadata?.[EXTENSIONS.effects]);
}

function waitsForNothing(task: Task): string {
  const { state } = task.status;
  if (isTerminal(state)) return `The task waits for nothing: it ${ENDED[state] ?? "has ended"}.`;
  if (isLost(task)) return LOST;
  return state === "TASK_STATE_SUBMITTED"
    ? "The task waits for nothing but an earlier one of its context."
    : "The task waits for nothing: it is at work.";
}

function waitsForAnother({ interactionId, kind }: OpenInteraction): string {
  return `That interaction is not open any more. The task waits for another ${kind} now: ${interactionId}`;
}

const LOST =
  'Nobody knows what became of something that the task did. It goes on when an operator has looked: "nylorun effects list".';

const ENDED: { readonly [State in Task["status"]["state"]]?: string } = {
  TASK_STATE_COMPLETED: "is completed",
  TASK_STATE_FAILED: "has failed",
  TASK_STATE_REJECTED: "is rejected",
  TASK_STATE_CANCELED: "is cancelled",
};

function refusalText({ error, reason }: CallError): string {
  if (reason === "INTERACTION_NOT_OPEN" || error.code === -32004) {
    return "It was not taken: this was answered meanwhile, or is not asked any more.";
  }
  const [violation] = error.data[1]?.fieldViolations ?? [];
  const why = violation === undefined ? error.message : `it ${violation.description}`;
  return `It was not taken: ${plainText(why).replace(/\.$/, "")}.`;
}

function wordsOf({ kind }: OpenInteraction, { answer }: Answering): string {
  if (!("approved" in answer)) return "Answered.";
  if (!answer.approved) return "Denied.";
  return kind === "approval" ? "Approved." : "Told the agent that it is connected.";
}

function outcomeText(task: Task, answered: OpenInteraction): string {
  const { state, message } = task.status;
  const said = message?.parts.flatMap(({ text }) => text ?? []).join("\n") ?? "";
  if (isTerminal(state)) {
    const parts = task.artifacts?.flatMap((artifact) => artifact.parts) ?? [];
    const output = parts.map((part) => part.text ?? ("data" in part ? JSON.stringify(part.data, null, 2) : "(a file)"));
    const lines = (state === "TASK_STATE_COMPLETED" ? output.join("\n") : said)
      .split(/\r\n?|\n/)
      .map((line) => printable(line));
    const shown = lines.join("").trim() === "" ? "." : `:\n\n${lines.map((line) => `  ${line}`.trimEnd()).join("\n")}`;
    return `The task ${ENDED[state] ?? "has ended"}${shown}\n`;
  }
  if (isLost(task)) return `${LOST}\n`;
  const open = openOf(task);
  if (open?.interactionId === answered.interactionId)
    return "The agent does not see it yet; it looks again by itself.\n";
  if (open !== undefined) return "";
  return `The task is at work${said === "" ? "." : `: ${plainText(said, 200)}`}\n`;
}

/** A line as it is, its indentation too, without what a terminal takes as a command. */
function printable(line: string): string {
  return " ".repeat(/^ */.exec(line)![0].length) + plainText(line);
}
