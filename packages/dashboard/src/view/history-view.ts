/** Past tasks, of all agents or one, and what they cost. */
import type { A2aTask, TaskState } from "@nylorun/agents/a2a";
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";

import { drawOnChange } from "../model/change.ts";
import { clock } from "../model/clock.ts";
import { firstWords } from "../model/desk.ts";
import type { Desk } from "../model/desk.ts";
import { saying } from "../model/session.ts";
import { usageOf } from "../model/usage.ts";
import type { Usage } from "../model/usage.ts";
import { plural, STATES } from "../model/words.ts";
import { define, LightElement } from "../part/light.ts";
import { empty, loading, problem } from "../part/said.ts";
import { taskTable } from "../part/task-table.ts";
import type { Listed } from "../part/task-table.ts";
import "../part/cost-chart.ts";

/** Tasks that are asked for at a time. */
const PAGE = 50;
/** After a change, in milliseconds: many at once are one. */
const SOON = 2_000;
const DAY = 24 * 60 * 60_000;
const SPANS = [1, 7, 30, 90] as const;

/** Several agents' lists as one, by last change. */
interface Source {
  readonly agent: string;
  readonly tasks: AsyncGenerator<A2aTask>;
  /** Its latest that was not taken. */
  next?: A2aTask | undefined;
}

class Merged {
  readonly #sources: readonly Source[];
  #begun = false;

  constructor(sources: readonly Source[]) {
    this.#sources = sources;
  }

