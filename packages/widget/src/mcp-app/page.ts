/**
 * The view that a host shows for `report_progress` and `get_status`: a bar for each task of the result. A conversation keeps its
 * views, so one that is shown (again) asks once how its tasks are now; it never asks by itself.
 */
import { isProgressEvent } from "@nylorun/protocol";

import { AgentProgress } from "../agent-progress.ts";
import { Bars } from "../bars.ts";
import { followHeight } from "../height.ts";
import { Host } from "./host.ts";
import type { HostContext } from "./host.ts";

customElements.define("agent-progress", AgentProgress);
const content = document.querySelector("main")!;
const bars = new Bars(content);
const taskIds = new Set<string>();

const host = new Host({
  context: wear,
  result: (result) => {
    show(result);
    catchUp();
  },
});

/** Of a result: one event, or several under `tasks`. Its text says the same, for hosts that drop structured content. */
function show({ structuredContent, content: blocks }: Readonly<Record<string, unknown>>): void {
  const given = (structuredContent ?? parsed(blocks)) as { readonly tasks?: unknown } | undefined;
  // The newest comes first there, and stays on top.
  for (const event of Array.isArray(given?.tasks) ? given.tasks : [given]) {
    if (!isProgressEvent(event)) continue;
    taskIds.add(event.task_id);
    bars.show(event);
  }
}

function parsed(blocks: unknown): unknown {
  const [block] = Array.isArray(blocks) ? (blocks as readonly { readonly text?: unknown }[]) : [];
  try {
    return JSON.parse(String(block?.text));
  } catch {
    return undefined; // An error's text, most likely: the host shows it.
  }
}

function catchUp(): void {
  for (const task_id of taskIds) void host.callTool("get_status", { task_id }).then((result) => show(result ?? {}));
}

function wear({ theme, locale, styles }: HostContext): void {
  const root = document.documentElement;
  if (theme !== undefined) root.style.colorScheme = theme;
  if (locale !== undefined) root.lang = locale;
  for (const [name, value] of Object.entries(styles?.variables ?? {})) {
    if (name.startsWith("--") && value !== undefined) root.style.setProperty(name, value);
  }
}

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") catchUp();
});
void host
  .connect("0")
  .then(() => followHeight(content, (height) => host.notify("ui/notifications/size-changed", { height })));
