/**
 * The page inside the frame. Takes events from the window that embeds it, if that window's origin is on the page's own list
 * (`<meta name="agent-progress-origins" content="https://app.example">`), and answers to that very origin only. Without a list
 * nobody is listened to. The origin `null`, which all sandboxed pages share, is on no list.
 */
import { isProgressEvent } from "@nylorun/protocol";

import { AgentProgress } from "../agent-progress.ts";
import { Bars } from "../bars.ts";
import { followHeight } from "../height.ts";
import { isMessage } from "./messages.ts";
import type { FromFrame, Look, ToFrame } from "./messages.ts";
import { parseOrigins } from "./origins.ts";

const origins = parseOrigins(
  document.querySelector<HTMLMetaElement>('meta[name="agent-progress-origins"]')?.content ?? "",
);
customElements.define("agent-progress", AgentProgress);
const content = document.querySelector("main")!;
const bars = new Bars(content);
/** Who said hello; before that nobody is told anything. */
let answer: ((message: FromFrame) => void) | undefined;
let height = 0;

addEventListener("message", ({ origin, source, data }: MessageEvent<unknown>) => {
  if (source !== parent || !origins.has(origin) || !isMessage(data)) return;
  const message = data as ToFrame;
  answer = (words) => parent.postMessage(words, origin);
  switch (message.type) {
    case "agent-progress:hello":
      wear(message.look);
      answer({ type: "agent-progress:ready" });
      answer({ type: "agent-progress:height", height });
      break;
    case "agent-progress:event":
      if (isProgressEvent(message.event)) bars.show(message.event);
      else answer({ type: "agent-progress:refused", reason: refusal() });
      break;
    case "agent-progress:now":
      if (Number.isFinite(message.now)) bars.now = message.now;
      break;
  }
});

followHeight(content, (pixels) => {
  height = pixels;
  answer?.({ type: "agent-progress:height", height });
});

function refusal(): string {
  const [error] = isProgressEvent.errors ?? [];
  return `Expected a progress event (proto 1); ${error?.instancePath || "it"} ${error?.message ?? "is not valid"}.`;
}

/** Only what texts look like is taken over, as values of properties: nothing of it can load or run anything. */
function wear(look: Look | undefined): void {
  const { style } = document.documentElement;
  style.colorScheme = String(look?.colorScheme);
  style.color = String(look?.color);
  style.direction = String(look?.direction);
  style.fontFamily = String(look?.fontFamily);
  style.fontSize = String(look?.fontSize);
}
