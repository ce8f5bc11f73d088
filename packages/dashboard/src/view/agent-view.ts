/** An agent: what it can do, and a message to it. */
import type { A2aTask, AgentCard } from "@nylorun/agents/a2a";
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";

import type { Desk } from "../model/desk.ts";
import { to } from "../model/route.ts";
import { saying } from "../model/session.ts";
import { define, LightElement } from "../part/light.ts";
import { empty, loading, problem } from "../part/said.ts";
import { taskTable } from "../part/task-table.ts";
import "../part/message-composer.ts";

/** Of its tasks, the latest. */
const LATEST = 10;

export class AgentPage extends LightElement {
  static override properties = {
    desk: { attribute: false },
    agent: {},
    card: { state: true },
    tasks: { state: true },
    error: { state: true },
    draft: { state: true },
  };
  declare desk: Desk;
  declare agent: string;
  declare card: AgentCard | undefined;
  declare tasks: readonly A2aTask[];
  declare error: string | undefined;
  declare draft: string;

  constructor() {
    super();
    this.tasks = [];
    this.draft = "";
  }

  protected override willUpdate(changed: Map<string, unknown>): void {
    if (changed.has("agent")) void this.#load();
  }

  async #load(): Promise<void> {
    const { agent } = this;
    [this.card, this.tasks, this.error] = [undefined, [], undefined];
    try {
      const client = await this.desk.client(agent);
      if (agent !== this.agent) return;
      this.card = client.card;
      const tasks: A2aTask[] = [];
      for await (const task of client.tasks({ pageSize: LATEST })) if (tasks.push(task) >= LATEST) break;
      if (agent === this.agent) this.tasks = tasks;
    } catch (error) {
      if (agent === this.agent) this.error = saying(error);
    }
  }

  protected override render(): TemplateResult {
    const { card, desk } = this;
    const sent = ({ detail: task }: CustomEvent<A2aTask>): void => {
      if (task.id !== undefined) location.hash = to.task(this.agent, task.id);
      else if (task.contextId !== undefined) location.hash = to.context(this.agent, task.contextId);
    };
    const served = desk.agents?.get(this.agent);
    return html`<header class="view-head">
        <div>
          <p class="crumbs">Agent</p>
          <h1 tabindex="-1">${served?.name ?? this.agent}</h1>
          <p class="view-sub">${served?.description ?? ""}</p>
        </div>
        ${served === undefined ? nothing : html`<span class="muted">version ${served.version}</span>`}
      </header>
      ${problem(this.error, () => void this.#load())}
      ${
        card === undefined
          ? this.error === undefined
            ? loading()
            : nothing
          : html`<div class="columns">
              <div class="main-column">
                <message-composer
                  label="New task"
                  .desk=${desk}
                  agent=${this.agent}
                  .text=${this.draft}
                  @sent=${sent}
                ></message-composer>
                ${
                  this.tasks.length === 0
                    ? empty("No task yet", "What you send above is the first.")
                    : html`<section>
                        <h2>Your latest tasks</h2>
                        ${taskTable(
                          desk,
                          this.tasks.map((task) => ({ agent: this.agent, task })),
                          false,
                        )}
                      </section>`
                }
              </div>
              <aside class="side-column" aria-label="What it can do">${this.#skills(card)}</aside>
            </div>`
      }`;
  }

  #skills({ skills }: AgentCard): TemplateResult {
    return html`<section>
      <h2>What it can do</h2>
      <ul class="skills">
        ${skills.map(
          ({ name, description, examples = [] }) =>
            html`<li>
              <strong>${name}</strong>
              <p>${description}</p>
              ${examples.map(
                (example) =>
                  html`<button type="button" class="example" @click=${() => (this.draft = example)}>
                    ${example}
                  </button>`,
              )}
            </li>`,
        )}
      </ul>
    </section>`;
  }
}

define("agent-page", AgentPage);
