/**
 * One screen of `watch`, as lines of text. Pure: what is known, how large the screen is, and what time it is.
 *
 *     claude
 *       summarize-report  ████████░░░░░░░░   42%  0:30  Reasoning · reading section 3 of 7
 *
 * | narrower than | goes                                                     |
 * |---------------|----------------------------------------------------------|
 * | 72 cells      | `estimating…` becomes `…`; names are cut to 18           |
 * | 52            | the countdown; names are cut to 12                       |
 * | 36            | the stage, last of its words first                       |
 * | 28            | the name                                                 |
 *
 * The bar and its percent are there at any width (P24). What may be of unknown width, as terminals differ about emoji, is last
 * in its line, so that it moves nothing else.
 */
import { styleText } from "node:util";

import { shownPercent } from "@nylorun/protocol";

import { cellsOf, cutToCells, fitToCells } from "../cells.ts";
import { isOpen } from "./tasks.ts";
import type { WatchedAgent, WatchedTask } from "./tasks.ts";
import { etaText, nameOf, percentText, stageText } from "./text.ts";

export interface FrameOptions {
  /** In cells and lines. */
  readonly width: number;
  readonly height: number;
  /** Draw with more than ASCII. */
  readonly unicode: boolean;
  readonly color: boolean;
}

type Style = Parameters<typeof styleText>[0];

/** No more lines than the screen has, none wider than it is. */
export function drawFrame(agents: readonly WatchedAgent[], options: FrameOptions): string[] {
  const { width, height } = options;
  const tasks = agents.flatMap((each) => each.tasks);
  const columns = columnsFor(width, Math.max(0, ...tasks.map((task) => cellsOf(nameOf(task)))));
  const rows = agents.flatMap(({ agent, tasks: ofAgent }) => [
    style(options, ["bold"], cutToCells(agent, width)),
    ...ofAgent.map((task) => drawTask(task, columns, options)),
  ]);
  const summary = style(options, ["dim"], cutToCells(summaryOf(tasks), width));
  if (rows.length + 2 <= height) return [...rows, "", summary];
  // Too many: open tasks first, each under its agent, and how many are not shown.
  const room = Math.max(1, height - 2);
  const fitting = fitRows(agents, room);
  const hidden = tasks.length - fitting.reduce((sum, each) => sum + each.tasks.length, 0);
  const shown = fitting.flatMap(({ agent, tasks: ofAgent }) => [
    style(options, ["bold"], cutToCells(agent, width)),
    ...ofAgent.map((task) => drawTask(task, columns, options)),
  ]);
  return [...shown, style(options, ["dim"], cutToCells(`… ${hidden} more`, width)), summary].slice(0, height);
}

/** The agents with as many of their tasks as fit into so many lines: what is open goes before what has ended. */
function fitRows(agents: readonly WatchedAgent[], lines: number): WatchedAgent[] {
  const taken = new Map<WatchedAgent, WatchedTask[]>();
  let left = lines;
  for (const open of [true, false]) {
    for (const each of agents) {
      for (const task of each.tasks) {
        if (isOpen(task.shown) !== open) continue;
        const cost = taken.has(each) ? 1 : 2;
        if (cost > left) continue;
        left -= cost;
        taken.set(each, [...(taken.get(each) ?? []), task]);
      }
    }
  }
  return agents.filter((each) => taken.has(each)).map((each) => ({ agent: each.agent, tasks: taken.get(each)! }));
}

interface Columns {
  readonly name: number;
  readonly bar: number;
  readonly eta: number;
  readonly stage: number;
}

const INDENT = 2;
const GAP = 2;
const PERCENT = 4;

function columnsFor(width: number, longestName: number): Columns {
  const name = width < 28 ? 0 : Math.min(longestName, width >= 72 ? 24 : width >= 52 ? 18 : 12);
  const eta = width >= 72 ? 11 : width >= 52 ? 7 : 0;
  const bar = Math.max(4, Math.min(24, Math.floor(width / 5)));
  const others = INDENT + (name && name + GAP) + PERCENT + GAP + (eta && GAP + eta);
  const stage = width - others - bar - GAP;
  // A word or two, or nothing at all; then the room is the bar's.
  if (width < 36 || stage < 6) return { name, bar: Math.max(1, width - others), eta, stage: 0 };
  return { name, bar, eta, stage };
}

function drawTask(task: WatchedTask, columns: Columns, options: FrameOptions): string {
  const { status } = task.shown;
  const kind: Style =
    status === "error" ? ["red"] : status === "done" ? ["green"] : status === "paused" ? ["yellow"] : ["cyan"];
  const eta = etaText(task);
  const cells = [
    columns.name === 0 ? undefined : fitToCells(nameOf(task), columns.name),
    drawBar(task, columns.bar, kind, options),
    percentText(task).padStart(PERCENT),
    columns.eta === 0 ? undefined : fitToCells(cellsOf(eta) > columns.eta ? "…" : eta, columns.eta),
    columns.stage === 0 ? undefined : style(options, isOpen(task.shown) ? [] : kind, stageOf(task, columns, options)),
  ].filter((cell) => cell !== undefined);
  return `${" ".repeat(INDENT)}${cells.join(" ".repeat(GAP))}`.trimEnd();
}

function stageOf(task: WatchedTask, { stage }: Columns, { unicode }: FrameOptions): string {
  const text = cutToCells(stageText(task), stage);
  return unicode ? text : text.replaceAll("✔", "+").replaceAll("✖", "x").replaceAll("…", "~").replaceAll("·", "-");
}

/** Full cells only for work that is done, as far as there are cells for it; something as soon as there is anything. */
function drawBar({ shown }: WatchedTask, cells: number, kind: Style, options: FrameOptions): string {
  const percent = shownPercent(shown) ?? 0;
  const full = percent === 0 ? 0 : Math.max(1, Math.floor((percent * cells) / 100));
  const [done, left] = options.unicode ? ["█", "░"] : ["#", "-"];
  return style(options, kind, done.repeat(full)) + style(options, ["dim"], left.repeat(cells - full));
}

export function summaryOf(tasks: readonly WatchedTask[]): string {
  const counts = new Map<string, number>();
  for (const { shown } of tasks) {
    const word = { started: "running", running: "running", paused: "paused", done: "done", error: "failed" }[
      shown.status
    ];
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return ["running", "paused", "done", "failed"]
    .filter((word) => counts.has(word))
    .map((word) => `${counts.get(word)} ${word}`)
    .join(", ");
}

function style({ color }: FrameOptions, kind: Style, text: string): string {
  return color && text !== "" && kind.length > 0 ? styleText(kind, text, { validateStream: false }) : text;
}
