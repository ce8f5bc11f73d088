/** One conversation with an agent: its turns, those that wait in line, and what comes next. */
import type { A2aTask, TaskView } from "@nylorun/agents/a2a";
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";

import { drawOnChange } from "../model/change.ts";
import { clock } from "../model/clock.ts";
import { firstWords } from "../model/desk.ts";
import type { Desk } from "../model/desk.ts";
import { to } from "../model/route.ts";
import { saying } from "../model/session.ts";
import { plural } from "../model/words.ts";
import { output } from "../part/conversation.ts";
import { define, LightElement } from "../part/light.ts";
import { chip, empty, loading, problem, since } from "../part/said.ts";
import "../part/message-composer.ts";

/** Turns that are shown, the latest ones. */
const TURNS = 100;
/** After an event, in milliseconds: several changes are looked at once. */
const MOMENT = 250;

export class ContextPage extends LightElement {
  static override properties = {
    desk: { attribute: false },
    agent: {},
    contextId: { attribute: false },
    turns: { state: true },
    more: { state: true },
    error: { state: true },
  };
  declare desk: Desk;
  declare agent: string;
  declare contextId: string;
  /** Oldest first; undefined: not known yet. */
  declare turns: readonly A2aTask[] | undefined;
  declare more: boolean;
  declare error: string | undefined;
  readonly #stops: (() => void)[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** In which the task ids of this context are remembered in the order of their first sight: a list by last change would jump. */
  #order = new Map<string, number>();

  constructor() {
    super();
    this.more = false;
    drawOnChange(this, clock);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#stop();
  }

  protected override willUpdate(changed: Map<string, unknown>): void {
    if (!changed.has("contextId") && !changed.has("agent")) return;
    this.turns = undefined;
    this.#order = new Map();
    this.#stop();
    const { board } = this.desk;
    let wasLive = board.isLive;
    this.#stops.push(
      board.onChange(() => {
        if (board.isLive && !wasLive) this.#soon();
        wasLive = board.isLive;
      }),
    );
    void this.#load();
  }

  #stop(): void {
    clearTimeout(this.#timer);
    for (const stop of this.#stops.splice(0)) stop();
  }

  #soon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#load(), MOMENT);
  }

  async #load(): Promise<void> {
    const { agent, contextId } = this;
    try {
      const client = await this.desk.client(agent);
      const turns: A2aTask[] = [];
      let more = false;
      for await (const task of client.tasks({ contextId, pageSize: TURNS, artifacts: true })) {
        if (turns.length === TURNS) {
          more = true;
          break;
        }
        turns.push(task);
      }
      if (contextId !== this.contextId || !this.isConnected) return;
      this.turns = this.#inOrder(turns);
      this.more = more;
      this.error = undefined;
      for (const { id, ended } of this.turns) if (id !== undefined && !ended) this.#hear(id);
    } catch (error) {
      if (contextId === this.contextId) this.error = saying(error);
    }
  }

  readonly #heard = new Set<string>();

  #hear(id: string): void {
    if (this.#heard.has(id)) return;
    this.#heard.add(id);
    const stop = this.desk.board.onTask(`${this.agent}:${id}`, () => this.#soon());
    this.#stops.push(() => {
      stop();
      this.#heard.delete(id);
    });
  }

  /** As they were sent: ended ones in the order in which they ended, then the one at work, then the line. */
  #inOrder(turns: readonly A2aTask[]): readonly A2aTask[] {
    const rank = ({ state, ended }: TaskView) => (ended ? 0 : state === "TASK_STATE_SUBMITTED" ? 2 : 1);
    const sorted = turns.toSorted(
      (one, other) => rank(one) - rank(other) || ((one.since ?? "") < (other.since ?? "") ? -1 : 1),
    );
    for (const { id = "" } of sorted) if (!this.#order.has(id)) this.#order.set(id, this.#order.size);
    return sorted.toSorted((one, other) => this.#order.get(one.id ?? "")! - this.#order.get(other.id ?? "")!);
  }

  protected override render(): TemplateResult {
    const { turns, desk } = this;
    const queued = turns?.filter(({ state }) => state === "TASK_STATE_SUBMITTED").length ?? 0;
    const sub = turns === undefined ? "" : `${plural(turns.length, "turn")}${queued > 0 ? ` · ${queued} in line` : ""}`;
    return html`<header class="view-head">
        <div>
          <p class="crumbs"><a href=${to.agent(this.agent)}>${desk.nameOf(this.agent)}</a></p>
          <h1 tabindex="-1">Conversation</h1>
          <p class="view-sub">${sub}</p>
        </div>
      </header>
      ${problem(this.error, () => void this.#load())}
      ${turns === undefined && this.error === undefined ? loading() : nothing}
      ${turns?.length === 0 ? empty("Nothing was said here", "Either it is not yours, or its time is over.") : nothing}
      ${this.more ? html`<p class="hint">These are the latest ${TURNS} turns; the history has the others.</p>` : nothing}
      <ol class="turns">
        ${repeat(
          turns ?? [],
          ({ id }) => id,
          (turn) => this.#turn(turn),
        )}
      </ol>
      ${
        turns === undefined
          ? nothing
          : html`<message-composer
              label=${turns.some(({ ended }) => !ended) ? "Next message: it waits in line until what runs has ended" : "Next message"}
              .desk=${desk}
              agent=${this.agent}
              .contextId=${this.contextId}
              @sent=${() => void this.#load()}
            ></message-composer>`
      }
      <p class="hint">Conversation <code>${this.contextId}</code></p>`;
  }

  #turn(turn: A2aTask): TemplateResult {
    const words = firstWords(turn.task?.history) ?? turn.id;
    const answer = turn.ended ? (turn.output ?? turn.text) : (turn.interaction?.prompt ?? turn.text);
    return html`<li class="turn" data-state=${turn.state}>
      <div class="turn-head">
        <a class="turn-title" href=${to.task(this.agent, turn.id ?? "")}>${words}</a>
        ${chip(turn)} ${since(Date.parse(turn.since ?? ""))}
      </div>
      ${answer === undefined ? nothing : html`<div class="turn-answer">${output(answer)}</div>`}
    </li>`;
  }
}

define("context-page", ContextPage);
