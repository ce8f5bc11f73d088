/** The list of a folder's files, which is what a folder's hash is of (files/v1, *Folders*). */

/** One file of a folder, without the link to it. */
export interface ListedFile {
  /** Within the folder. */
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** Of its bytes, as 64 lower-case hexadecimal digits. */
  readonly sha256: string;
  readonly mediaType: string;
}

/**
 * The canonical form of a list: JSON as RFC 8785 writes it, in which the order of the names is part of the form.
 *
 * @param files By path, in the order of UTF-16 code units; with well-formed texts.
 */
export function canonicalFolderList(files: readonly ListedFile[]): string {
  const entries = files.map(({ mediaType, path, sha256, size }) => ({ mediaType, path, sha256, size }));
  return JSON.stringify({ entries });
}
