/** Cost by agent and day: a chart for the eye, and the same as a table for everybody else. */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import type uPlot from "uplot";

import type { Usage } from "../model/usage.ts";
import { count, day, money } from "../model/words.ts";
import { define, LightElement } from "./light.ts";

/** Agents with a colour of their own, those that cost most; the others are one. */
const COLOURS = 5;
const HEIGHT = 190;
const DAY = 24 * 60 * 60_000;

interface Series {
  readonly agent: string;
  readonly total: number;
  /** By day, the oldest first. */
  readonly costs: readonly number[];
}

export class CostChart extends LightElement {
  static override properties = { usage: { attribute: false }, days: { type: Number }, nameOf: { attribute: false } };
  declare usage: readonly Usage[];
  declare days: number;
  declare nameOf: (agent: string) => string;
  #plot: uPlot | undefined;
  #observer: ResizeObserver | undefined;
  readonly #scheme = matchMedia("(prefers-color-scheme: dark)");

  override connectedCallback(): void {
    super.connectedCallback();
    this.#scheme.addEventListener("change", this.#draw);
    if (this.hasUpdated) this.requestUpdate();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#scheme.removeEventListener("change", this.#draw);
    this.#observer?.disconnect();
    this.#plot?.destroy();
    this.#plot = undefined;
  }

  get #begin(): number {
    const today = Math.floor(Date.now() / DAY) * DAY;
    return today - (this.days - 1) * DAY;
  }

  get #series(): readonly Series[] {
    const byAgent = [...Map.groupBy(this.usage, ({ agent }) => agent)].map(([agent, rows]): Series => {
      const costs = Array.from({ length: this.days }, () => 0);
      for (const { day: on, costUsd = 0 } of rows) {
        const index = Math.round((Date.parse(on) - this.#begin) / DAY);
        if (index >= 0 && index < this.days) costs[index]! += costUsd;
      }
      return { agent, total: costs.reduce((sum, cost) => sum + cost, 0), costs };
    });
    const costly = byAgent.filter(({ total }) => total > 0).toSorted((one, other) => other.total - one.total);
    if (costly.length <= COLOURS) return costly;
    const rest = costly.slice(COLOURS - 1);
    const costs = Array.from({ length: this.days }, (_, at) => rest.reduce((sum, one) => sum + one.costs[at]!, 0));
    return [
      ...costly.slice(0, COLOURS - 1),
      { agent: "", total: rest.reduce((sum, { total }) => sum + total, 0), costs },
    ];
  }

  protected override render(): TemplateResult {
    const series = this.#series;
    const total = series.reduce((sum, one) => sum + one.total, 0);
    const turns = this.usage.reduce((sum, one) => sum + one.turns, 0);
    const tokens = this.usage.reduce((sum, one) => sum + (one.tokens ?? 0), 0);
    return html`<dl class="sums">
        <div>
          <dt>Cost</dt>
          <dd>${money(total)}</dd>
        </div>
        <div>
          <dt>Tasks</dt>
          <dd>${count(turns)}</dd>
        </div>
        <div>
          <dt>Tokens</dt>
          <dd>${count(tokens)}</dd>
        </div>
      </dl>
      ${
        series.length === 0
          ? html`<p class="hint">
              No agent has reported a cost in these ${this.days} days. <code>turn.usage({ costUsd })</code> does.
            </p>`
          : html`<div class="chart" aria-hidden="true"></div>
              <ul class="legend">
                ${series.map(
                  ({ agent, total: cost }, index) =>
                    html`<li>
                      <span class="swatch" data-colour=${index + 1}></span
                      >${agent === "" ? "Others" : this.nameOf(agent)} <span class="muted">${money(cost)}</span>
                    </li>`,
                )}
              </ul>
              <details class="as-table">
                <summary>As a table</summary>
                ${this.#table(series)}
              </details>`
      }`;
  }

  #table(series: readonly Series[]): TemplateResult {
    const days = Array.from({ length: this.days }, (_, at) => at).filter((at) =>
      series.some(({ costs }) => costs[at]! > 0),
    );
    return html`<div class="scroller" role="region" aria-label="Cost by day" tabindex="0">
      <table>
        <thead>
          <tr>
            <th scope="col">Day</th>
            ${series.map(({ agent }) => html`<th scope="col" class="number">${agent === "" ? "Others" : this.nameOf(agent)}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${days.toReversed().map(
            (at) =>
              html`<tr>
                <th scope="row">${day(this.#begin + at * DAY + DAY / 2)}</th>
                ${series.map(({ costs }) => html`<td class="number">${costs[at] === 0 ? nothing : money(costs[at]!)}</td>`)}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>`;
  }

  protected override updated(): void {
    this.#draw();
  }

  readonly #draw = (): void => {
    void this.#plotAgain();
  };

  async #plotAgain(): Promise<void> {
    const place = this.querySelector<HTMLElement>(".chart");
    // It does not load where the browser names a language that there is none of. Then the table is what there is to see.
    const loaded = await import("uplot").catch(() => undefined);
    if (loaded === undefined) {
      place?.remove();
      this.querySelector("details")?.setAttribute("open", "");
      return;
    }
    const Plot = loaded.default;
    this.#plot?.destroy();
    this.#plot = undefined;
    this.#observer?.disconnect();
    if (place === null || !this.isConnected) return;
    place.replaceChildren();
    const series = this.#series;
    const style = getComputedStyle(this);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    // Stacked: each one's bar ends where the next begins, and the tallest is drawn first.
    const stacked: number[][] = [];
    for (const { costs } of series) stacked.push(costs.map((cost, at) => cost + (stacked.at(-1)?.[at] ?? 0)));
    const days = Array.from({ length: this.days }, (_, at) => (this.#begin + at * DAY) / 1000);
    const bars = Plot.paths.bars!({ size: [0.62, 28], radius: 0.12 });
    const axis = { stroke: colour("--ink-2"), font: "11px system-ui, sans-serif", ticks: { show: false }, gap: 6 };
    this.#plot = new Plot(
      {
        width: Math.max(200, place.clientWidth),
        height: HEIGHT,
        padding: [8, 0, 0, 0],
        legend: { show: false },
        cursor: { show: false },
        scales: {
          x: { time: true, range: (_, low, high) => [low - 43_200, high + 43_200] },
          y: { range: (_, __, high) => [0, high * 1.08 || 1] },
        },
        axes: [
          {
            ...axis,
            grid: { show: false },
            size: 28,
            space: 56,
            values: (_, splits) => splits.map((at) => day(at * 1000 + DAY / 2)),
          },
          {
            ...axis,
            size: 56,
            grid: { stroke: colour("--line"), width: 1 },
            values: (_, splits) => splits.map((cost) => money(cost)),
          },
        ],
        series: [
          {},
          ...stacked.map((_, index) => ({
            fill: colour(`--series-${series.length - index}`),
            width: 0,
            paths: bars,
            points: { show: false },
          })),
        ],
      },
      [days, ...stacked.toReversed()] as uPlot.AlignedData,
      place,
    );
    this.#observer = new ResizeObserver(() => {
      const width = Math.max(200, place.clientWidth);
      if (this.#plot !== undefined && this.#plot.width !== width) this.#plot.setSize({ width, height: HEIGHT });
    });
    this.#observer.observe(place);
  }
}

define("cost-chart", CostChart);
