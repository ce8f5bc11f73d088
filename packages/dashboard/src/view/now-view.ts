/** Everything that runs: what waits for the person first, then by agent, then what has just ended. */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";

import type { Item, Overview } from "../model/board.ts";
import { drawOnChange } from "../model/change.ts";
import { clock } from "../model/clock.ts";
import type { Desk } from "../model/desk.ts";
import { to } from "../model/route.ts";
import { count, plural } from "../model/words.ts";
import { define, LightElement } from "../part/light.ts";
import { ASKS, empty, loading, since } from "../part/said.ts";
import type { Row } from "../part/task-rows.ts";
import "../part/task-rows.ts";

/** Cards of tasks that wait, before the rest is asked for. */
const CARDS = 12;

export class NowView extends LightElement {
  static override properties = { desk: { attribute: false }, all: { state: true } };
  declare desk: Desk;
  declare all: boolean;
  #rowsOf: { readonly overview: Overview; readonly rows: readonly Row[] } | undefined;
  #stop: (() => void) | undefined;

  constructor() {
    super();
    this.all = false;
    drawOnChange(this, clock);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#watch();
  }

  #watch(): void {
    this.#stop?.();
    const stops = [this.desk, this.desk.board].map((one) => one.onChange(() => this.#changed()));
    this.#stop = () => stops.forEach((stop) => stop());
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#stop?.();
  }

  /** The bars take their new events whether anything else changes or not. */
  #changed(): void {
    this.requestUpdate();
    this.querySelector("task-rows")?.requestUpdate();
  }

  protected override render(): TemplateResult {
    const { board, person } = this.desk;
    const { waiting, running, ended } = board.overview;
    return html`<header class="view-head">
        <div>
          <h1 tabindex="-1">Now</h1>
          <p class="view-sub">${this.#summary(board.overview)}</p>
        </div>
        ${person.operator && person.subject !== undefined ? this.#whose() : nothing}
      </header>
      ${board.isReady ? nothing : loading("Asking what runs…")}
      ${waiting.length === 0 ? nothing : this.#waiting(waiting)}
      ${board.isReady && waiting.length + running + ended.length === 0 ? this.#nothing() : nothing}
      <task-rows .desk=${this.desk} .rows=${this.#rows(board.overview)}></task-rows>`;
  }

  #summary({ waiting, running }: Overview): string {
    if (!this.desk.board.isReady) return "";
    const parts = [
      waiting.length > 0 && `${count(waiting.length)} waiting for you`,
      running > 0 && `${count(running)} running`,
    ];
    return parts.filter((part) => part !== false).join(" · ") || "All quiet";
  }

  #whose(): TemplateResult {
    const choose = (everybody: boolean) => () => {
      this.desk.showEverybody(everybody);
      this.#watch();
      this.requestUpdate();
    };
    const { everybody } = this.desk;
    return html`<div class="segments" role="group" aria-label="Whose tasks">
      <button type="button" aria-pressed=${!everybody} @click=${choose(false)}>Mine</button>
      <button type="button" aria-pressed=${everybody} @click=${choose(true)}>Everybody’s</button>
    </div>`;
  }

  #waiting(items: readonly Item[]): TemplateResult {
    const shown = this.all ? items : items.slice(0, CARDS);
    return html`<section class="waiting" aria-labelledby="waiting-title">
      <h2 id="waiting-title">Waiting for you <span class="tally">${count(items.length)}</span></h2>
      <ul class="cards">
        ${repeat(
          shown,
          ({ key }) => key,
          (item) => this.#card(item),
        )}
      </ul>
      ${
        shown.length === items.length
          ? nothing
          : html`<button type="button" class="quiet" @click=${() => (this.all = true)}>
              Show ${plural(items.length - shown.length, "more")}
            </button>`
      }
    </section>`;
  }

  #card({ event, agent, name }: Item): TemplateResult | typeof nothing {
    const ref = this.desk.refOf(event.task_id);
    if (ref === undefined) return nothing;
    const brief = this.desk.brief(ref, `${event.timestamp} ${event.stage}`);
    return html`<li>
      <a class="card ask" href=${to.task(ref.agent, ref.taskId)}>
        <span class="ask-head">
          <span class="ask-agent">${this.desk.nameOf(agent)}</span>
          <span class="chip" data-tone="wait">${brief?.kind === undefined ? "Waiting" : ASKS[brief.kind]}</span>
          ${since(Date.parse(event.timestamp))}
        </span>
        <span class="ask-prompt">${brief?.prompt ?? event.message ?? event.stage}</span>
        <span class="ask-foot"
          ><span class="ask-title">${brief?.title ?? name}</span><span class="ask-go">Review</span></span
        >
      </a>
    </li>`;
  }

  #nothing(): TemplateResult {
    const { agents, isSubject, person } = this.desk;
    if (isSubject && agents !== undefined && agents.size > 0 && !this.desk.everybody) {
      return empty(
        "Nothing is running",
        html`<p>Give an agent something to do:</p>
          <ul class="agent-list">
            ${[...agents.values()].map(
              ({ id, name, description }) =>
                html`<li>
                  <a href=${to.agent(id)}><strong>${name}</strong> <span>${description}</span></a>
                </li>`,
            )}
          </ul>`,
      );
    }
    return person.agents
      ? empty("Nothing is running", "Tasks appear here the moment they are sent.")
      : empty(
          "No agent has reported yet",
          html`<p>Agents report over MCP, commands with <code>nylorun run</code>:</p>
            <pre>
claude mcp add progress -- npx -y @nylorun/mcp-server
npx -y @nylorun/runtime run -- npm test</pre>`,
        );
  }

  #rows(overview: Overview): readonly Row[] {
    if (this.#rowsOf?.overview === overview) return this.#rowsOf.rows;
    const tasks = (items: readonly Item[]): Row[] => items.map((item) => ({ kind: "task", item }));
    const rows: Row[] = overview.groups.flatMap(({ agent, items }): Row[] => {
      const isOurs = this.desk.isSubject && this.desk.agents?.has(agent) === true;
      const href = isOurs ? { href: to.agent(agent) } : {};
      return [
        { kind: "head", id: `head ${agent}`, title: this.desk.nameOf(agent), count: items.length, ...href },
        ...tasks(items),
      ];
    });
    if (overview.ended.length > 0) {
      rows.push({ kind: "head", id: "ended", title: "Ended lately", count: overview.ended.length });
      rows.push(...tasks(overview.ended));
    }
    this.#rowsOf = { overview, rows };
    return rows;
  }
}

define("now-view", NowView);
