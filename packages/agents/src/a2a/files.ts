/** The files that a task made, and their download (`files/v1`). */
import { EXTENSIONS, isFilesData, mediaTypeOf } from "@nylorun/protocol";
import type { Artifact, FilesData, Part, Task } from "@nylorun/protocol";

import { decodeBase64 } from "./base64.ts";
import { readUpTo } from "./bounded.ts";
import { A2aClientError } from "./errors.ts";
import { fileCheck } from "./file-check.ts";

/**
 * One file of a task. What the agent did not say of it is undefined; in particular an agent without `files/v1` gives no size, hash,
 * path or version.
 */
export interface RemoteFile {
  readonly artifactId: string;
  /** For people: the file's own name, else the end of its path, else the artifact's name or id. */
  readonly name: string;
  /** Such as `text/csv`. */
  readonly mediaType: string;
  /** A folder's content is the list of the files in it, with a link to each. */
  readonly kind: "file" | "folder" | undefined;
  /** Where it lies in the agent's outputs. A text from elsewhere: never use it as a path of your own as it is. */
  readonly path: string | undefined;
  /** 1 for the first content under its path, one more for each that replaced it. */
  readonly version: number | undefined;
  /** In bytes; of a folder: of the files in it. */
  readonly size: number | undefined;
  /** In hexadecimal digits: of the bytes; of a folder: of its list without the links, in the canonical form of files/v1. */
  readonly sha256: string | undefined;
  /** Where its bytes are; undefined: they came with the task. A link of a Runtime expires; downloads ask for a new one then. */
  readonly url: string | undefined;
  /**
   * Its bytes as they come. Counted and hashed on the way: the stream fails at its end when they are not those that the agent
   * told of, and before its end when they are more. Of a folder it is the list that is checked; whoever fetches one of its files holds
   * that against the list. Where `sha256` is undefined there is nothing to check by. No credentials are sent: a link carries its own
   * permission.
   *
   * Errors: A2aClientError `file.gone`, `file.changed`, `agent.unreachable`.
   */
  stream(options?: DownloadOptions): Promise<ReadableStream<Uint8Array>>;
  /** All of its bytes. @param options.maxBytes More are refused with `answer.tooLarge`. Default: 64 MiB. */
  bytes(options?: DownloadOptions & { readonly maxBytes?: number }): Promise<Uint8Array>;
  /** All of it as text, in UTF-8. */
  text(options?: DownloadOptions & { readonly maxBytes?: number }): Promise<string>;
}

export interface DownloadOptions {
  readonly signal?: AbortSignal;
}

/** How bytes are fetched, and how a link that has expired is made new. */
export interface Download {
  fetch(url: string, signal: AbortSignal | undefined): Promise<Response>;
  /** The task as it is now. */
  reload(signal: AbortSignal | undefined): Promise<Task>;
}

const MOST_BYTES = 64 * 1024 * 1024;

/** @param active Whether files/v1 was asked for. */
export function filesOf({ artifacts = [] }: Task, active: boolean, download: Download): readonly RemoteFile[] {
  return artifacts.flatMap((artifact) => {
    const data = dataOf(artifact, active);
    const parts = artifact.parts.filter((part) => part.url !== undefined || part.raw !== undefined);
    // With files/v1 a text is a file as well: it has a path and a version.
    const shown = parts.length > 0 || data === undefined ? parts : artifact.parts.slice(0, 1);
    return shown.map((part) => new ArtifactFile({ artifact, part, data, download, active }));
  });
}

function dataOf(artifact: Artifact, active: boolean): FilesData | undefined {
  const data: unknown = active ? artifact.metadata?.[EXTENSIONS.files] : undefined;
  return isFilesData(data) ? data : undefined;
}

interface FileParts {
  readonly artifact: Artifact;
  readonly part: Part;
  readonly data: FilesData | undefined;
  readonly download: Download;
  readonly active: boolean;
}

