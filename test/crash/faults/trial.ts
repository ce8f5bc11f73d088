/**
 * Trials on nodes that die, with a caller, a person and an operator who do not give up when one does: what they do, they do again until
 * they know that it was done. Who is left goes on; when nobody is, all are started again.
 */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { EXTENSIONS } from "@nylorun/protocol";
import type { OpenInteraction, Task } from "@nylorun/protocol";

import { Calendars } from "../../../examples/agents/meetings/calendars.ts";
import { Shop } from "../../../examples/agents/refunds/shop.ts";
import { startNodes } from "../../cluster/nodes.ts";
import type { Nodes } from "../../cluster/nodes.ts";
import type { EntryRow } from "../records.ts";

const agents = fileURLToPath(new URL("agents.ts", import.meta.url));
const preload = new URL("inject.ts", import.meta.url).href;

export const URI = EXTENSIONS.interactions;

/** What point.ts reads. */
export interface Faults {
  /** The point at which a node dies. Default: none. */
  readonly deadly?: string | undefined;
  /** How long the bank takes to answer, in milliseconds. Default: it does at once. */
  readonly bankMs?: number | undefined;
}

/** Nodes, and the world that their agents work in: for one trial after the other. */
interface Stage {
  readonly folder: string;
  readonly nodes: Nodes;
  readonly callerKey: string;
  readonly operatorKey: string;
}

/** As many stages as there are trials at once. */
export class Stages implements AsyncDisposable {
  readonly #resources = new AsyncDisposableStack();
  readonly #free: Stage[] = [];

  /** Has a trial on nodes that are all there, in a world in which nothing has happened. */
  async trial<Result>(faults: Faults, run: (trial: Trial) => Promise<Result>): Promise<Result> {
    const stage = this.#free.pop() ?? (await this.#open());
    const result = await run(await Trial.begin(stage, faults));
    // What a trial that failed has left is nothing for another one.
    this.#free.push(stage);
    return result;
  }

  async #open(): Promise<Stage> {
    const folder = await mkdtemp(join(tmpdir(), "nylorun-faults-"));
    this.#resources.defer(() => rm(folder, { recursive: true, force: true }));
    const env = {
      FAULTS: faultsOf({ folder }),
      EXAMPLES_WORLD: worldOf({ folder }),
      NYLORUN_LOG_LEVEL: "error",
      AGENT_PROGRESS_EVENTS_DIR: join(folder, "events"),
    };
    await mkdir(env.FAULTS);
    const nodes = this.#resources.use(await startNodes({ folder, agents, preload, env }));
    const [callerKey, operatorKey] = [await nodes.key("ada"), await nodes.key(undefined)];
    return { folder, nodes, callerKey, operatorKey };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#resources.disposeAsync();
  }
}

const faultsOf = ({ folder }: Pick<Stage, "folder">) => join(folder, "faults");
const worldOf = ({ folder }: Pick<Stage, "folder">) => join(folder, "world");

interface Answer {
  readonly result?: unknown;
  readonly error?: { readonly code: number };
}

export interface LostEffect {
  readonly effectId: string;
  readonly taskId: string;
  readonly name: string;
}

export class Trial {
  readonly #stage: Stage;
  /** The last turn before it. */
  readonly #before: number;
  /** Of this trial's first message. */
  readonly #messageId = crypto.randomUUID();
  #agent = "";
  #buried = 0;

  static async begin(stage: Stage, { deadly = "", bankMs = 0 }: Faults): Promise<Trial> {
    const folder = faultsOf(stage);
    await writeFile(join(folder, "deadly"), "");
    await stage.nodes.revive();
    using stack = new DisposableStack();
    for (const part of [new Shop(worldOf(stage)), new Calendars(worldOf(stage))]) {
      stack.defer(() => part.close());
      part.reset();
    }
    await rm(join(folder, "passed"), { force: true });
    await writeFile(join(folder, "slow"), String(bankMs));
    await writeFile(join(folder, "deadly"), deadly);
    return new Trial(stage, (await stage.nodes.records.turns()).at(-1)?.turn ?? -1);
  }

  private constructor(stage: Stage, before: number) {
    this.#stage = stage;
    this.#before = before;
  }

