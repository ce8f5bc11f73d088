/**
 * Keeps files for turns: takes their bytes in, has the Store hold them for the entry that needs them, and puts them where they belong,
 * in this order. A process that dies in between leaves bytes that nobody can name, or a hold without bytes, which ends with the turn;
 * whoever records an outcome has bytes that are in their place.
 *
 * Keeping is idempotent: the same bytes for the same entry are the same blob.
 */
import { setTimeout as pause } from "node:timers/promises";

import type { FileContent, FolderEntries, FolderEntry } from "@nylorun/agents";
import type { UrlPart } from "@nylorun/protocol";

import { StoreError } from "../store/errors.ts";
import type { FileStore, HoldLimits } from "../store/files.ts";
import type { Files, KeepOptions, KeptFile, Place } from "../turn/ports.ts";
import { BlobError } from "./blob.ts";
import type { Blobs, Intake } from "./blob.ts";
import { chunksOf, isText, receive } from "./content.ts";
import type { Received } from "./content.ts";
import { FileError } from "./errors.ts";
import type { Fetcher } from "./fetcher.ts";
import { keptFiles } from "./kept.ts";
import type { KeptFiles } from "./kept.ts";
import { Manifest, MOST_ENTRIES } from "./manifest.ts";
import { isMediaType, mediaTypeByPath } from "./media-type.ts";
import { Turnstile } from "./turnstile.ts";

/** In bytes. */
export interface FileLimits extends HoldLimits {
  /** Of one file. */
  readonly file: number;
}

export interface FilesOptions {
  readonly store: { readonly files: FileStore };
  readonly blobs: Blobs;
  readonly fetcher: Fetcher;
  readonly limits: FileLimits;
  /** Whether there is room on the disk that bytes come in to. */
  readonly hasRoom: () => boolean;
}

/** Files of a folder that are put in their places together. */
const AT_ONCE = 32;
/** Fetches of what callers name that are under way at once: in all, for one turn, and from one host. */
const FETCHES = 64;
const FETCHES_OF_TURN = 4;
const FETCHES_OF_HOST = 8;
/** Of what the blob store or the Store does not do, and the first and the longest pause between them, in milliseconds: doubling. */
const TRIES = 10;
const FIRST_PAUSE = 200;
const LONGEST_PAUSE = 30_000;

/** A file whose bytes have come in, and are not in their place yet. */
interface Incoming extends Received {
  readonly intake: Intake;
}

interface Taking {
  readonly intake: Intake;
  readonly signal: AbortSignal;
  /** Bytes. Default: of any file. */
  readonly limit?: number | undefined;
}

export class FileKeeper implements Files, KeptFiles {
  readonly #options: FilesOptions;
  readonly #turnstile = new Turnstile();
  readonly decode: KeptFiles["decode"];
  readonly read: KeptFiles["read"];
  readonly stream: KeptFiles["stream"];
  readonly sizeOf: KeptFiles["sizeOf"];

  constructor(options: FilesOptions) {
    this.#options = options;
    ({ decode: this.decode, read: this.read, stream: this.stream, sizeOf: this.sizeOf } = keptFiles(options));
  }

  /** @throws FileError, the signal's reason; what the content throws. */
  async keep(place: Place, content: FileContent, { path, mediaType, signal }: KeepOptions): Promise<KeptFile> {
    const type = checked(mediaType) ?? mediaTypeOf(path, content);
    await using intake = await this.#receive(signal);
    const received = await this.#take(chunksOf(content), { intake, signal });
    await this.#place(place, { files: [{ ...received, intake }], anew: true, signal });
    return { ...received, mediaType: type };
  }

  /** @throws as {@link keep}. */
  async keepFolder(place: Place, entries: FolderEntries, { signal }: Pick<KeepOptions, "signal">): Promise<KeptFile> {
    const manifest = new Manifest();
    let anew = true;
    const batch: Incoming[] = [];
    const flush = async () => {
      await this.#place(place, { files: batch, anew, signal });
      anew = false;
      await forget(batch);
    };
    try {
      for await (const entry of entriesOf(entries)) {
        const { path, content, mediaType } = entry;
        manifest.check(path);
        const type = checked(mediaType) ?? mediaTypeOf(path, content);
        const incoming = await this.#bring(chunksOf(content), signal);
        batch.push(incoming);
        const { size, sha256 } = incoming;
        manifest.add({ path, size, sha256, mediaType: type });
        if (batch.length === AT_ONCE) await flush();
      }
      // It is no file of the author's: nobody could make it smaller.
      const list = await this.#bring(chunksOf(manifest.toBytes()), signal, Infinity);
      batch.push(list);
      await flush();
      return { size: manifest.size, sha256: list.sha256, mediaType: "application/json" };
    } finally {
      await forget(batch);
    }
  }

