/**
 * A task in a few lines of text: how far it is, and its plan. Pure: what the task shows, and how wide the terminal is.
 *
 *     Refunds  ████████░░░░░░░░░░░░░░░░  33 %   Paused — Ask for approval
 *     ✔ Find the order   ● Ask for approval (42.00 EUR)   ○ Refund
 */
import { styleText } from "node:util";

import { toProgressEvent } from "@nylorun/agents/a2a";
import type { PlanStep, TaskView } from "@nylorun/agents/a2a";
import { plainText, shownPercent } from "@nylorun/protocol";

import { cellsOf, cutToCells } from "../cells.ts";

export interface PictureOptions {
  /** In cells. */
  readonly width: number;
  /** Draw with more than ASCII. */
  readonly unicode: boolean;
  readonly color: boolean;
}

type Style = Parameters<typeof styleText>[0];

const INDENT = "  ";
/** Cells of the bar at most. */
const WIDEST_BAR = 24;
/** A terminal that is narrower shows the bar and its percent alone. */
const NARROW = 40;
const WIDEST_NAME = 24;

/** @param name Of the agent, for people. */
export function drawTask(name: string, task: TaskView, options: PictureOptions): string[] {
  return [barLine(name, task, options), ...planLines(task.plan?.steps ?? [], options)];
}

function barLine(name: string, task: TaskView, options: PictureOptions): string {
  const event = toProgressEvent(task);
  const { width, unicode } = options;
  const kind: Style = task.uncertain === undefined ? KINDS[event.status] : "magenta";
  const shownName =
    width < NARROW ? "" : `${cutToCells(plainText(name), Math.min(WIDEST_NAME, Math.floor(width / 4)))}  `;
  const bar = Math.max(4, Math.min(WIDEST_BAR, Math.floor(width / 3)));
  const percent = shownPercent(event) ?? 0;
  const full = percent === 0 ? 0 : Math.max(1, Math.floor((percent * bar) / 100));
  const [done, left] = unicode ? ["█", "░"] : ["#", "-"];
  const head = `${INDENT}${style(options, "bold", shownName)}${style(options, kind, done.repeat(full))}${style(options, "dim", left.repeat(bar - full))}`;
  const number = `  ${String(percent).padStart(3)} %`;
  const room = width - INDENT.length - cellsOf(shownName) - bar - number.length - 3;
  const words =
    room < 6
      ? ""
      : `   ${style(options, task.ended ? kind : [], cutToCells(ascii(stageText(task, event), options), room))}`;
  return `${head}${number}${words}`.trimEnd();
}

const KINDS = { started: "cyan", running: "cyan", paused: "yellow", done: "green", error: "red" } as const;

/** The same words in a line of its own, where nothing is drawn. */
export function plainLine(task: TaskView): string {
  const event = toProgressEvent(task);
  return `${String(shownPercent(event) ?? 0).padStart(3)} %  ${stageText(task, event)}`;
}

function stageText(task: TaskView, { status, stage, message }: ReturnType<typeof toProgressEvent>): string {
  if (task.uncertain !== undefined)
    return `${stage} · the outcome of a step is lost, an operator has to look (${task.uncertain})`;
  if (status === "error") return message ?? stage;
  const note = message !== undefined && message !== stage && status !== "paused" ? ` · ${message}` : "";
  return status === "paused" ? `Paused — ${stage}` : `${stage}${note}`;
}

const MARKS: { readonly [State in PlanStep["state"]]: readonly [string, string, Style] } = {
  done: ["✔", "+", "green"],
  active: ["●", "*", "cyan"],
  pending: ["○", "o", "dim"],
  failed: ["✖", "x", "red"],
  skipped: ["–", "-", "dim"],
};

/** The steps side by side, in as many lines as they take. */
function planLines(steps: readonly PlanStep[], options: PictureOptions): string[] {
  const room = options.width - INDENT.length;
  const lines: string[] = [];
  let line = "";
  let used = 0;
  for (const { label, state, note } of steps) {
    const [mark, plainMark, kind] = MARKS[state];
    const words = cutToCells(
      ascii(`${plainText(label)}${note ? ` (${plainText(note)})` : ""}`, options),
      Math.max(1, room - 2),
    );
    const cells = 2 + cellsOf(words);
    if (used > 0 && used + 3 + cells > room) {
      lines.push(INDENT + line);
      line = "";
      used = 0;
    }
    line += `${used > 0 ? "   " : ""}${style(options, kind, options.unicode ? mark : plainMark)} ${style(options, state === "active" ? "bold" : [], words)}`;
    used += (used > 0 ? 3 : 0) + cells;
  }
  return used > 0 ? [...lines, INDENT + line] : lines;
}

/** Our own signs only: what the agent wrote is its own. */
function ascii(text: string, { unicode }: PictureOptions): string {
  return unicode ? text : text.replaceAll("—", "-").replaceAll("…", "~").replaceAll("·", "-");
}

function style({ color }: PictureOptions, kind: Style, text: string): string {
  return color && text !== "" && kind.length > 0 ? styleText(kind, text, { validateStream: false }) : text;
}
