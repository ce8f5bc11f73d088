/** What is said of the files of tasks: a copy of the database goes without them. */

interface Files {
  readonly bytes: number;
  /** A folder, or the URL of S3-compatible storage. */
  readonly place: string;
}

/** Of a copy that was made. */
export function filesApart({ bytes, place }: Files): string {
  if (bytes === 0) return "";
  return `The files of its tasks, ${sizeText(bytes)}, are not in it: they are in ${place}.\n`;
}

/** Of a database that was made of a copy. */
export function filesNeeded({ bytes, place }: { readonly bytes: number; readonly place: string | undefined }): string {
  if (bytes === 0) return "";
  const where = place ?? "where all nodes look for them, which fileFolder or s3Url says";
  return `The files of its tasks, ${sizeText(bytes)}, were not in it: they belong in ${where}.\n`;
}

function sizeText(bytes: number): string {
  if (bytes === 1) return "1 byte";
  const [unit, name] = (
    [
      [1e9, "GB"],
      [1e6, "MB"],
      [1e3, "kB"],
      [1, "bytes"],
    ] as const
  ).find(([least]) => bytes >= least)!;
  const amount = bytes / unit;
  return `${unit === 1 || amount >= 9.95 ? Math.round(amount) : amount.toFixed(1)} ${name}`;
}
