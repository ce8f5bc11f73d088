/** The list of a folder's files, as it is made. What is kept is its canonical form, without links, which the folder's hash is of. */
import { canonicalFolderList, pathProblem } from "@nylorun/protocol";
import type { ListedFile } from "@nylorun/protocol";

import { FileError } from "./errors.ts";

export const MOST_ENTRIES = 10_000;

/** Collects entries, and refuses those that cannot lie beside each other in one folder. */
export class Manifest {
  readonly #entries = new Map<string, ListedFile>();
  /** Paths that have entries below them. */
  readonly #folders = new Set<string>();

  /** Before its bytes are read. @throws FileError `file.invalid` */
  check(path: string): void {
    const problem = pathProblem(path);
    if (problem !== undefined) throw invalid(`The path ${JSON.stringify(path)} ${problem}`);
    if (this.#entries.has(path)) throw invalid(`There are two entries ${JSON.stringify(path)}`);
    if (this.#entries.size >= MOST_ENTRIES) throw invalid(`A folder has at most ${MOST_ENTRIES} entries`);
    if (this.#folders.has(path)) throw invalid(`${JSON.stringify(path)} has other entries below it`);
    const above = foldersOf(path);
    const file = above.find((folder) => this.#entries.has(folder));
    if (file !== undefined)
      throw invalid(`${JSON.stringify(path)} lies below ${JSON.stringify(file)}, which is a file`);
    for (const folder of above) this.#folders.add(folder);
  }

  add(entry: ListedFile): void {
    this.#entries.set(entry.path, entry);
  }

  /** The sum of the files. */
  get size(): number {
    return [...this.#entries.values()].reduce((sum, { size }) => sum + size, 0);
  }

  toBytes(): Uint8Array {
    const entries = [...this.#entries.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
    return Buffer.from(canonicalFolderList(entries), "utf8");
  }
}

/** @param text Of a blob that {@link Manifest.toBytes} made. */
export function readManifest(text: string): readonly ListedFile[] {
  return (JSON.parse(text) as { readonly entries: readonly ListedFile[] }).entries;
}

/** `a` and `a/b` of `a/b/c`. */
function foldersOf(path: string): string[] {
  const folders: string[] = [];
  for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) folders.push(path.slice(0, at));
  return folders;
}

function invalid(why: string): FileError {
  return new FileError("file.invalid", `${why}.`);
}
