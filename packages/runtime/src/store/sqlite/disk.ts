/** What SQLite says of the disk: its result codes (https://www.sqlite.org/rescode.html), whose low byte says which kind. */

const IO_ERROR = 10;
const CORRUPT = 11;
const FULL = 13;
const NOT_A_DATABASE = 26;
/** The file in which connections share their places in the log could not grow. */
const IO_ERROR_SHM_SIZE = 4874;

/** The disk, or what this user may have of it, is full. */
export function isFull(error: unknown): boolean {
  const code = codeOf(error);
  return (code & 0xff) === FULL || code === IO_ERROR_SHM_SIZE;
}

/** The disk failed, whatever was asked of it. */
export function isOfTheDisk(error: unknown): boolean {
  return [IO_ERROR, CORRUPT, FULL].includes(codeOf(error) & 0xff);
}

/** What is stored is not what was written. */
export function isDamage(error: unknown): boolean {
  return [CORRUPT, NOT_A_DATABASE].includes(codeOf(error) & 0xff);
}

function codeOf(error: unknown): number {
  return (error as { errcode?: number }).errcode ?? 0;
}
