/** The files of a script: what the URLs in its message lead to, and what the agent made of it. */
import type { Artifact } from "@nylorun/protocol";

import { chunksOf } from "../files/content.ts";
import { FileError } from "../files/errors.ts";
import type { Fetcher } from "../files/fetcher.ts";
import type { KeptFiles } from "../files/kept.ts";
import { readManifest } from "../files/manifest.ts";
import { mediaTypeByPath } from "../files/media-type.ts";
import { filesDataOf } from "../turn/outputs.ts";
import type { TurnKey } from "../turn/record.ts";

/** A file that the agent made, in its last version. */
export interface TestFile {
  readonly kind: "file" | "folder";
  readonly path: string;
  readonly version: number;
  /** Bytes; of a folder: the sum of its files. */
  readonly size: number;
  readonly sha256: string;
  readonly mediaType: string;
  /** Of a folder: none. */
  readonly bytes: Uint8Array;
  /** The bytes as UTF-8. */
  readonly text: string;
  /** Of a folder: its files, by path. */
  readonly entries: Readonly<Record<string, string>>;
}

/** @param urls By URL, what is there. */
export function scriptedFetcher(urls: Readonly<Record<string, string | Uint8Array>>): Fetcher {
  return {
    async fetch(url, { limit }, take) {
      const content = Object.hasOwn(urls, url) ? urls[url] : undefined;
      if (content === undefined) throw new FileError("file.notFetched", "the script has nothing at its URL");
      if (content.length > limit) throw new FileError("file.notFetched", "it is too large");
      return take({ chunks: chunksOf(content), mediaType: mediaTypeByPath(url) });
    },
  };
}

export async function testFile(artifact: Artifact, turn: TurnKey, kept: KeptFiles): Promise<TestFile> {
  const { kind, path, version, size, sha256 } = filesDataOf(artifact)!;
  const read = async (hash: string) => new Uint8Array(await new Response(await kept.read(turn, hash)).arrayBuffer());
  const bytes = await read(sha256);
  const text = new TextDecoder().decode(bytes);
  const about = { kind, path, version, size, sha256, mediaType: artifact.parts[0]!.mediaType! };
  if (kind === "file") return { ...about, bytes, text, entries: {} };
  const entries: Record<string, string> = {};
  for (const entry of readManifest(text)) entries[entry.path] = new TextDecoder().decode(await read(entry.sha256));
  return { ...about, bytes: new Uint8Array(), text: "", entries };
}
