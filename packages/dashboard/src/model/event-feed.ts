/**
 * The Runtime's progress events as they come. Read with `fetch`, not `EventSource`: that would hide how it was refused, and would not
 * notice a connection that a sleeping machine left half open.
 */
import type { ProgressEvent } from "@nylorun/protocol";

import { at } from "./base.ts";
import { clock } from "./clock.ts";
import { session } from "./session.ts";

/** As the Runtime sends it: an operator is told whose it is. */
export type FeedEvent = ProgressEvent & { readonly seq?: number; readonly subject?: string };

export interface FeedListener {
  event(event: FeedEvent): void;
  /** Everything that the Runtime knows has been told. @param hub Tells one life of the Runtime from the next. */
  ready(hub: string): void;
  live(isLive: boolean): void;
}

/** The Runtime says something, be it nothing, every 15 s. In milliseconds. */
const SILENCE = 40_000;
/** Until it is tried again, in milliseconds: twice as long each time. */
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 10_000;

/** Follows until `signal` is aborted. @param query Such as `as=operator`. */
export async function followEvents(listener: FeedListener, query: string, signal: AbortSignal): Promise<void> {
  let lastId: string | undefined;
  for (let pause = FIRST_PAUSE; !signal.aborted; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    try {
      const outcome = await read(lastId);
      if (outcome === "refused") return;
      pause = FIRST_PAUSE;
    } catch {
      // No answer, or it broke off: again, from where it was.
    }
    if (signal.aborted) return;
    listener.live(false);
    await wake(pause, signal);
  }

  async function read(from: string | undefined): Promise<"ended" | "refused"> {
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(), SILENCE);
    try {
      const response = await fetch(at(`v1/progress/events${query === "" ? "" : `?${query}`}`), {
        headers: from === undefined ? {} : { "Last-Event-ID": from },
        signal: AbortSignal.any([signal, silence.signal]),
        cache: "no-store",
      });
      if (response.status === 401 || response.status === 403) {
        session.ended();
        return "refused";
      }
      if (!response.ok || response.body === null) throw new Error(`status ${response.status}`);
      listener.live(true);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let text = ""; ;) {
        const { value, done } = await reader.read();
        if (done) return "ended";
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), SILENCE);
        const messages = (text + value).split("\n\n");
        text = messages.pop() ?? "";
        for (const message of messages) take(message);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  function take(message: string): void {
    let name = "";
    let data = "";
    for (const line of message.split("\n")) {
      if (line.startsWith("data: ")) data += line.slice(6);
      else if (line.startsWith("id: ")) lastId = line.slice(4);
      else if (line.startsWith("event: ")) name = line.slice(7);
    }
    if (data === "") return;
    const value = JSON.parse(data) as FeedEvent & { readonly hub?: string; readonly now?: string };
    if (name === "") listener.event(value);
    else if (name === "ready" && value.hub !== undefined) {
      if (value.now !== undefined) clock.set(value.now);
      listener.ready(value.hub);
    }
  }
}

/** After a while; sooner when the machine is online again or the page is looked at. */
async function wake(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const stop = new AbortController();
    const done = (): void => {
      clearTimeout(timer);
      stop.abort();
      resolve();
    };
    const timer = setTimeout(done, ms);
    addEventListener("online", done, { signal: stop.signal });
    document.addEventListener("visibilitychange", done, { signal: stop.signal });
    signal.addEventListener("abort", done, { signal: stop.signal });
  });
}
