/**
 * Every `nylorun` command in docs/ and the READMEs is one, and takes the flags that it is shown with; and who reads it is told what to type
 * where there is no such command.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import { docsPages, packagePages, readPage, ROOT } from "./page.ts";

const BIN = join(ROOT, "packages/runtime/bin/nylorun.js");

interface Shown {
  readonly at: string;
  readonly line: string;
  readonly flags: readonly string[];
}

/** By their words, such as `keys add`. */
const commands = new Map<string, Shown[]>();
const pages = [readPage("README.md"), ...packagePages(), ...docsPages()];
for (const { at, language, text } of pages.flatMap(({ fences }) => fences)) {
  if (language !== "sh") continue;
  for (const line of text.matchAll(
    /^(?:\(umask 077 && |\w+=\S+ )?(?:(?:npx )?nylorun|npx -y @nylorun\/runtime) (.*?)(?: +#.*)?$/gm,
  )) {
    const [, call = ""] = line;
    const name =
      /^(?:serve|call|answer|backup|restore|export|import|replay-check|watch|dashboard|queues|usage|report|run|doctor|acp|\w+ [\w-]+)/.exec(
        call,
      )?.[0] ?? call;
    // What stands behind a lone -- is another command's.
    const flags = call.replace(/ -- .*/, "").match(/--[a-z-]+/g) ?? [];
    commands.set(name, [...(commands.get(name) ?? []), { at, line: call, flags }]);
  }
}

describe("commands in docs/ and the READMEs", { timeout: 60_000 }, () => {
  it("are found", () => assert.ok(commands.size >= 5, [...commands.keys()].join(", ")));

  it("are said to be typed otherwise elsewhere, on each page that has some", () => {
    for (const { path, text, fences } of [readPage("README.md"), ...docsPages()]) {
      const lines = fences.flatMap((fence) => (fence.language === "sh" ? fence.text.split("\n") : []));
      const isBound = lines.some((line) => /^(?:\(umask 077 && |\w+=\S+ )?(?:(?:npx )?nylorun|npm|node) /.test(line));
      assert.ok(!isBound || text.includes("README.md#commands)"), `${path} does not lead to what commands are`);
    }
  });

  it("are those of somebody with the package alone, in what comes with a package", () => {
    for (const { path, fences } of [...packagePages(), readPage("docs/progress/mcp-server.md")]) {
      for (const { language, text } of fences) {
        if (language === "sh") assert.doesNotMatch(text, /^(?:(?:npx )?nylorun|npm|node) /m, path);
      }
    }
  });

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
