/** One task: what it asks, how far it is, what came of it, what it took. */
import type { Interaction, TaskView as View } from "@nylorun/agents/a2a";
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { keyed } from "lit/directives/keyed.js";

import { drawOnChange } from "../model/change.ts";
import { clock } from "../model/clock.ts";
import { firstWords } from "../model/desk.ts";
import type { Desk } from "../model/desk.ts";
import { FollowedTask } from "../model/followed-task.ts";
import { to } from "../model/route.ts";
import { saying } from "../model/session.ts";
import { count, money, moment } from "../model/words.ts";
import { conversation, output } from "../part/conversation.ts";
import { define, LightElement } from "../part/light.ts";
import { plan } from "../part/plan.ts";
import { chip, empty, loading, problem, since } from "../part/said.ts";
import "../part/ask-form.ts";
import "../part/file-list.ts";

export class TaskPage extends LightElement {
  static override properties = {
    desk: { attribute: false },
    agent: {},
    taskId: { attribute: false },
    canceling: { state: true },
    failed: { state: true },
    copied: { state: true },
  };
  declare desk: Desk;
  declare agent: string;
  declare taskId: string;
  /** `sure`: it was asked whether that is meant. */
  declare canceling: "no" | "sure" | "sending";
  declare failed: string | undefined;
  declare copied: string | undefined;
  #followed: FollowedTask | undefined;
  #stop: (() => void) | undefined;

