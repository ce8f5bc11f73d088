/** What one signed-in person works with: agents to call, the board, and what is known of tasks. Nothing of it outlives the session. */
import type { A2aClient, Interaction, Message, TaskView } from "@nylorun/agents/a2a";

import { at, BASE } from "./base.ts";
import { Board } from "./board.ts";
import type { TaskRef } from "./board.ts";
import { Changing } from "./change.ts";
import { operator } from "./operator.ts";
import { call, session } from "./session.ts";
import type { Person } from "./session.ts";
import { straight } from "./words.ts";

export interface ServedAgent {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly version: string;
  /** At the Runtime's public address. */
  readonly url: string;
}

/** `<agent>:<task id>`, as the Runtime names the progress of its tasks. */
const TASK = /^([a-z0-9][a-z0-9-]{0,63}):([A-Za-z0-9_-]{21}[AQgw])$/;
/** Between two looks at what waits for an operator, in milliseconds. */
const TROUBLES_EVERY = 15_000;

/** Tasks that are asked for at once; that wait to be; that are remembered. */
const AT_ONCE = 6;
const WANTED = 100;
const BRIEFS = 10_000;

/** What a row says of a task beside its progress. */
export interface Brief {
  readonly version: string;
  /** The caller's first words. */
  readonly title: string | undefined;
  /** What it asks. */
  readonly prompt: string | undefined;
  readonly kind: Interaction["kind"] | undefined;
}

export class Desk extends Changing {
  readonly person: Person;
  /** By id; undefined: not known yet. */
  agents: ReadonlyMap<string, ServedAgent> | undefined;
  board: Board;
  /** How much waits for an operator. */
  troubles = 0;
  /** Whether the board shows everybody's. */
  everybody = false;
  readonly #clients = new Map<string, Promise<A2aClient>>();
  readonly #briefs = new Map<string, Brief>();
  readonly #wanted: TaskRef[] = [];
  #asking = 0;
  #isClosed = false;
  readonly #timer: ReturnType<typeof setInterval> | undefined;

  constructor(person: Person) {
    super();
    this.person = person;
    this.board = this.#newBoard("");
    if (person.agents && person.subject !== undefined) void this.#loadAgents();
    else this.agents = new Map();
    if (person.agents && person.operator) {
      void this.countTroubles();
      this.#timer = setInterval(() => void this.countTroubles(), TROUBLES_EVERY);
    }
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.board.close();
  }

  /** Looks what waits for an operator. */
  async countTroubles(): Promise<void> {
    try {
      const [effects, held] = await Promise.all([operator.effects(), operator.held()]);
      this.noteTroubles(effects.length + held.length);
    } catch {
      // It is looked again; that nothing answers, the board says.
    }
  }

  noteTroubles(troubles: number): void {
    if (troubles === this.troubles) return;
    this.troubles = troubles;
    this.changed();
  }

  /** For who is an operator as well. */
  showEverybody(everybody: boolean): void {
    if (everybody === this.everybody) return;
    this.board.close();
    this.everybody = everybody;
    this.board = this.#newBoard(everybody ? "as=operator" : "");
    this.changed();
  }

