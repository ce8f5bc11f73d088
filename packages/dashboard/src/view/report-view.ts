/** A task that was reported, and is not of an agent served here: there is its progress, and no more is known. */
import { html } from "lit";
import type { TemplateResult } from "lit";
import { keyed } from "lit/directives/keyed.js";

import { drawOnChange } from "../model/change.ts";
import { clock } from "../model/clock.ts";
import type { Desk } from "../model/desk.ts";
import { to } from "../model/route.ts";
import { moment } from "../model/words.ts";
import { define, LightElement } from "../part/light.ts";
import { empty, loading } from "../part/said.ts";

export class ReportPage extends LightElement {
  static override properties = { desk: { attribute: false }, taskId: { attribute: false }, subject: {} };
  declare desk: Desk;
  declare taskId: string;
  declare subject: string | undefined;
  #stop: (() => void) | undefined;

  constructor() {
    super();
    drawOnChange(this, clock);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#stop = this.desk.board.onChange(() => this.requestUpdate());
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#stop?.();
  }

  protected override render(): TemplateResult {
    const item = this.desk.board.find(this.taskId, this.subject);
    if (item === undefined) {
      return html`<h1 tabindex="-1">${this.taskId}</h1>
        ${
          this.desk.board.isReady
            ? empty(
                "Nothing is known of it",
                html`<p>It ended a while ago, or was never reported here. <a href=${to.now}>What runs now</a></p>`,
              )
            : loading()
        }`;
    }
    const { event, agent, run, name, subject } = item;
    return html`<header class="view-head">
        <div>
          <p class="crumbs">${agent}</p>
          <h1 tabindex="-1">${name}</h1>
        </div>
      </header>
      <div class="columns">
        <div class="main-column">
          <section class="progress">
            <h2>Progress</h2>
            ${keyed(run, html`<agent-progress label=${name} .event=${event} .now=${clock.now}></agent-progress>`)}
          </section>
          <p class="hint">This is reported by its agent, which is not served here: it can be watched, not steered.</p>
        </div>
        <aside class="side-column" aria-label="Facts about this task">
          <dl class="facts">
            <div>
              <dt>Task</dt>
              <dd><code>${this.taskId}</code></dd>
            </div>
            <div>
              <dt>Last report</dt>
              <dd>${moment(Date.parse(event.timestamp))}</dd>
            </div>
            ${
              subject === undefined
                ? ""
                : html`<div>
                    <dt>Of</dt>
                    <dd>${subject}</dd>
                  </div>`
            }
          </dl>
        </aside>
      </div>`;
  }
}

define("report-page", ReportPage);