  /** @throws FileError `file.notFetched`; the signal's reason. */
  async fetch(place: Place, part: UrlPart, { signal }: Pick<KeepOptions, "signal">): Promise<KeptFile> {
    const { fetcher, limits } = this.#options;
    const counts = [
      { of: "all", most: FETCHES },
      { of: `turn ${place.context} ${place.turn}`, most: FETCHES_OF_TURN },
      { of: `host ${URL.parse(part.url)?.hostname ?? ""}`, most: FETCHES_OF_HOST },
    ];
    using _ = await this.#turnstile.enter(counts, signal);
    return await fetcher.fetch(part.url, { limit: limits.file, signal }, async ({ chunks, mediaType }) => {
      await using intake = await this.#receive(signal);
      const received = await this.#take(chunks, { intake, signal });
      await this.#place(place, { files: [{ ...received, intake }], anew: true, signal });
      return { ...received, mediaType: part.mediaType ?? mediaType ?? "application/octet-stream" };
    });
  }

  async #receive(signal: AbortSignal): Promise<Intake> {
    return this.#persist(signal, () => this.#options.blobs.receive());
  }

  /** Bytes that have come in. Whoever is given them forgets them. */
  async #bring(chunks: AsyncIterable<Uint8Array>, signal: AbortSignal, limit?: number): Promise<Incoming> {
    const intake = await this.#receive(signal);
    try {
      return { ...(await this.#take(chunks, { intake, signal, limit })), intake };
    } catch (error) {
      await intake[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #take(chunks: AsyncIterable<Uint8Array>, taking: Taking): Promise<Received> {
    const { limits, hasRoom } = this.#options;
    const { intake, signal, limit = limits.file } = taking;
    try {
      return await receive(chunks, { intake, limit, hasRoom, signal });
    } catch (error) {
      throw told(error);
    }
  }

  async #place(
    { of, ...key }: Place,
    {
      files,
      anew,
      signal,
    }: { readonly files: readonly Incoming[]; readonly anew: boolean; readonly signal: AbortSignal },
  ): Promise<void> {
    const { store, limits } = this.#options;
    const bytes = files.map(({ sha256, size }) => ({ sha256, size }));
    const held = await this.#persist(signal, () => store.files.hold({ key, of, anew, bytes, limits }));
    switch (held.kind) {
      case "held":
        break;
      case "full":
        throw new FileError("file.noRoom", `All files together may have ${limits.total} bytes; this is more.`);
      case "subjectFull":
        throw new FileError(
          "file.noRoom",
          `What is kept of one subject may have ${limits.subject} bytes; this is more.`,
        );
      case "ended":
        throw new FileError("file.notKept", "The turn has ended.");
    }
    const placed = new Set<number>();
    await Promise.all(
      files.map(async ({ intake }, index) => {
        const blob = held.blobs[index]!;
        // Of equal files one is enough.
        if (placed.has(blob.blob)) return;
        placed.add(blob.blob);
        await this.#persist(signal, () => intake.place(blob));
      }),
    );
  }

  /** Asks again what may come to be done: nothing is lost meanwhile. */
  async #persist<Result>(signal: AbortSignal, ask: () => Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries++) {
      try {
        return await ask();
      } catch (error) {
        signal.throwIfAborted();
        if (tries === TRIES || isFinal(error)) throw told(error);
        await pause(Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (tries - 1)), undefined, { signal, ref: false }).catch(
          () => undefined,
        );
        signal.throwIfAborted();
      }
    }
  }
}

/** What a caller, or an author, may be told of what went wrong here. */
function told(error: unknown): unknown {
  if (!(error instanceof BlobError)) return error;
  const code = error.code === "blob.full" ? "file.noRoom" : "file.notKept";
  return new FileError(code, error.message, { cause: error });
}

function isFinal(error: unknown): boolean {
  if (error instanceof BlobError) return error.code !== "blob.failed";
  // This process has come to its end.
  return error instanceof StoreError && error.code === "store.closed";
}

async function forget(files: Incoming[]): Promise<void> {
  await Promise.all(files.splice(0).map(({ intake }) => intake[Symbol.asyncDispose]()));
}

async function* entriesOf(entries: FolderEntries): AsyncGenerator<FolderEntry> {
  if (typeof entries !== "object" || entries === null) throw invalidEntries(entries);
  if (!(Symbol.iterator in entries) && !(Symbol.asyncIterator in entries)) {
    for (const [path, content] of Object.entries(entries)) yield { path, content };
    return;
  }
  for await (const entry of entries) {
    if (typeof entry !== "object" || entry === null || !("content" in entry)) throw invalidEntries(entry);
    yield entry;
  }
}

function invalidEntries(came: unknown): FileError {
  return new FileError(
    "file.invalid",
    `A folder is made of up to ${MOST_ENTRIES} entries { path, content }, or of an object with a content for each path; there is ${typeof came}.`,
  );
}

function checked(mediaType: string | undefined): string | undefined {
  if (mediaType === undefined || (typeof mediaType === "string" && isMediaType(mediaType))) return mediaType;
  throw new FileError("file.invalid", `${JSON.stringify(mediaType)} is no media type such as text/csv.`);
}

function mediaTypeOf(path: string, content: FileContent): string {
  return mediaTypeByPath(path) ?? (isText(content) ? "text/plain" : "application/octet-stream");
}
