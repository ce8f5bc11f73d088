/** Every `nylorun` command in docs/ and README.md is one, and takes the flags that it is shown with. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import { docsPages, readPage, ROOT } from "./page.ts";

const BIN = join(ROOT, "packages/runtime/bin/nylorun.js");

interface Shown {
  readonly at: string;
  readonly line: string;
  readonly flags: readonly string[];
}

/** By their words, such as `keys add`. */
const commands = new Map<string, Shown[]>();
for (const { at, language, text } of [readPage("README.md"), ...docsPages()].flatMap(({ fences }) => fences)) {
  if (language !== "sh") continue;
  for (const line of text.matchAll(/^(?:npx )?nylorun (.*?)(?: +#.*)?$/gm)) {
    const [, call = ""] = line;
    const name =
      /^(?:serve|call|answer|backup|restore|export|import|replay-check|watch|dashboard|report|run|doctor|acp|\w+ [\w-]+)/.exec(
        call,
      )?.[0] ?? call;
    // What stands behind a lone -- is another command's.
    const flags = call.replace(/ -- .*/, "").match(/--[a-z-]+/g) ?? [];
    commands.set(name, [...(commands.get(name) ?? []), { at, line: call, flags }]);
  }
}

describe("commands in docs/ and README.md", { timeout: 60_000 }, () => {
  it("are found", () => assert.ok(commands.size >= 5, [...commands.keys()].join(", ")));

  for (const [name, shown] of commands) {
    it(`nylorun ${name}`, async () => {
      const { stdout } = await promisify(execFile)(process.execPath, [BIN, ...name.split(" "), "--help"]);
      assert.ok(stdout.startsWith(`Usage: nylorun ${name} `), stdout);
      for (const { at, line, flags } of shown) {
        for (const flag of flags) assert.match(stdout, new RegExp(`^  .*${flag}\\b`, "m"), `${at}: ${line}`);
      }
    });
  }
});
