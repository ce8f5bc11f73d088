/** The embedding page's side of a frame. */
import type { ProgressEvent } from "@nylorun/protocol";

import { FrameError } from "./errors.ts";
import { isMessage } from "./messages.ts";
import type { FromFrame, ToFrame } from "./messages.ts";

export { FrameError };
export type { FrameErrorCode } from "./errors.ts";

export interface ProgressFrameOptions {
  /** The frame follows its content up to so many pixels; default 600. From there on it scrolls. */
  readonly maxHeight?: number;
  /** Told when the frame refuses an event, and why. */
  readonly onRefused?: (reason: string) => void;
}

/** Tasks whose latest event is kept for a frame that loads (again). */
const LIMIT = 100;

/**
 * Sends progress events to an `<iframe>` that shows the frame page, from whatever moment on: what comes before the frame is ready
 * waits, and a frame that is loaded again gets the latest event of each task. Its height follows its content.
 */
export class ProgressFrame {
  readonly #iframe: HTMLIFrameElement;
  /** The frame page's own; nothing is sent to, or taken from, another. */
  readonly #origin: string;
  readonly #options: Required<ProgressFrameOptions>;
  readonly #latest = new Map<string, ProgressEvent>();
  readonly #stop = new AbortController();
  #ready = false;

  /** @throws FrameError `frame.opaque` when the frame has no origin of its own that it could be addressed by. */
  constructor(iframe: HTMLIFrameElement, { maxHeight = 600, onRefused = () => {} }: ProgressFrameOptions = {}) {
    this.#iframe = iframe;
    this.#options = { maxHeight, onRefused };
    this.#origin = URL.parse(iframe.src, document.baseURI)?.origin ?? "null";
    const sandboxed = iframe.hasAttribute("sandbox") && !iframe.sandbox.contains("allow-same-origin");
    if (this.#origin === "null" || sandboxed) {
      throw new FrameError(
        "frame.opaque",
        `Expected an iframe with an http(s) src and, if it has a sandbox, allow-same-origin in it; got src "${iframe.src}", sandbox "${iframe.sandbox.value}". A frame without an origin of its own cannot be addressed.`,
      );
    }
    const { signal } = this.#stop;
    addEventListener("message", (message) => this.#receive(message), { signal });
    iframe.addEventListener(
      "load",
      () => {
        this.#ready = false;
        this.restyle();
      },
      { signal },
    );
    // Until its page is there, the frame is a blank one of ours, and has nobody to talk to.
    const inside = iframe.contentDocument;
    if (inside === null || inside.URL !== "about:blank") this.restyle();
  }

  send(event: ProgressEvent): void {
    // Moved to the end, so that what is dropped is what was silent the longest.
    this.#latest.delete(event.task_id);
    this.#latest.set(event.task_id, event);
    const [oldest] = this.#latest.keys();
    if (this.#latest.size > LIMIT && oldest !== undefined) this.#latest.delete(oldest);
    if (this.#ready) this.#post({ type: "agent-progress:event", event });
  }

  /** Milliseconds since 1970 by the clock that stamps the events: see `AgentProgress.now`. */
  set now(now: number) {
    if (this.#ready) this.#post({ type: "agent-progress:now", now });
  }

  /** Tells the frame how the page looks now: after a change of theme, say. */
  restyle(): void {
    const { colorScheme, color, direction, fontFamily, fontSize } = getComputedStyle(this.#iframe);
    this.#post({ type: "agent-progress:hello", look: { colorScheme, color, direction, fontFamily, fontSize } });
  }

  /** Stops listening; the iframe stays as it is. */
  close(): void {
    this.#stop.abort();
    this.#ready = false;
  }

  #receive({ source, origin, data }: MessageEvent<unknown>): void {
    if (source !== this.#iframe.contentWindow || origin !== this.#origin || !isMessage(data)) return;
    const message = data as FromFrame;
    switch (message.type) {
      case "agent-progress:ready":
        if (this.#ready) break;
        this.#ready = true;
        for (const event of this.#latest.values()) this.#post({ type: "agent-progress:event", event });
        break;
      case "agent-progress:height":
        if (Number.isFinite(message.height)) this.#grow(message.height);
        break;
      case "agent-progress:refused":
        this.#options.onRefused(message.reason);
        break;
    }
  }

  #grow(height: number): void {
    const { style } = this.#iframe;
    const pixels = `${Math.min(Math.max(0, height), this.#options.maxHeight)}px`;
    if (style.height !== pixels) style.height = pixels;
  }

  /** To a window of another origin, which is what is there before the frame page is, the browser delivers nothing. */
  #post(message: ToFrame): void {
    this.#iframe.contentWindow?.postMessage(message, this.#origin);
  }
}