  constructor() {
    super();
    this.canceling = "no";
    drawOnChange(this, clock);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.hasUpdated) this.#follow();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#close();
  }

  protected override willUpdate(changed: Map<string, unknown>): void {
    if (changed.has("taskId") || changed.has("agent")) this.#follow();
  }

  #follow(): void {
    this.#close();
    const followed = new FollowedTask(this.desk, { agent: this.agent, taskId: this.taskId });
    const stops = [followed, this.desk.board].map((one) => one.onChange(() => this.requestUpdate()));
    this.#followed = followed;
    this.#stop = () => stops.forEach((stop) => stop());
  }

  #close(): void {
    this.#followed?.close();
    this.#followed = undefined;
    this.#stop?.();
  }

  protected override render(): TemplateResult {
    const { view, isMissing = false } = this.#followed ?? {};
    const title = isMissing ? "No such task" : (firstWords(view?.task?.history) ?? `Task ${this.taskId}`);
    // The heading stays the same element, as whoever came here has the focus on it.
    return html`<header class="view-head task-head">
        <div>
          <p class="crumbs"><a href=${to.agent(this.agent)}>${this.desk.nameOf(this.agent)}</a></p>
          <h1 tabindex="-1">${title}</h1>
          <p class="view-sub">
            ${view === undefined ? nothing : html`${chip(view)} ${since(Date.parse(view.since ?? ""))}`}
          </p>
        </div>
        ${view === undefined || view.ended ? nothing : this.#cancel()}
      </header>
      ${isMissing ? this.#missing() : this.#body()}`;
  }

  #missing(): TemplateResult {
    return empty(
      "It is not here",
      html`<p>It was erased, its time is over, or it is not yours. <a href=${to.history}>Your past tasks</a></p>`,
    );
  }

  #body(): TemplateResult {
    const { view, task, error } = this.#followed ?? {};
    const again = (): void => this.#followed?.look();
    if (view === undefined || task === undefined)
      return html`${error === undefined ? loading() : problem(error, again)}`;
    const answered = (): void => {
      // What had the focus is about to go.
      this.querySelector("h1")?.focus();
      again();
    };
    const asks = (interaction: Interaction): TemplateResult =>
      html`<ask-form .task=${task} .interaction=${interaction} @answered=${answered}></ask-form>`;
    return html`${problem(this.failed)}
      ${problem(error === undefined ? undefined : `What is below may be out of date. ${error}`, again)}
      <div class="columns">
        <div class="main-column">
          ${view.interaction === undefined ? nothing : asks(view.interaction)}
          ${view.uncertain === undefined ? nothing : this.#uncertain(view.uncertain)} ${this.#outcome(view)}
          ${this.#progress(view)} ${this.#said(view)}
        </div>
        <aside class="side-column" aria-label="Facts about this task">${this.#facts(view)}</aside>
      </div>`;
  }

  /** The button that was pressed goes; the focus stays where it was. */
  #askCancel(canceling: "no" | "sure"): void {
    this.canceling = canceling;
    void this.updateComplete.then(() => this.querySelector<HTMLElement>(".task-head button")?.focus());
  }

  #cancel(): TemplateResult {
    if (this.canceling === "no") {
      return html`<button type="button" class="quiet danger" @click=${() => this.#askCancel("sure")}>
        Cancel task
      </button>`;
    }
    const go = async (): Promise<void> => {
      this.canceling = "sending";
      this.failed = undefined;
      try {
        await this.#followed?.task?.cancel();
      } catch (error) {
        this.failed = saying(error);
      }
      this.canceling = "no";
      this.#followed?.look();
    };
    return html`<div class="sure" role="group" aria-label="Cancel this task?">
      <span>Cancel for good?</span>
      <button type="button" class="danger" ?disabled=${this.canceling === "sending"} @click=${() => void go()}>
        ${this.canceling === "sending" ? "Canceling…" : "Cancel it"}
      </button>
      <button type="button" class="quiet" @click=${() => this.#askCancel("no")}>Keep it</button>
    </div>`;
  }

  #uncertain(effectId: string): TemplateResult {
    return html`<section class="notice" data-tone="wait">
      <h2>What became of a step is not known</h2>
      <p>
        It was begun, and its outcome was lost. Nothing is repeated until an operator has found out: please do not do it
        again by hand either.
      </p>
      ${this.desk.person.operator ? html`<p><a href=${to.operator}>Resolve it</a></p>` : html`<p class="hint">Effect ${effectId}</p>`}
    </section>`;
  }

  #outcome(view: View): TemplateResult | typeof nothing {
    if (!view.ended) return nothing;
    const failed = view.state !== "TASK_STATE_COMPLETED";
    if (failed) {
      return html`<section class="outcome" data-tone="bad">
        <h2>Why</h2>
        <p class="text">
          ${view.text ?? (view.state === "TASK_STATE_CANCELED" ? "It was canceled." : "The agent gave no reason.")}
        </p>
      </section>`;
    }
    if (view.output === undefined) return nothing;
    return html`<section class="outcome" data-tone="good">
      <h2>Result</h2>
      ${output(view.output)}
    </section>`;
  }

  #progress(view: View): TemplateResult | typeof nothing {
    const item = this.desk.board.find(`${this.agent}:${this.taskId}`);
    const steps = view.plan?.steps;
    if (steps === undefined && (item === undefined || view.uncertain !== undefined)) return nothing;
    return html`<section class="progress">
      <h2>Progress</h2>
      ${
        item === undefined || view.uncertain !== undefined
          ? nothing
          : keyed(
              item.run,
              html`<agent-progress label="Progress" .event=${item.event} .now=${clock.now}></agent-progress>`,
            )
      }
      ${steps === undefined ? nothing : plan(steps)}
    </section>`;
  }

  #said({ task, text, state, interaction, ended }: View): TemplateResult | typeof nothing {
    const history = task?.history ?? [];
    if (history.length === 0) return nothing;
    const says = !ended && interaction === undefined && state === "TASK_STATE_WORKING" ? text : undefined;
    return html`<section>
      <h2>What was said</h2>
      ${conversation(history)} ${says === undefined ? nothing : html`<p class="saying" role="status">${says}</p>`}
    </section>`;
  }

  #facts(view: View): TemplateResult {
    const { totals, traceId, files, contextId } = view;
    const { traceUrl } = this.desk.person;
    const trace = traceId === undefined ? undefined : traceUrl?.replaceAll("{traceId}", traceId);
    return html`<dl class="facts">
        ${totals?.costUsd === undefined ? nothing : fact("Cost", money(totals.costUsd))}
        ${totals?.tokens === undefined ? nothing : fact("Tokens", count(totals.tokens))}
        ${totals === undefined ? nothing : fact("Steps done", count(totals.steps))}
        ${fact("Last change", moment(Date.parse(view.since ?? "")))}
        ${
          contextId === undefined
            ? nothing
            : fact("Conversation", html`<a href=${to.context(this.agent, contextId)}>Open, or write more</a>`)
        }
        ${
          traceId === undefined
            ? nothing
            : fact(
                "Trace",
                trace === undefined
                  ? this.#copyable(traceId)
                  : html`<a href=${trace} target="_blank" rel="noopener noreferrer"><code>${traceId}</code></a>`,
              )
        }
        ${fact("Task", this.#copyable(this.taskId))}
      </dl>
      ${
        files.length === 0
          ? nothing
          : html`<section>
              <h2>Files</h2>
              <file-list .files=${files}></file-list>
            </section>`
      }`;
  }

  #copyable(text: string): TemplateResult {
    const copy = async (): Promise<void> => {
      // Not there without TLS; the text can be selected then.
      await navigator.clipboard?.writeText(text);
      this.copied = text;
    };
    return html`<span class="copyable"
      ><code>${text}</code
      ><button type="button" class="quiet" aria-label="Copy ${text}" @click=${() => void copy()}>
        ${this.copied === text ? "Copied" : "Copy"}
      </button></span
    >`;
  }
}

function fact(name: string, value: unknown): TemplateResult {
  return html`<div>
    <dt>${name}</dt>
    <dd>${value}</dd>
  </div>`;
}

define("task-page", TaskPage);
