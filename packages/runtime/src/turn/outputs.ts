/**
 * What an agent hands its caller: the files that it makes, and what its function returns. Outputs belong to the context: each path has
 * its versions there, counted up by whoever has the context's active turn, of which there is one (I2).
 *
 * In a view, an output is the artifact that callers see, with its data of files/v1; but for the link of a file, which is made anew
 * each time that somebody looks.
 */
import { AgentError } from "@nylorun/agents";
import type { FileVersion } from "@nylorun/agents";
import { EXTENSIONS, pathProblem } from "@nylorun/protocol";
import type { Artifact, FilesData } from "@nylorun/protocol";

import type { Output } from "../store/files.ts";
import type { EffectResult, EffectStarted, Entry } from "./journal.ts";
import type { KeptFile } from "./ports.ts";
import type { TurnView } from "./record.ts";
import type { Run } from "./run.ts";
import { pause } from "./timers.ts";

/** Of what the function returns. */
export const outputId = "output";
/** What takes the place of a link in a view. */
export const noLink = "";

const returnedPaths = { text: "output.txt", json: "output.json" } as const;
/** Artifacts of one task: its view is written with each change. */
const artifactLimit = 1000;
/** How long a store that cannot say is given before it is asked again, in milliseconds. */
const askAgainMs = 20;

export class Outputs {
  readonly #run: Run;
  /** Of paths that were asked for: the last version that was given out. */
  readonly #last = new Map<string, Promise<number>>();

  constructor(run: Run) {
    this.#run = run;
  }

  /** The next version of a path. To be written at once, or never: versions are given out in order, and none twice. */
  next(path: string): Promise<number> {
    const last = this.#last.get(path) ?? this.#load(path);
    const next = last.then((version) => version + 1);
    this.#last.set(path, next);
    return next;
  }

  /** @throws AgentError `file.invalid`, `turn.tooLarge`. */
  check(path: string): void {
    const problem = pathProblem(path);
    if (problem !== undefined) throw invalid(`The path ${JSON.stringify(path)} ${problem}.`);
    if (path === returnedPaths.text || path === returnedPaths.json) {
      throw invalid(`${path} is where what run returns goes: return it, or choose another path.`);
    }
    const { artifacts = [] } = this.#run.record.view;
    if (artifacts.length < artifactLimit || artifacts.some((artifact) => filesDataOf(artifact)?.path === path)) return;
    throw new AgentError(
      "turn.tooLarge",
      `A turn makes ${artifactLimit} files at most; this is one more. Put them into a folder: turn.folder.`,
    );
  }

  artifactId(path: string): string {
    return `file-${this.#run.ports.entropy.hash(path).slice(0, 24)}`;
  }

  /** What an author is given of a file that is kept. */
  async version(path: string, { size, sha256, mediaType }: KeptFile): Promise<FileVersion> {
    return { path, version: await this.next(path), size, sha256, mediaType };
  }

  /** What the function returned, as an artifact. */
  async returned(part: Artifact["parts"][number]): Promise<{ readonly artifact: Artifact; readonly output: Output }> {
    const isText = part.text !== undefined;
    const path = isText ? returnedPaths.text : returnedPaths.json;
    const text = isText ? part.text : JSON.stringify(part.data);
    const version = await this.next(path);
    const sha256 = this.#run.ports.entropy.hash(text);
    const data: FilesData = { kind: "file", version, size: bytesOf(text), sha256, path };
    const artifact: Artifact = { artifactId: outputId, name: outputId, parts: [part], ...withData(data) };
    return { artifact, output: { path, version } };
  }

  /** Rejects only when the run is not to write any more. */
  async #load(path: string): Promise<number> {
    const { ports, record, isNew } = this.#run;
    // Nobody has been here before.
    if (isNew) return 0;
    for (;;) {
      if (!this.#run.isOurs || this.#run.dropped) throw new Error("The run is over.");
      try {
        return await ports.store.files.lastVersion(record.context, path);
      } catch (error) {
        ports.log.warn(
          { error, task: ports.taskIds.encode(record) },
          "A version could not be looked up; trying again.",
        );
        await pause(ports.timers, askAgainMs);
      }
    }
  }
}

/** The versions that are new with these entries. @param journal All entries, these among them. */
export function outputsOf(entries: readonly Entry[], journal: readonly Entry[]): readonly Output[] {
  return entries.flatMap((entry) => {
    if (entry.kind !== "outcome") return [];
    const file = fileOf(journal[entry.of] as EffectStarted, entry.result);
    return file === undefined ? [] : [{ of: entry.of, path: file.path, version: file.version }];
  });
}

/** The view with a version of a file that has just been kept, in the place of the one before it. */
export function withFile(view: TurnView, start: EffectStarted, result: EffectResult): TurnView {
  const file = fileOf(start, result);
  if (file === undefined) return view;
  const { path, version, size, sha256, mediaType } = file;
  const name = path.slice(path.lastIndexOf("/") + 1);
  const artifact: Artifact = {
    artifactId: start.artifactId!,
    name,
    parts: [{ url: noLink, filename: name, mediaType }],
    ...withData({ kind: start.work === "folder" ? "folder" : "file", version, size, sha256, path }),
  };
  const others = view.artifacts ?? [];
  const at = others.findIndex(({ artifactId }) => artifactId === artifact.artifactId);
  return { ...view, artifacts: at === -1 ? [...others, artifact] : others.with(at, artifact) };
}

/** What files/v1 says of an artifact of a view. */
export function filesDataOf({ metadata }: Artifact): FilesData | undefined {
  return metadata?.[EXTENSIONS.files] as FilesData | undefined;
}

function withData(data: FilesData): Pick<Artifact, "metadata" | "extensions"> {
  return { metadata: { [EXTENSIONS.files]: data }, extensions: [EXTENSIONS.files] };
}

function fileOf(start: EffectStarted | undefined, result: EffectResult): FileVersion | undefined {
  const makes = start?.work === "file" || start?.work === "folder";
  return makes && "value" in result ? (result.value as FileVersion) : undefined;
}

const encoder = new TextEncoder();

function bytesOf(text: string): number {
  return encoder.encode(text).length;
}

function invalid(message: string): AgentError {
  return new AgentError("file.invalid", message);
}