  /** Where the example agents keep their world. */
  get world(): string {
    return worldOf(this.#stage);
  }

  /** Processes that serve. */
  get nodes(): number {
    return this.#stage.nodes.count;
  }

  /** Processes that died. */
  get deaths(): number {
    return this.#buried + this.#stage.nodes.dead.length;
  }

  /** The points that were passed, in order. */
  async passed(): Promise<readonly string[]> {
    const lines = (await readFile(join(faultsOf(this.#stage), "passed"), "utf8")).trimEnd().split("\n");
    const times = new Map<string, number>();
    return lines.map((line) => {
      const [name = ""] = line.split("\t");
      times.set(name, (times.get(name) ?? 0) + 1);
      return `${name} ${times.get(name)}`;
    });
  }

  /** Calls a method, and again when a node dies of it. */
  async call(method: string, params: object): Promise<Answer> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const headers = {
      "content-type": "application/json",
      "a2a-version": "1.0",
      "a2a-extensions": URI,
      authorization: `Bearer ${this.#stage.callerKey}`,
    };
    return this.#insist(async (url) => {
      const response = await fetch(`${url}/v1/a2a/agents/${this.#agent}`, {
        method: "POST",
        headers,
        body,
        signal: AbortSignal.timeout(10_000),
      });
      return (await response.json()) as Answer;
    });
  }

  /** Sends the first message. */
  async send(agent: string, text: string): Promise<Task> {
    this.#agent = agent;
    const message = { messageId: this.#messageId, role: "ROLE_USER", parts: [{ text }] };
    const { result } = await this.call("SendMessage", { message, configuration: { returnImmediately: true } });
    return (result as { task: Task }).task;
  }

  /** Answers what is open. The message id follows from the interaction, if none is given: said twice, it is said once. */
  answer(task: Task, answer: object, messageId?: string): Promise<Answer> {
    const open = openIn(task)!;
    const data = { interactionId: open.interactionId, ...answer };
    const message = {
      messageId: messageId ?? `answer to ${open.interactionId}`,
      role: "ROLE_USER",
      taskId: task.id,
      parts: [{ text: "(answered)" }],
      metadata: { [URI]: data },
      extensions: [URI],
    };
    return this.call("SendMessage", { message, configuration: { returnImmediately: true } });
  }

  async get({ id }: Task): Promise<Task> {
    const { result } = await this.call("GetTask", { id });
    return result as Task;
  }

  async lost(): Promise<readonly LostEffect[]> {
    const headers = { authorization: `Bearer ${this.#stage.operatorKey}` };
    return this.#insist(async (url) => {
      const response = await fetch(`${url}/v1/operator/effects`, { headers });
      return ((await response.json()) as { effects: readonly LostEffect[] }).effects;
    });
  }

  /** Who has said so once may be told that it is said already. */
  async resolve({ effectId }: LostEffect, resolution: object): Promise<void> {
    const headers = { authorization: `Bearer ${this.#stage.operatorKey}`, "content-type": "application/json" };
    await this.#insist(async (url) => {
      const { status } = await fetch(`${url}/v1/operator/effects/${effectId}/resolve`, {
        method: "POST",
        headers,
        body: JSON.stringify(resolution),
      });
      assert.ok(status === 204 || status === 404 || status === 409, String(status));
    });
  }

  /** The journals of this trial's turns, past all of the Runtime's code. */
  async journal(): Promise<readonly EntryRow[]> {
    return (await this.#stage.nodes.records.journal()).filter(({ turn }) => turn > this.#before);
  }

  /** kill -9 of all, from outside. */
  kill(): Promise<void> {
    return this.#stage.nodes.kill();
  }

  /** Resolves when somebody has died, or not within half a second. */
  async death(): Promise<void> {
    if (this.deaths === 0) await Promise.race([this.#stage.nodes.death(), setTimeout(500)]);
  }

  async #insist<Result>(code: (url: string) => Promise<Result>): Promise<Result> {
    const { nodes } = this.#stage;
    for (let tries = 1; ; tries++) {
      try {
        return await code(nodes.url);
      } catch (error) {
        // Either somebody is gone, or this is no fault of its.
        const gone = this.deaths > 0 || (await Promise.race([nodes.death().then(() => true), setTimeout(5000, false)]));
        if (!gone || tries === 5) throw error;
        if (nodes.dead.length < nodes.count) continue;
        this.#buried += nodes.count;
        await nodes.revive();
      }
    }
  }
}

export function openIn(task: Task): OpenInteraction | undefined {
  return task.status.message?.metadata?.[URI] as OpenInteraction | undefined;
}
