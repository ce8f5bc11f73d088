/** Sends the message, or takes up the task, and stays with it until it ends, nobody answers, or the person has had enough. */
import { setTimeout as delay } from "node:timers/promises";

import { A2aClientError, createA2aClient } from "@nylorun/agents/a2a";
import type { A2aClient, A2aTask, Interaction, TaskView } from "@nylorun/agents/a2a";
import { plainText } from "@nylorun/protocol";
import type { OpenInteraction } from "@nylorun/protocol";

import { RuntimeError } from "../../node/errors.ts";
import { signInAt } from "../../node/sign-in.ts";
import { terminalFeatures } from "../../node/terminal.ts";
import type { CallFlags } from "../call.ts";
import { askPerson, interactionText } from "../interaction.ts";
import { askLine, canAsk } from "../prompt.ts";
import { drawTask, plainLine } from "./picture.ts";
import { Region } from "./region.ts";

const COMPLETED = 0;
const WAITS = 2;
const CODES = { TASK_STATE_FAILED: 3, TASK_STATE_REJECTED: 4, TASK_STATE_CANCELED: 5 } as const;
const INTERRUPTED = 130;
/** How long a second Ctrl-C is waited for, in milliseconds. */
const SECOND_THOUGHTS = 2_000;

/**
 * @returns The exit code: see `nylorun call --help`.
 * @throws RuntimeError `request.invalid`, `call.failed`, and those of signing in.
 */
export async function callAgent(
  agent: string,
  text: string | undefined,
  flags: CallFlags & { readonly home: string },
): Promise<number> {
  if ((text === undefined) === (flags.task === undefined)) {
    throw new RuntimeError(
      "request.invalid",
      'Say what to send: nylorun call AGENT "text"; or take up a task: --task ID.',
    );
  }
  try {
    const { url, key } = await signInAt(agent, flags);
    const client = await createA2aClient({ url, ...(key !== undefined && { auth: key }) });
    const task = await begin(client, text, flags);
    if (!flags.wait) {
      process.stdout.write(flags.json ? jsonOf(task) : `${task.id ?? task.message?.messageId}\n`);
      return COMPLETED;
    }
    return await new Sitting(agent, { name: client.card.name, task, flags }).stay();
  } catch (error) {
    throw error instanceof A2aClientError ? failed(error) : error;
  }
}

async function begin(client: A2aClient, text: string | undefined, flags: CallFlags): Promise<A2aTask> {
  if (text === undefined) return client.task(flags.task!);
  return client.send(text, {
    ...(flags.context !== undefined && { contextId: flags.context }),
    ...(flags.messageId !== undefined && { messageId: flags.messageId }),
  });
}

function failed(error: A2aClientError): RuntimeError {
  const again = error.messageId === undefined ? "" : ` --message-id ${error.messageId}`;
  return new RuntimeError("call.failed", `${plainText(error.message, 500)}${again}`, { cause: error });
}

/** One person's time with one task. */
class Sitting {
  /** As it was typed. */
  readonly #agent: string;
  readonly #name: string;
  readonly #task: A2aTask;
  readonly #flags: CallFlags;
  readonly #enough = new AbortController();
  /** Authorizations that the person has been told of. */
  readonly #told = new Set<string>();
  #cancels = false;

  constructor(
    agent: string,
    { name, task, flags }: { readonly name: string; readonly task: A2aTask; readonly flags: CallFlags },
  ) {
    this.#agent = agent;
    this.#name = name;
    this.#task = task;
    this.#flags = flags;
  }

