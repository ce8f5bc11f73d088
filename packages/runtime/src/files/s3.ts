/**
 * Blobs in S3-compatible storage, one object for each. Bytes come in to a local file first: only then is it known what they are, and
 * they can be sent again when the storage fails. The storage checks them by their hash.
 */
import { openAsBlob } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

import { AwsClient } from "aws4fetch";

import type { Blob } from "../store/files.ts";
import { BlobError, blobKey } from "./blob.ts";
import type { Blobs } from "./blob.ts";
import { Incoming } from "./incoming.ts";
import type { IncomingFile } from "./incoming.ts";

export interface S3Options {
  /** Where the bucket is, with what objects' names begin with, such as `https://s3.example.com/bucket/nylorun`. */
  readonly url: string;
  /** Such as `eu-central-1`; `auto` where there are none. */
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
  /** The local folder that bytes come in to. Made when it is needed. */
  readonly incoming: string;
}

/** Of a request that the storage does not answer, or not as it should; and the first pause between them, in milliseconds: doubling. */
const TRIES = 4;
const FIRST_PAUSE = 200;
/** How long an answer may take, in milliseconds: of what carries no bytes, and of what does. */
const BRIEF = 30_000;
const LONG = 15 * 60_000;
/** Objects that are removed at the same time. */
const AT_ONCE = 8;

export function createS3Blobs({ url, incoming: folder, ...credentials }: S3Options): Blobs {
  const storage = new Storage(url, credentials);
  const incoming = new Incoming(folder);

  const place = async (file: IncomingFile, blob: Blob) => {
    const key = blobKey(blob);
    // It may have been placed before: what is in a process that died, or in one beside this.
    const found = await storage.ask("HEAD", key, { tolerate: [404] });
    if (found.ok && Number(found.headers.get("content-length")) === blob.size) return;
    await file.finish();
    // Read anew at each try; its length is known, so that it is sent as it is.
    const body = await openAsBlob(file.path);
    await storage.ask("PUT", key, { body, headers: { "x-amz-content-sha256": blob.sha256 }, ms: LONG });
  };

  return {
    receive: () => incoming.receive(place),

    async read(blob, range) {
      if (blob.size === 0) return emptyStream();
      const headers = range && { range: `bytes=${range.first}-${range.last}` };
      const answer = await storage.ask("GET", blobKey(blob), { tolerate: [404], ...(headers && { headers }) });
      if (!answer.ok || answer.body === null) {
        await answer.body?.cancel();
        throw new BlobError("blob.missing", `There is no object ${blobKey(blob)}.`);
      }
      if (range === undefined) return answer.body;
      // Not every storage keeps to what it was asked for.
      const [, first] = /^bytes (\d+)-/.exec(answer.headers.get("content-range") ?? "bytes 0-") ?? [];
      if (Number(first) === range.first) return answer.body.pipeThrough(upTo(range.last + 1 - range.first));
      await answer.body.cancel();
      throw new BlobError("blob.failed", `The storage gave another range of ${blobKey(blob)} than was asked for.`);
    },

    async remove(blobs) {
      for (let from = 0; from < blobs.length; from += AT_ONCE) {
        const some = blobs.slice(from, from + AT_ONCE);
        await Promise.all(some.map((blob) => storage.ask("DELETE", blobKey(blob), { tolerate: [404] })));
      }
    },

    async [Symbol.asyncDispose]() {},
  };
}

interface Ask {
  readonly body?: globalThis.Blob;
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses that are answers, too. */
  readonly tolerate?: readonly number[];
  readonly ms?: number;
}

class Storage {
  readonly #url: string;
  readonly #client: AwsClient;

  constructor(
    url: string,
    credentials: Pick<S3Options, "region" | "accessKeyId" | "secretAccessKey" | "sessionToken">,
  ) {
    this.#url = url.replace(/\/$/, "");
    const { sessionToken, ...keys } = credentials;
    this.#client = new AwsClient({ ...keys, ...(sessionToken !== undefined && { sessionToken }), service: "s3" });
  }

  /** @throws BlobError `blob.failed` */
  async ask(method: string, key: string, { body, headers, tolerate = [], ms = BRIEF }: Ask): Promise<Response> {
    let why = "";
    let cause: unknown;
    for (let tries = 0; tries < TRIES; tries++) {
      if (tries > 0) await pause(FIRST_PAUSE * 2 ** (tries - 1));
      // The time is that until the answer: a stream may take as long as its reader.
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(new Error(`it did not answer within ${ms} ms`)), ms);
      try {
        const request = await this.#client.sign(`${this.#url}/${key}`, {
          method,
          ...(body && { body }),
          ...(headers && { headers }),
        });
        const answer = await fetch(request.url, {
          method,
          headers: request.headers,
          signal: late.signal,
          redirect: "error",
          ...(body && { body }),
        });
        if (answer.ok || tolerate.includes(answer.status)) return answer;
        why = `it answered ${answer.status} ${errorCodeOf(await answer.text())}`.trimEnd();
        if (answer.status < 500 && answer.status !== 429 && answer.status !== 408) break;
      } catch (error) {
        cause = error;
        why = (error as Error).message;
      } finally {
        clearTimeout(timer);
      }
    }
    throw new BlobError("blob.failed", `The storage at ${this.#url} did not ${method} an object: ${why}.`, { cause });
  }
}

/** Of an error as S3 words it. */
function errorCodeOf(text: string): string {
  return /<Code>([A-Za-z]{1,100})<\/Code>/.exec(text)?.[1] ?? "";
}

/** So many bytes, and no more. */
function upTo(bytes: number): TransformStream<Uint8Array, Uint8Array> {
  let left = bytes;
  return new TransformStream({
    transform(chunk, controller) {
      if (left > 0) controller.enqueue(chunk.length > left ? chunk.subarray(0, left) : chunk);
      left -= chunk.length;
      if (left <= 0) controller.terminate();
    },
  });
}

function emptyStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() });
}
