/**
 * Fetches what callers name by URL: from public addresses over https, and from the hosts that an operator named (dial/). Each redirect is
 * checked as the first address was. What goes wrong is told in words that name neither an address nor a host.
 */
import { pipeline } from "node:stream";
import type { Transform } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";

import type { DialAnswer, Dialler } from "../dial/dialler.ts";
import { DialError } from "../dial/errors.ts";
import { FileError } from "./errors.ts";
import { isMediaType } from "./media-type.ts";
import { released } from "./own-memory.ts";

export interface FetcherOptions {
  readonly dialler: Dialler;
  /** How long a fetch may take from its beginning to its last byte, tries and all, in milliseconds. */
  readonly ms: number;
}

export interface FetchOptions {
  /** Bytes. */
  readonly limit: number;
  readonly signal: AbortSignal;
}

export interface Fetched {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** As the server says. */
  readonly mediaType: string | undefined;
}

export interface Fetcher {
  /**
   * @param take Is given what comes in, at each try.
   * @throws FileError `file.notFetched`, with a message that says why after "it"; the signal's reason; what `take` throws that is no
   *   fault of the server's.
   */
  fetch<Taken>(url: string, options: FetchOptions, take: (fetched: Fetched) => Promise<Taken>): Promise<Taken>;
}

const REDIRECTS = 5;
const TRIES = 3;
const FIRST_PAUSE = 500;

export function createFetcher({ dialler, ms }: FetcherOptions): Fetcher {
  const once = async <Taken>(
    url: URL,
    { limit, signal }: FetchOptions,
    take: (fetched: Fetched) => Promise<Taken>,
  ): Promise<Taken> => {
    const headers = { accept: "*/*", "accept-encoding": "identity", "user-agent": "nylorun" };
    const answer = await dialler.follow(url, { headers, signal }, REDIRECTS);
    const { statusCode, body } = answer;
    // An error that comes when nobody reads any more is nobody's.
    body.on("error", () => undefined);
    try {
      if (statusCode !== 200) throw new Answered(statusCode);
      const length = Number(answer.headers["content-length"] ?? 0);
      if (length > limit) throw tooLarge(limit);
      return await take({ chunks: decoded(answer), mediaType: mediaTypeOf(answer) });
    } finally {
      body.destroy();
    }
  };

  return {
    async fetch(text, options, take) {
      const url = URL.parse(text);
      if (url === null || !/^https?:$/.test(url.protocol)) throw notFetched("it is no web address");
      const late = AbortSignal.timeout(ms);
      const signal = AbortSignal.any([options.signal, late]);
      for (let tries = 1; ; tries++) {
        try {
          return await once(url, { ...options, signal }, take);
        } catch (error) {
          options.signal.throwIfAborted();
          if (late.aborted) throw notFetched(`it did not come in whole within the ${ms} ms that it may take`, error);
          if (error instanceof FileError && error.code === "file.tooLarge") throw tooLarge(options.limit);
          if (error instanceof FileError) throw error;
          const { why, mayPass } = reasonOf(error);
          if (!mayPass || tries === TRIES) throw notFetched(why, error);
          await pause(FIRST_PAUSE * 2 ** (tries - 1), undefined, { signal }).catch(() => undefined);
        }
      }
    },
  };
}

/** An answer without what was asked for. */
class Answered extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`It answered ${status}.`);
    this.status = status;
  }
}

/** Nothing of what is said here may tell who looks for it what there is in the Runtime's own networks. */
function reasonOf(error: unknown): { readonly why: string; readonly mayPass: boolean } {
  if (error instanceof Answered) {
    return { why: `its server answered ${error.status}`, mayPass: [429, 502, 503, 504].includes(error.status) };
  }
  if (error instanceof DialError) {
    switch (error.code) {
      case "dial.notAllowed":
      case "dial.privateAddress":
        return { why: "it is not at an address that may be called: https, and public", mayPass: false };
      case "dial.tooManyRedirects":
        return { why: `it redirects more than ${REDIRECTS} times`, mayPass: false };
    }
  }
  if (error instanceof Coding)
    return { why: "it is compressed in a way that is not known here, or not rightly", mayPass: false };
  return { why: "its server could not be reached, or broke off", mayPass: true };
}

/** Asked for as it is. Some servers have only what is compressed. */
function decoded({ headers, body }: DialAnswer): AsyncIterable<Uint8Array> {
  const coding = String(headers["content-encoding"] ?? "identity")
    .trim()
    .toLowerCase();
  if (coding === "identity" || coding === "") return released(body as AsyncIterable<Uint8Array>);
  const make = DECODERS[coding];
  if (make === undefined) throw new Coding(`The coding ${coding} is not known.`);
  const decoder = make();
  pipeline(body, decoder, () => undefined);
  return coded(decoder);
}

class Coding extends Error {}

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

async function* coded(decoder: Transform): AsyncGenerator<Uint8Array> {
  try {
    yield* decoder as AsyncIterable<Uint8Array>;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code?.startsWith("Z_") === true || code?.startsWith("ERR_") === true
      ? new Coding("It is not rightly compressed.", { cause: error })
      : error;
  }
}

function mediaTypeOf({ headers }: DialAnswer): string | undefined {
  const type = headers["content-type"];
  return typeof type === "string" && isMediaType(type) ? type : undefined;
}

function tooLarge(limit: number): FileError {
  return notFetched(`it has more than the ${limit} bytes that a file may have`);
}

function notFetched(why: string, cause?: unknown): FileError {
  return new FileError("file.notFetched", why, { cause });
}
