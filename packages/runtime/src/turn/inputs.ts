/**
 * The files that a message brought. What a part names by URL is fetched before the function is called, as an effect of the turn: once,
 * whatever becomes of the process. Contents are in no journal: what the function asks for is read anew when it is handed over, on
 * replay as well (E1).
 */
import type { Input } from "@nylorun/agents";
import { mediaTypeOf } from "@nylorun/protocol";
import type { Part, RawPart, UrlPart } from "@nylorun/protocol";

import type { EffectStarted, Entry } from "./journal.ts";
import type { KeptFile } from "./ports.ts";
import type { Run } from "./run.ts";
import { pause } from "./timers.ts";

/** Between attempts to read what cannot be read, in milliseconds: doubling, up to the longest. */
const firstPauseMs = 200;
const longestPauseMs = 30_000;

/** A part that could not be had: the task fails, and its caller reads why. */
export class Unfetched extends Error {}

interface Source {
  readonly size: number;
  readonly mediaType: string;
  stream(): ReadableStream<Uint8Array>;
}

export class Inputs {
  readonly #run: Run;
  readonly #parts: readonly (readonly [index: number, part: RawPart | UrlPart])[];
  readonly #sources = new Map<number, Source>();
  /** What has been read for the function, by the place of the entry that asked for it, until it is handed over. */
  readonly #contents = new Map<number, Uint8Array>();
  readonly #loading = new Set<number>();
  list: readonly Input[] = [];

  constructor(run: Run) {
    this.#run = run;
    this.#parts = run.record.message.parts.flatMap((part, index) =>
      part.raw !== undefined || part.url !== undefined ? [[index, part] as const] : [],
    );
  }

  /** Whether there is anything to {@link prepare}. */
  get any(): boolean {
    return this.#parts.length > 0;
  }

  /** Has everything ready that the function may read. In step, before the function. @throws Unfetched */
  async prepare(): Promise<void> {
    await Promise.all(
      this.#parts.map(async ([index, part]) =>
        part.url === undefined ? this.#take(index, part) : this.#fetch(index, part),
      ),
    );
    this.list = this.#parts.map(([index, part]) => this.#input(index, part));
  }

  /** Whether a completion may be handed over: what it is the content of is there. If it is not, it is read, and the run goes on then. */
  isLoaded(of: number, entries: readonly Entry[]): boolean {
    const start = entries[of] as EffectStarted;
    if (start.kind !== "effect" || start.work !== "read" || this.#contents.has(of)) return true;
    if (!this.#loading.has(of)) void this.#load(of, Number(start.name));
    return false;
  }

  /** The content that was read for this entry. */
  take(of: number): Uint8Array | undefined {
    const content = this.#contents.get(of);
    this.#contents.delete(of);
    return content;
  }

  #take(index: number, part: RawPart): void {
    const { files } = this.#run.ports;
    const bytes = files.decode(part);
    this.#sources.set(index, {
      size: bytes.length,
      mediaType: mediaTypeOf(part),
      stream: () => new Blob([bytes]).stream(),
    });
  }

  async #fetch(index: number, part: UrlPart): Promise<void> {
    const { ports, calls, record } = this.#run;
    const { context, turn } = record;
    try {
      const fetched = (await calls.work({ work: "fetch", name: String(index) }, (of, signal) =>
        ports.files.fetch({ context, turn, of }, part, { signal }),
      )) as KeptFile;
      this.#sources.set(index, {
        size: fetched.size,
        mediaType: fetched.mediaType,
        stream: () => ports.files.stream(record, fetched.sha256),
      });
    } catch (error) {
      const { code, message } = error as { readonly code?: unknown; readonly message: string };
      if (typeof code !== "string" || !code.startsWith("file.")) throw error;
      const which = `Part ${index + 1} of the message (${nameOf(part, index)})`;
      throw new Unfetched(
        code === "file.notFetched"
          ? `${which} could not be fetched: ${message}.`
          : `There is no room for ${which[0]!.toLowerCase()}${which.slice(1)}.`,
        { cause: error },
      );
    }
  }

  #input(index: number, part: RawPart | UrlPart): Input {
    const source = this.#sources.get(index)!;
    const { ports, calls } = this.#run;
    const bytes = async (): Promise<Uint8Array> => {
      // What an effect does is recorded as one.
      if (ports.asyncContext.get()?.effect === true) return readAll(source.stream(), source.size);
      return (await calls.work({ work: "read", name: String(index) }, async () => undefined)) as Uint8Array;
    };
    return Object.freeze({
      part: index,
      name: nameOf(part, index),
      mediaType: source.mediaType,
      size: source.size,
      stream: () => source.stream(),
      bytes: () => handled(bytes()),
      text: () => handled(bytes().then((content) => new TextDecoder().decode(content))),
    });
  }

  /** Until it can be read, or the run is over. */
  async #load(of: number, index: number): Promise<void> {
    const { ports, effects, record } = this.#run;
    this.#loading.add(of);
    effects.running++;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
      try {
        const source = this.#sources.get(index)!;
        this.#contents.set(of, await readAll(source.stream(), source.size));
        break;
      } catch (error) {
        const fields = { error, task: ports.taskIds.encode(record) };
        ports.log.warn(fields, "A file that a message brought could not be read; it is tried again.");
        await pause(ports.timers, pauseMs);
        if (!this.#run.isOurs || this.#run.dropped || this.#run.timeUp.aborted) break;
      }
    }
    this.#loading.delete(of);
    effects.running--;
    this.#run.pump();
  }
}

/** The author may look at it later, or never: that is no unhandled rejection (E17). */
function handled<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => undefined);
  return promise;
}

/** For people, and no path: what a URL ends in, without its query. */
function nameOf(part: Part, index: number): string {
  if (part.filename !== undefined && part.filename !== "") return part.filename;
  const last = part.url === undefined ? undefined : URL.parse(part.url)?.pathname.split("/").at(-1);
  return last === undefined || last === "" ? `part-${index + 1}` : decoded(last);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function readAll(stream: ReadableStream<Uint8Array>, size: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(size);
  let length = 0;
  for await (const chunk of stream) {
    if (length + chunk.length > size) throw new RangeError(`It has more than its ${size} bytes.`);
    bytes.set(chunk, length);
    length += chunk.length;
  }
  if (length < size) throw new RangeError(`It has ${length} bytes, not ${size}.`);
  return bytes;
}
