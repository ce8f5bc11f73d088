/**
 * Rows of tasks, thousands of them: those in sight are in the page, the rest is room. What a bar shows changes with each frame at most;
 * the rows themselves only when a task comes, goes or is scrolled to.
 */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { keyed } from "lit/directives/keyed.js";
import { repeat } from "lit/directives/repeat.js";

import type { Item } from "../model/board.ts";
import { drawOnChange } from "../model/change.ts";
import { clock } from "../model/clock.ts";
import type { Desk } from "../model/desk.ts";
import { to } from "../model/route.ts";
import { count } from "../model/words.ts";
import { define, LightElement } from "./light.ts";

/** A heading, or a task. */
export type Row =
  | {
      readonly kind: "head";
      readonly id: string;
      readonly title: string;
      readonly count: number;
      readonly href?: string;
    }
  | { readonly kind: "task"; readonly item: Item };

/** Of rows, in pixels: as the style sheet has them. */
const HEIGHTS = { wide: { head: 48, task: 52 }, narrow: { head: 48, task: 76 } } as const;
/** Pixels beyond what is in sight that are drawn as well. */
const MARGIN = 300;

export class TaskRows extends LightElement {
  static override properties = { desk: { attribute: false }, rows: { attribute: false } };
  declare desk: Desk;
  declare rows: readonly Row[];
  readonly #narrow = matchMedia("(max-width: 44rem)");
  /** Where each row begins; the last one is where all end. */
  #tops: readonly number[] = [0];
  #shown: readonly [from: number, to: number] = [0, 0];
  #frame = 0;

  constructor() {
    super();
    this.rows = [];
    drawOnChange(this, clock);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("scroll", this.#look, { passive: true });
    addEventListener("resize", this.#look, { passive: true });
    this.#narrow.addEventListener("change", this.#measure);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("scroll", this.#look);
    removeEventListener("resize", this.#look);
    this.#narrow.removeEventListener("change", this.#measure);
    cancelAnimationFrame(this.#frame);
  }

  protected override willUpdate(changed: Map<string, unknown>): void {
    if (changed.has("rows")) this.#layOut();
  }

  protected override updated(changed: Map<string, unknown>): void {
    // Where the list begins is known once it is in the page.
    if (changed.has("rows")) this.#look();
  }

  protected override render(): TemplateResult {
    const [from, end] = this.#shown;
    const rows = this.rows.slice(from, end);
    const above = this.#tops[from] ?? 0;
    const below = (this.#tops.at(-1) ?? 0) - (this.#tops[Math.min(end, this.rows.length)] ?? 0);
    return html`<div .style=${`height:${above}px`}></div>
      ${repeat(
        rows,
        (row) => (row.kind === "head" ? row.id : row.item.key),
        (row) => (row.kind === "head" ? head(row) : this.#task(row.item)),
      )}
      <div .style=${`height:${below}px`}></div>`;
  }

  #task(item: Item): TemplateResult {
    const { event, name, run, key } = item;
    const ref = this.desk.refOf(event.task_id);
    const title = ref && this.desk.brief(ref)?.title;
    const href = ref === undefined ? to.report(event.task_id, item.subject) : to.task(ref.agent, ref.taskId);
    const whose = item.subject === undefined ? "" : `${item.subject} · `;
    return html`<a class="row" href=${href}>
      <span class="row-what">
        <span class="row-title">${title ?? name}</span>
        <span class="row-note">${whose}${event.message}</span>
      </span>
      ${keyed(
        `${key} ${run}`,
        html`<agent-progress
          quiet
          size="compact"
          label=${title ?? name}
          .event=${event}
          .now=${clock.now}
        ></agent-progress>`,
      )}
    </a>`;
  }

  #layOut(): void {
    const heights = this.#narrow.matches ? HEIGHTS.narrow : HEIGHTS.wide;
    let top = 0;
    this.#tops = [0, ...this.rows.map(({ kind }) => (top += heights[kind]))];
    this.#shown = this.#inSight();
  }

  readonly #measure = (): void => {
    this.#layOut();
    this.requestUpdate();
  };

  readonly #look = (): void => {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      const [from, end] = this.#inSight();
      if (from === this.#shown[0] && end === this.#shown[1]) return;
      this.#shown = [from, end];
      this.requestUpdate();
    });
  };

  #inSight(): readonly [number, number] {
    const begin = this.isConnected ? -this.getBoundingClientRect().top : 0;
    const from = this.#rowAt(begin - MARGIN);
    return [from, Math.min(this.rows.length, this.#rowAt(begin + innerHeight + MARGIN) + 1)];
  }

  /** The row that is drawn there. */
  #rowAt(top: number): number {
    let low = 0;
    for (let high = this.rows.length; low < high;) {
      const middle = (low + high) >> 1;
      if ((this.#tops[middle + 1] ?? Infinity) <= top) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function head({ title, count: number, href }: Extract<Row, { readonly kind: "head" }>): TemplateResult {
  return html`<div class="rows-head">
    <h2>${title}</h2>
    <span class="tally">${count(number)}</span>
    ${href === undefined ? nothing : html`<a class="quiet-link" href=${href} aria-label="New task for ${title}">New task</a>`}
  </div>`;
}

define("task-rows", TaskRows);

declare global {
  interface HTMLElementTagNameMap {
    "task-rows": TaskRows;
  }
}
