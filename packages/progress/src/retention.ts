/** How long events are kept: 7 days after their own. */
import { lstatSync, readdirSync, unlinkSync } from "node:fs";
import { join } from "node:path";

import { dayOfFile, daysBefore } from "./day.ts";
import type { Day } from "./day.ts";

export const RETENTION_DAYS = 7;

/**
 * Deletes the files whose day is past keeping. The day is the one in the name, whatever the file system says; what is not a
 * regular file with exactly such a name is not ours to delete.
 *
 * @returns The names of the files that were deleted.
 */
export function removeOldFiles(folder: string, today: Day): string[] {
  const oldest = daysBefore(today, RETENTION_DAYS);
  return readdirSync(folder).filter((name) => {
    const day = dayOfFile(name);
    if (day === undefined || day >= oldest) return false;
    const path = join(folder, name);
    try {
      if (!lstatSync(path).isFile()) return false;
      unlinkSync(path);
      return true;
    } catch {
      // Another process did it first, or may not be stopped from keeping it.
      return false;
    }
  });
}
