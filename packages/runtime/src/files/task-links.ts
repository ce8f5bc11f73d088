/** Links to the files of a task, made anew each time that somebody is shown it. */
import { EXTENSIONS } from "@nylorun/protocol";
import type { Artifact, FilesData } from "@nylorun/protocol";

import type { TurnKey } from "../turn/record.ts";
import type { TaskIds } from "../turn/task-id.ts";
import type { ArtifactLinks } from "../turn/task.ts";
import type { FileLinks } from "./links.ts";

/** The links that these artifacts of a turn are shown with; undefined: none of them needs one. */
export type LinksOf = (turn: TurnKey, artifacts: readonly Artifact[] | undefined) => Promise<ArtifactLinks | undefined>;

export function createLinksOf(links: FileLinks, taskIds: TaskIds): LinksOf {
  const make = async (artifact: Artifact, taskId: string): Promise<readonly [Artifact, string]> => {
    const { kind, sha256 } = artifact.metadata![EXTENSIONS.files] as FilesData;
    const { mediaType = "application/octet-stream", filename = artifact.artifactId } = artifact.parts[0]!;
    const isFolder = kind === "folder" ? ({ isFolder: true } as const) : undefined;
    return [artifact, await links.make({ taskId, sha256, name: filename, mediaType, ...isFolder })];
  };
  return async (turn, artifacts = []) => {
    const files = artifacts.filter(({ parts: [part] }) => part?.url !== undefined);
    if (files.length === 0) return undefined;
    const taskId = taskIds.encode(turn);
    const made = new Map(await Promise.all(files.map((artifact) => make(artifact, taskId))));
    return { linkOf: (artifact) => made.get(artifact)! };
  };
}