  async stay(): Promise<number> {
    process.on("SIGINT", this.#interrupt);
    try {
      return await this.#follow();
    } catch (error) {
      if (!this.#enough.signal.aborted) throw error;
      return await this.#leave();
    } finally {
      process.off("SIGINT", this.#interrupt);
    }
  }

  readonly #interrupt = (): void => {
    if (this.#enough.signal.aborted) this.#cancels = true;
    this.#enough.abort();
  };

  async #follow(): Promise<number> {
    using show = showOn(process.stderr, this.#name, this.#flags);
    for await (const now of this.#task.updates({ signal: this.#enough.signal })) {
      show.update(now);
      if (now.interaction === undefined) continue;
      const answered = await this.#attend(now.interaction, show);
      if (!answered) {
        show.keep();
        return this.#report(now, WAITS);
      }
    }
    show.keep();
    const { state } = this.#task;
    return this.#report(this.#task, state in CODES ? CODES[state as keyof typeof CODES] : COMPLETED);
  }

  /** Lets the person answer. False: nobody does, so there is nothing to stay for. */
  async #attend(open: Interaction, show: Show): Promise<boolean> {
    if (open.kind === "question" && open.wantsAuthorization) {
      if (this.#told.has(open.prompt)) return true;
      if (this.#flags.json || !canAsk()) return false;
      this.#told.add(open.prompt);
      show.keep();
      process.stderr.write(`\n${interactionText(asOpen(open), columns())}\n\n`);
      process.stderr.write(
        "  The agent wants an authorization, and takes it elsewhere: no reply in words approves. Waiting for it.\n\n",
      );
      return true;
    }
    if (this.#flags.json || !canAsk()) return false;
    show.keep();
    process.stderr.write(`\n${interactionText(asOpen(open), columns())}\n\n`);
    const moved = new AbortController();
    const watching = this.#watch(open, moved);
    const signal = AbortSignal.any([moved.signal, this.#enough.signal]);
    try {
      for (;;) {
        const answering = await askPerson(asOpen(open), (question) =>
          askLine(question, { signal, onInterrupt: this.#interrupt }),
        );
        if (this.#enough.signal.aborted) throw this.#enough.signal.reason;
        if (moved.signal.aborted) {
          process.stderr.write("\nThis was answered elsewhere, or is not asked any more.\n\n");
          return true;
        }
        if (answering === undefined) return false;
        if (await this.#answer(open, answering.answer)) return true;
      }
    } finally {
      moved.abort();
      await watching;
    }
  }

  /** Whether it was taken, or is not asked any more. */
  async #answer(interaction: Interaction, answer: object): Promise<boolean> {
    try {
      if ("value" in answer) await this.#task.answer(answer.value, { interaction });
      else {
        const approved = "approved" in answer && answer.approved === true;
        if (interaction.kind === "connection") await this.#task.connected(approved, { interaction });
        else await this.#task.approve(approved, { interaction });
      }
      process.stderr.write("\n");
      return true;
    } catch (error) {
      if (!(error instanceof A2aClientError) || error.code !== "a2a.invalidParams") throw error;
      const [violation] = error.violations ?? [];
      const why = violation === undefined ? error.message : `It ${violation.description}.`;
      process.stderr.write(`It was not taken. ${plainText(why, 300)}\n`);
      return error.reason === "INTERACTION_NOT_OPEN";
    }
  }

  /** Notices when the interaction is no longer the open one. */
  async #watch(open: Interaction, moved: AbortController): Promise<void> {
    try {
      for await (const { interaction } of this.#task.updates({ signal: moved.signal })) {
        if (interaction === undefined || interaction.id !== open.id || interaction.prompt !== open.prompt) break;
      }
      moved.abort();
    } catch {
      // Answered, or the reader before this one will say what is wrong.
    }
  }

  async #leave(): Promise<number> {
    const again = `nylorun call ${this.#agent} --task ${this.#task.id ?? ""}`;
    process.stderr.write(`\nThe task goes on without you. Ctrl-C now cancels it; to take it up again:\n\n  ${again}\n`);
    for (let waited = 0; waited < SECOND_THOUGHTS && !this.#cancels; waited += 50) await delay(50);
    if (!this.#cancels) return INTERRUPTED;
    const { state } = await this.#task.cancel();
    process.stderr.write(
      state === "TASK_STATE_CANCELED" ? "The task is cancelled.\n" : "The task is being cancelled.\n",
    );
    return CODES.TASK_STATE_CANCELED;
  }

  /** The output goes to stdout, and what else came of it to stderr. */
  #report(now: TaskView, code: number): number {
    if (this.#flags.json) {
      process.stdout.write(jsonOf(now));
      return code;
    }
    if (code === WAITS) {
      process.stderr.write(
        `The task waits. To take it up again: nylorun call ${this.#agent} --task ${this.#task.id}\n`,
      );
      return code;
    }
    if (process.stderr.isTTY) process.stderr.write("\n");
    if (now.output !== undefined && code === COMPLETED) process.stdout.write(`${outputText(now.output)}\n`);
    const files = now.files.filter(({ url }) => url !== undefined);
    for (const { name, size, url } of files) {
      process.stderr.write(`  ${plainText(name)}${size === undefined ? "" : ` (${size} bytes)`}  ${plainText(url!)}\n`);
    }
    const { totals, traceId } = now;
    const told = [
      totals?.tokens === undefined ? "" : `${totals.tokens} tokens`,
      totals?.costUsd === undefined ? "" : `$${totals.costUsd}`,
      traceId === undefined ? "" : `trace ${traceId}`,
    ].filter((part) => part !== "");
    if (told.length > 0) process.stderr.write(`  ${told.join(" · ")}\n`);
    return code;
  }
}

interface Show extends Disposable {
  update(task: TaskView): void;
  /** What is drawn stays; the next update is drawn below. */
  keep(): void;
}

/** A picture where one can be drawn, lines where not, nothing for a script. */
function showOn(stream: NodeJS.WriteStream, name: string, { json }: CallFlags): Show {
  const features = terminalFeatures();
  const nothing = { keep: () => undefined, [Symbol.dispose]: () => undefined };
  if (json) return { ...nothing, update: () => undefined };
  if (!stream.isTTY || !features.draws) {
    let last = "";
    return {
      ...nothing,
      update(task) {
        const line = plainLine(task);
        if (line !== last) stream.write(`${line}\n`);
        last = line;
      },
    };
  }
  const region = new Region(stream);
  let shown: TaskView | undefined;
  const draw = (): void => {
    if (shown === undefined) return;
    const { unicode } = features;
    region.draw(drawTask(name, shown, { width: region.width, unicode, color: stream.hasColors() }));
  };
  stream.on("resize", draw);
  return {
    update(task) {
      shown = task;
      draw();
    },
    keep() {
      shown = undefined;
      region.keep();
    },
    [Symbol.dispose]() {
      stream.off("resize", draw);
      region.keep();
    },
  };
}

function columns(): number {
  return process.stderr.columns || 80;
}

/** As the prompt takes it. */
function asOpen({ id = "", kind, prompt, detail }: Interaction): OpenInteraction {
  return { interactionId: id, kind, prompt, ...(detail && { detail }) };
}

/** Text for a terminal without what would steer it; for a file or a pipe as it is. */
function outputText(output: unknown): string {
  const text = typeof output === "string" ? output : JSON.stringify(output, undefined, 2);
  if (!process.stdout.isTTY) return text;
  return text
    .split(/\r\n?|\n/)
    .map((line) => " ".repeat(/^ */.exec(line)![0].length) + plainText(line))
    .join("\n");
}

function jsonOf(now: TaskView): string {
  const { id, contextId, state, text, plan, interaction, uncertain, output, totals, traceId } = now;
  const files = now.files.map(({ name, path, version, size, sha256, mediaType, url }) => ({
    name,
    path,
    version,
    size,
    sha256,
    mediaType,
    url,
  }));
  const shown = { id, contextId, state, text, plan, interaction, uncertain, output, files, totals, traceId };
  return `${JSON.stringify(shown)}\n`;
}
