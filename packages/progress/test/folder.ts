/** A folder of the test's own, that is gone afterwards. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

const root = mkdtempSync(join(tmpdir(), "nylorun-progress-"));
after(() => rmSync(root, { recursive: true, force: true }));

let count = 0;

/** The path of a folder that is not there yet. */
export function newFolder(): string {
  return join(root, `sink-${++count}`);
}
