import { follow } from "@nylorun/progress";
import type { SinkReader } from "@nylorun/progress";
/** `watch` on a terminal: frames, as things change and as time passes, until somebody ends it. */
import { shownPercent } from "@nylorun/protocol";

import type { TerminalFeatures } from "../../node/terminal.ts";
import { drawFrame } from "./frame.ts";
import { Screen } from "./screen.ts";
import { isOpen, WatchedTasks } from "./tasks.ts";
import type { WatchedAgent } from "./tasks.ts";
import { nothingYet } from "./text.ts";

/** Between two frames, in milliseconds: faster than anybody reads. */
const FRAME_MS = 100;
/** Ages and countdowns go on although nothing is reported. */
const CLOCK_MS = 1_000;

export interface LiveOptions {
  readonly reader: SinkReader;
  /** Show also what ended long ago. */
  readonly all: boolean;
  readonly features: TerminalFeatures;
  /** Ends it. */
  readonly stop: AbortController;
}

export async function watchLive({ reader, all, features, stop }: LiveOptions): Promise<void> {
  const tasks = new WatchedTasks();
  using screen = new Screen(process.stdout, features);
  using _ = listenToKeys(process.stdin, () => stop.abort());
  const draw = (): void => {
    const agents = tasks.shown(Date.now(), all);
    const { width, height } = screen;
    const options = { width, height, unicode: features.unicode, color: process.stdout.hasColors() };
    screen.draw(agents.length === 0 ? nothingYet(reader.folder).split("\n") : drawFrame(agents, options));
    screen.showProgress(...overall(agents));
  };
  const clock = setInterval(draw, CLOCK_MS);
  process.stdout.on("resize", draw);
  let last = -Infinity;
  let next: NodeJS.Timeout | undefined;
  try {
    for await (const { records, more } of follow(reader, { signal: stop.signal })) {
      for (const record of records) tasks.add(record);
      if (more) continue;
      // The last change is always drawn (P3): now, or as soon as the next frame may be.
      next ??= setTimeout(
        () => {
          next = undefined;
          last = performance.now();
          draw();
        },
        Math.max(0, last + FRAME_MS - performance.now()),
      );
    }
  } finally {
    clearInterval(clock);
    clearTimeout(next);
    process.stdout.off("resize", draw);
  }
}

/** How far all that goes on is together, in percent; and whether all of it is paused. */
function overall(agents: readonly WatchedAgent[]): [percent: number | undefined, paused: boolean] {
  const open = agents.flatMap(({ tasks }) => tasks.map(({ shown }) => shown)).filter(isOpen);
  if (open.length === 0) return [undefined, false];
  const sum = open.reduce((total, shown) => total + (shownPercent(shown) ?? 0), 0);
  return [sum / open.length, open.every(({ status }) => status === "paused")];
}

/** Ends on `q`, and on Ctrl-C, which is a key like others while the terminal does not echo. */
function listenToKeys(stdin: NodeJS.ReadStream, end: () => void): Disposable {
  if (!stdin.isTTY) return { [Symbol.dispose]: () => undefined };
  const onData = (data: Buffer): void => {
    if (data.includes("q") || data.includes(0x03)) end();
  };
  stdin.setRawMode(true);
  stdin.on("data", onData);
  return {
    [Symbol.dispose]: () => {
      stdin.off("data", onData);
      stdin.setRawMode(false);
      stdin.pause();
    },
  };
}