class ArtifactFile implements RemoteFile {
  readonly artifactId: string;
  readonly name: string;
  readonly mediaType: string;
  readonly kind: "file" | "folder" | undefined;
  readonly path: string | undefined;
  readonly version: number | undefined;
  readonly size: number | undefined;
  readonly sha256: string | undefined;
  readonly url: string | undefined;
  readonly #part: Part;
  readonly #download: Download;
  readonly #active: boolean;

  constructor({ artifact, part, data, download, active }: FileParts) {
    const { artifactId, name } = artifact;
    this.artifactId = artifactId;
    this.name = part.filename ?? data?.path.split("/").at(-1) ?? (name || artifactId);
    this.mediaType = mediaTypeOf(part);
    this.kind = data?.kind;
    this.path = data?.path;
    this.version = data?.version;
    this.size = data?.size;
    this.sha256 = data?.sha256;
    this.url = part.url;
    this.#part = part;
    this.#download = download;
    this.#active = active;
  }

  async stream({ signal }: DownloadOptions = {}): Promise<ReadableStream<Uint8Array>> {
    const body = this.url === undefined ? bodyOf(this.#part) : await this.#fetch(this.url, signal);
    return body.pipeThrough(fileCheck(this));
  }

  async bytes({
    signal,
    maxBytes = MOST_BYTES,
  }: DownloadOptions & { readonly maxBytes?: number } = {}): Promise<Uint8Array> {
    const bytes = await readUpTo(await this.stream(signal && { signal }), maxBytes);
    if (bytes !== undefined) return bytes;
    throw new A2aClientError(
      "answer.tooLarge",
      `${this.name} has more than ${maxBytes} bytes. Use stream(), or raise maxBytes.`,
    );
  }

  async text(options?: DownloadOptions & { readonly maxBytes?: number }): Promise<string> {
    return new TextDecoder().decode(await this.bytes(options));
  }

  async #fetch(url: string, signal: AbortSignal | undefined): Promise<ReadableStream<Uint8Array>> {
    let response = await this.#download.fetch(url, signal);
    if (EXPIRED.has(response.status)) {
      response.body?.cancel().catch(() => undefined);
      const fresh = await this.#freshUrl(signal);
      if (fresh === undefined || fresh === url) throw this.#gone(`HTTP status ${response.status}`);
      response = await this.#download.fetch(fresh, signal);
    }
    if (!response.ok) {
      response.body?.cancel().catch(() => undefined);
      throw this.#gone(`HTTP status ${response.status}`);
    }
    return response.body ?? new ReadableStream({ start: (controller) => controller.close() });
  }

  /** The link as the task has it now, to this very version. */
  async #freshUrl(signal: AbortSignal | undefined): Promise<string | undefined> {
    const task = await this.#download.reload(signal);
    const artifact = task.artifacts?.find(({ artifactId }) => artifactId === this.artifactId);
    if (artifact === undefined || dataOf(artifact, this.#active)?.version !== this.version) return undefined;
    return artifact.parts.find(({ url, filename }) => url !== undefined && filename === this.#part.filename)?.url;
  }

  #gone(why: string): A2aClientError {
    const which = this.version === undefined ? this.name : `${this.name} (version ${this.version})`;
    return new A2aClientError("file.gone", `${which} cannot be had: ${why}.`);
  }
}

/** How a link says that it is over. */
const EXPIRED: ReadonlySet<number> = new Set([401, 403, 404, 410]);

/** Of a part whose content came with it. */
function bodyOf(part: Part): ReadableStream<Uint8Array> {
  const bytes =
    part.raw === undefined
      ? new TextEncoder().encode(part.text ?? JSON.stringify("data" in part ? part.data : null))
      : decodeBase64(part.raw);
  return new ReadableStream({
    start(controller) {
      if (bytes.length > 0) controller.enqueue(bytes);
      controller.close();
    },
  });
}
