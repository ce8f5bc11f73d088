/** A task in words: what `watch` says of it, on a screen or in plain lines. */
import { shownPercent } from "@nylorun/protocol";

import { clockText, rangeText } from "../spans.ts";
import type { WatchedTask } from "./tasks.ts";

/** An open task is silent from so long on, in milliseconds; one that is paused waits, and may be. */
const SILENT = 60_000;

export function percentText({ shown }: WatchedTask): string {
  const percent = shownPercent(shown);
  return percent === undefined ? "" : `${percent}%`;
}

/** The task's name without its agent's, which stands above it. */
export function nameOf({ shown: { task_id: id, agent } }: WatchedTask): string {
  return id.startsWith(`${agent}:`) && id.length > agent.length + 1 ? id.slice(agent.length + 1) : id;
}

/** How long it will take, if the agent said so; never a number of our own (I11). */
export function etaText({ shown, silentMs }: WatchedTask): string {
  switch (shown.status) {
    case "done":
    case "error":
      return "";
    case "paused":
      return "paused";
    case "started":
    case "running": {
      if (shown.eta_seconds === null) return "estimating…";
      // It counts down between reports, and stays at nothing rather than go below it.
      return clockText(shown.eta_seconds * 1000 - silentMs);
    }
  }
}

/** The stage with all there is to say about it, the most important first. */
export function stageText(task: WatchedTask): string {
  const { shown, silentMs, usual } = task;
  const { status, stage, message } = shown;
  const note = message !== undefined && message !== stage ? message : "";
  switch (status) {
    case "error":
      return join([`✖ ${message ?? "Something went wrong"}`, stage]);
    case "done":
      return join([`✔ ${stage || "Done"}`, note]);
    case "paused":
      return join([stage === "" ? "Paused" : `Paused — ${stage}`, note]);
    case "started":
    case "running": {
      const silent = silentMs >= SILENT ? `no update for ${clockText(silentMs)}` : "";
      const history = usual === undefined ? "" : `usually ${rangeText(usual.low, usual.high)}, ${usual.runs} runs`;
      return join([silent, stage, note, history]);
    }
  }
}

/** For somebody who sees nothing. */
export function nothingYet(folder: string): string {
  return `Nothing is being reported on this machine (${folder}).

An agent reports over MCP:      claude mcp add progress -- npx -y @nylorun/mcp-server
A command reports by itself:    nylorun run -- npm test
Anything else reports a line:   nylorun report demo:hello --percent 42 --stage "Trying it out"`;
}

function join(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" · ");
}
