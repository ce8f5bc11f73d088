import { sha256 } from "@noble/hashes/sha2.js";
/**
 * Holds the bytes of a file, as they come, against what the agent told of them (`files/v1`): of a file, and of data that came with the
 * task, against their own number and hash; of a folder, whose bytes are the list of its files, against the hash of that list in its
 * canonical form and the sum of its files.
 */
import { canonicalFolderList } from "@nylorun/protocol";
import type { ListedFile } from "@nylorun/protocol";

import { A2aClientError } from "./errors.ts";

/** What the agent told. */
export interface Told {
  readonly name: string;
  readonly kind: "file" | "folder" | undefined;
  readonly size: number | undefined;
  readonly sha256: string | undefined;
}

/** Passes the bytes on. Fails with `file.changed` at their end, or before it as soon as they are too many. */
export function fileCheck(told: Told): TransformStream<Uint8Array, Uint8Array> {
  const check = told.kind === "folder" ? new ListCheck(told) : new BytesCheck(told);
  return new TransformStream({
    transform: (chunk, controller) => {
      check.take(chunk);
      controller.enqueue(chunk);
    },
    flush: () => check.end(),
  });
}

class BytesCheck {
  readonly #told: Told;
  readonly #hash: ReturnType<typeof sha256.create> | undefined;
  #length = 0;

  constructor(told: Told) {
    this.#told = told;
    this.#hash = told.sha256 === undefined ? undefined : sha256.create();
  }

  take(chunk: Uint8Array): void {
    const { size } = this.#told;
    this.#length += chunk.length;
    if (size !== undefined && this.#length > size) throw changed(this.#told, `it has more than ${size} bytes`);
    this.#hash?.update(chunk);
  }

  end(): void {
    const { size } = this.#told;
    if (size !== undefined && this.#length !== size) {
      throw changed(this.#told, `it has ${this.#length} bytes, not ${size}`);
    }
    const found = this.#hash && hexOf(this.#hash.digest());
    if (found !== this.#told.sha256) throw changed(this.#told, `its SHA-256 is ${found}, not ${this.#told.sha256}`);
  }
}

/** Of a list, which is kept until it can be read: 10,000 entries with the longest paths that there can be take less. */
const LONGEST_LIST = 64 * 1024 * 1024;

class ListCheck {
  readonly #told: Told;
  readonly #decoder = new TextDecoder();
  #text = "";
  #length = 0;

  constructor(told: Told) {
    this.#told = told;
  }

  take(chunk: Uint8Array): void {
    this.#length += chunk.length;
    if (this.#length > LONGEST_LIST) throw changed(this.#told, "its list is longer than that of a folder can be");
    this.#text += this.#decoder.decode(chunk, { stream: true });
  }

  end(): void {
    const { size, sha256: hash } = this.#told;
    const files = filesIn(this.#text + this.#decoder.decode());
    if (files === undefined) throw changed(this.#told, "it is no list of files");
    const found = hexOf(sha256(new TextEncoder().encode(canonicalFolderList(files))));
    if (found !== hash) throw changed(this.#told, `the SHA-256 of its list is ${found}, not ${hash}`);
    const sum = files.reduce((all, file) => all + file.size, 0);
    if (sum !== size) throw changed(this.#told, `its files have ${sum} bytes together, not ${size}`);
  }
}

/** Undefined: it is no list as files/v1 has it. */
function filesIn(text: string): readonly ListedFile[] | undefined {
  try {
    const { entries } = JSON.parse(text) as { readonly entries?: unknown };
    return Array.isArray(entries) && entries.every(isListedFile) ? entries : undefined;
  } catch {
    return undefined;
  }
}

function isListedFile(value: unknown): value is ListedFile {
  if (typeof value !== "object" || value === null) return false;
  const { path, size, sha256: hash, mediaType } = value as Record<string, unknown>;
  return [path, hash, mediaType].every((one) => typeof one === "string") && typeof size === "number";
}

function changed({ name }: Told, why: string): A2aClientError {
  return new A2aClientError("file.changed", `${name} is not what the agent told of: ${why}.`);
}

function hexOf(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
