import assert from "node:assert/strict";
import fs, { appendFileSync, mkdirSync, readFileSync, truncateSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { describe, it } from "node:test";

import { EventsFile } from "../src/events-file.ts";
import { parseRecord } from "../src/record.ts";
import { FILE, line } from "./events.ts";
import { newFolder } from "./folder.ts";

function newFile(): { readonly path: string; readonly file: EventsFile } {
  const folder = newFolder();
  mkdirSync(folder);
  const path = join(folder, FILE);
  return { path, file: new EventsFile(path) };
}

/** What another process does between our look at the file and our write. */
function justBeforeTheWrite(action: () => void): void {
  const write = fs.writeSync;
  const intercepted = (...args: unknown[]): number => {
    fs.writeSync = write;
    syncBuiltinESMExports();
    action();
    return (write as (...all: unknown[]) => number)(...args);
  };
  fs.writeSync = intercepted;
  syncBuiltinESMExports();
}

const percents = (path: string): (number | undefined)[] =>
  readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((text) => parseRecord(text)?.percent);

describe("Appending while another process is killed", () => {
  it("stores a record again, alone, that came to lie behind a torn tail", () => {
    const { path, file } = newFile();
    using _ = file;
    file.append([line({ percent: 1 })]);
    justBeforeTheWrite(() => appendFileSync(path, line({ percent: 66 }).slice(0, 40)));
    assert.deepEqual(file.append([2, 3, 4].map((percent) => line({ percent }))), { stored: 3 });
    assert.deepEqual(percents(path), [1, undefined, 3, 4, 2]);
    file.append([line({ percent: 5 })]);
    assert.deepEqual(percents(path), [1, undefined, 3, 4, 2, 5]);
  });

  it("does not store twice what lies well behind another's whole record", () => {
    const { path, file } = newFile();
    using _ = file;
    justBeforeTheWrite(() => appendFileSync(path, line({ percent: 66 })));
    assert.deepEqual(file.append([line({ percent: 1 })]), { stored: 1 });
    assert.deepEqual(percents(path), [66, 1]);
  });

  it("finds its records in a file that was emptied meanwhile", () => {
    const { path, file } = newFile();
    using _ = file;
    file.append([line({ percent: 1 })]);
    justBeforeTheWrite(() => truncateSync(path));
    assert.deepEqual(file.append([line({ percent: 2 })]), { stored: 1 });
    assert.deepEqual(percents(path), [2]);
  });
});