  #newBoard(query: string): Board {
    return new Board(query, (taskId) => this.refOf(taskId) !== undefined);
  }

  /** Whether this person can open tasks, send messages and answer. */
  get isSubject(): boolean {
    return this.person.agents && this.person.subject !== undefined;
  }

  /** The A2A task that a progress event is of; undefined: a report, or another subject's. */
  refOf(taskId: string): TaskRef | undefined {
    const [, agent, id] = TASK.exec(taskId) ?? [];
    if (agent === undefined || id === undefined || this.everybody || this.agents?.has(agent) !== true) return undefined;
    return { agent, taskId: id };
  }

  nameOf(agent: string): string {
    return this.agents?.get(agent)?.name ?? agent;
  }

  /** An ordinary A2A client of this Runtime. It has no credentials of its own: the browser's session is. */
  client(agent: string): Promise<A2aClient> {
    let client = this.#clients.get(agent);
    if (client === undefined) {
      client = openClient(agent, (url) => this.near(url));
      this.#clients.set(agent, client);
      client.catch(() => this.#clients.delete(agent));
    }
    return client;
  }

  /** An address that the Runtime gave out, as this page reaches it: the public one may be another name of the same. */
  near(url: string): string {
    for (const { id, url: home } of this.agents?.values() ?? []) {
      const base = home.slice(0, -`v1/a2a/agents/${id}/`.length);
      return url.startsWith(base) ? BASE.href + url.slice(base.length) : url;
    }
    return url;
  }

  /** What a row says of a task beside its progress, once that is known. @param version Another one: look again. */
  brief(ref: TaskRef, version = ""): Brief | undefined {
    const known = this.#briefs.get(ref.taskId);
    if (known === undefined || known.version !== version) {
      this.#keep(ref.taskId, { title: undefined, prompt: undefined, kind: undefined, ...known, version });
      this.#wanted.push(ref);
      this.#ask();
    }
    return known;
  }

  /** What somebody has just seen of a task. */
  learn(task: TaskView): void {
    if (task.id === undefined) return;
    const known = this.#briefs.get(task.id);
    const title = firstWords(task.task?.history) ?? known?.title;
    const { prompt, kind } = task.interaction ?? {};
    const brief = { version: known?.version ?? "", title, prompt: prompt && straight(prompt), kind };
    if (JSON.stringify(known) === JSON.stringify(brief)) return;
    this.#keep(task.id, brief);
    this.changed();
  }

  #keep(taskId: string, brief: Brief): void {
    const [oldest] = this.#briefs.keys();
    if (this.#briefs.size >= BRIEFS && oldest !== undefined) this.#briefs.delete(oldest);
    this.#briefs.set(taskId, brief);
  }

  #ask(): void {
    // What has been scrolled away meanwhile is asked for when it is in sight again.
    for (const { taskId } of this.#wanted.splice(0, this.#wanted.length - WANTED)) this.#briefs.delete(taskId);
    while (this.#asking < AT_ONCE && !this.#isClosed) {
      // What came into sight last is in sight still.
      const ref = this.#wanted.pop();
      if (ref === undefined) return;
      this.#asking++;
      void this.#look(ref).finally(() => {
        this.#asking--;
        this.#ask();
      });
    }
  }

  async #look({ agent, taskId }: TaskRef): Promise<void> {
    try {
      const client = await this.client(agent);
      this.learn(await client.task(taskId));
    } catch {
      // The row goes on with its id. A session that is over is noticed by the board.
    }
  }

  async #loadAgents(): Promise<void> {
    for (let pause = 500; !this.#isClosed; pause = Math.min(pause * 2, 10_000)) {
      try {
        const { agents } = (await call("GET", "v1/agents")) as { readonly agents: readonly ServedAgent[] };
        this.agents = new Map(agents.map((agent) => [agent.id, agent]));
        this.board.sortAgain();
        this.changed();
        return;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  }
}

/** What a task was asked for. */
export function firstWords(history: readonly Message[] = []): string | undefined {
  const asked = history.find(({ role }) => role === "ROLE_USER");
  const words = asked?.parts.find(({ text }) => text !== undefined && text.trim() !== "")?.text?.trim();
  return words === undefined ? undefined : straight(words);
}

/** @param near Names what the Runtime calls by its public address by the one at which this page reaches it. */
async function openClient(agent: string, near: (url: string) => string): Promise<A2aClient> {
  // Apart from what the first view needs.
  const { createA2aClient } = await import("@nylorun/agents/a2a");
  return createA2aClient({
    url: at(`v1/a2a/agents/${agent}/`).href,
    // A person looks at it, and can try again.
    patienceMs: 5_000,
    historyLength: 200,
    async fetch(input, init) {
      const url = near(typeof input === "string" ? input : input instanceof URL ? input.href : input.url);
      const response = await fetch(url, { ...init, credentials: init?.credentials ?? "same-origin" });
      if (response.status === 401 && !url.includes("/v1/files/")) session.ended();
      return response;
    },
  });
}