  /** The next ones; fewer than asked for when there are no more. */
  async take(number: number): Promise<Listed[]> {
    const pull = async (source: Source): Promise<void> => {
      const next = await source.tasks.next();
      source.next = next.done === true ? undefined : next.value;
    };
    if (!this.#begun) await Promise.all(this.#sources.map(pull));
    this.#begun = true;
    const taken: Listed[] = [];
    while (taken.length < number) {
      const latest = this.#sources
        .filter(({ next }) => next !== undefined)
        .reduce<Source | undefined>(
          (best, one) => ((best?.next?.since ?? "") >= (one.next?.since ?? "") ? (best ?? one) : one),
          undefined,
        );
      if (latest?.next === undefined) break;
      taken.push({ agent: latest.agent, task: latest.next });
      await pull(latest);
    }
    return taken;
  }
}

export class HistoryPage extends LightElement {
  static override properties = {
    desk: { attribute: false },
    agent: { state: true },
    state: { state: true },
    days: { state: true },
    words: { state: true },
    listed: { state: true },
    more: { state: true },
    busy: { state: true },
    error: { state: true },
    usage: { state: true },
  };
  declare desk: Desk;
  /** Empty: all. */
  declare agent: string;
  declare state: TaskState | "";
  declare days: number;
  declare words: string;
  declare listed: readonly Listed[];
  declare more: boolean;
  declare busy: boolean;
  declare error: string | undefined;
  declare usage: readonly Usage[] | undefined;
  #merged: Merged | undefined;
  #stop: (() => void) | undefined;
  #asked = "";
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    [this.agent, this.state, this.days, this.words, this.listed, this.more, this.busy] = [
      "",
      "",
      30,
      "",
      [],
      false,
      false,
    ];
    drawOnChange(this, clock);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    const { board } = this.desk;
    let seen = board.overview;
    const stops = [
      this.desk.onChange(() => this.#load()),
      board.onChange(() => {
        if (board.overview !== seen) this.#soon();
        seen = board.overview;
      }),
    ];
    this.#stop = () => stops.forEach((stop) => stop());
    this.#load();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#stop?.();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** A task has come, begun to wait, or ended: the list is asked for again, unless somebody has gone further down in it. */
  #soon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.listed.length > PAGE || this.busy) return;
      void this.#list();
      void this.#sum(this.#asked);
    }, SOON);
  }

  /** Asks anew when something else is asked for. */
  #load(): void {
    const { agent, state, days, desk } = this;
    const asked = JSON.stringify([agent, state, days, [...(desk.agents?.keys() ?? [])]]);
    if (desk.agents === undefined || asked === this.#asked) return;
    this.#asked = asked;
    this.listed = [];
    this.more = true;
    void this.#list();
    void this.#sum(asked);
  }

  async #list(): Promise<void> {
    const { agent, state, days, desk } = this;
    const agents = agent === "" ? [...(desk.agents?.keys() ?? [])] : [agent];
    const asked = this.#asked;
    this.busy = true;
    this.error = undefined;
    try {
      const since = new Date(clock.now - days * DAY);
      const sources = await Promise.all(
        agents.map(async (id) => {
          const client = await desk.client(id);
          return { agent: id, tasks: client.tasks({ since, pageSize: PAGE, ...(state !== "" && { state }) }) };
        }),
      );
      const merged = new Merged(sources);
      const listed = await merged.take(PAGE);
      if (asked !== this.#asked) return;
      this.#merged = merged;
      this.listed = listed;
      this.more = listed.length === PAGE;
    } catch (error) {
      if (asked === this.#asked) this.error = saying(error);
    }
    this.busy = false;
  }

  async #showMore(): Promise<void> {
    this.busy = true;
    try {
      const next = (await this.#merged?.take(PAGE)) ?? [];
      this.listed = [...this.listed, ...next];
      this.more = next.length === PAGE;
    } catch (error) {
      this.error = saying(error);
    }
    this.busy = false;
  }

  async #sum(asked: string): Promise<void> {
    try {
      const usage = await usageOf(this.days, this.desk.isSubject ? "" : "&as=operator");
      if (asked === this.#asked) this.usage = usage;
    } catch {
      if (asked === this.#asked) this.usage = undefined;
    }
  }

  protected override render(): TemplateResult {
    const { usage, desk, agent } = this;
    const shown = usage?.filter((row) => agent === "" || row.agent === agent);
    return html`<header class="view-head">
        <div>
          <h1 tabindex="-1">History</h1>
          <p class="view-sub">${desk.isSubject ? "Your tasks" : "Everybody’s use, by agent and day"}</p>
        </div>
      </header>
      ${this.#filters()}
      ${
        shown === undefined
          ? nothing
          : html`<section class="panel">
              <h2>Cost by agent and day</h2>
              <cost-chart
                .usage=${shown}
                .days=${Math.max(7, this.days)}
                .nameOf=${(id: string) => desk.nameOf(id)}
              ></cost-chart>
            </section>`
      }
      ${desk.isSubject ? this.#tasks() : nothing}`;
  }

  #filters(): TemplateResult {
    const choose = (name: "agent" | "state" | "days") => (event: Event) => {
      const { value } = event.target as HTMLSelectElement;
      if (name === "days") this.days = Number(value);
      else if (name === "agent") this.agent = value;
      else this.state = value as TaskState | "";
      this.#load();
    };
    const agents = [...(this.desk.agents?.values() ?? [])];
    return html`<form class="filters" @submit=${(event: Event) => event.preventDefault()}>
      ${
        this.desk.isSubject
          ? html`<label
                >Agent
                <select @change=${choose("agent")}>
                  <option value="">All agents</option>
                  ${agents.map(({ id, name }) => html`<option value=${id}>${name}</option>`)}
                </select></label
              ><label
                >State
                <select @change=${choose("state")}>
                  <option value="">Any state</option>
                  ${Object.entries(STATES).map(([state, { words }]) => html`<option value=${state}>${words}</option>`)}
                </select></label
              >`
          : nothing
      }
      <label
        >Time
        <select @change=${choose("days")}>
          ${SPANS.map((days) => html`<option value=${days} ?selected=${days === this.days}>${days === 1 ? "Last 24 hours" : `Last ${days} days`}</option>`)}
        </select></label
      >
      ${
        this.desk.isSubject
          ? html`<label class="grow"
              >Words
              <input
                type="search"
                placeholder="In what is listed"
                .value=${this.words}
                @input=${(event: Event) => (this.words = (event.target as HTMLInputElement).value)}
            /></label>`
          : nothing
      }
    </form>`;
  }

  #tasks(): TemplateResult {
    const sought = this.words.trim().toLowerCase();
    const found = this.listed.filter(({ task, agent }) =>
      [firstWords(task.task?.history), task.id, agent, this.desk.nameOf(agent)].some((text) =>
        text?.toLowerCase().includes(sought),
      ),
    );
    const none =
      this.listed.length === 0
        ? empty("No task fits", "Choose a longer time or another state.")
        : empty(
            "None of these tasks has such words",
            this.more ? "Show more, or look for other words." : "Look for other words.",
          );
    return html`${problem(this.error, () => void this.#list())}
    ${this.busy && this.listed.length === 0 ? loading() : nothing}
    ${found.length > 0 ? taskTable(this.desk, found) : this.busy || this.error !== undefined ? nothing : none}
    ${
      this.more && this.listed.length > 0
        ? html`<p class="more">
            <button type="button" class="quiet" ?disabled=${this.busy} @click=${() => void this.#showMore()}>
              Show more
            </button>
            <span class="muted">${plural(this.listed.length, "task")} so far</span>
          </p>`
        : nothing
    }`;
  }
}

define("history-page", HistoryPage);
