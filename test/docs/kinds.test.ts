/** Whatever is fenced in docs/ and the READMEs is of a kind that a test looks at; what no test can look at is named here, with the reason. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { docsPages, packagePages, readPage, ROOT } from "./page.ts";
import type { Fence } from "./page.ts";

const fences = [readPage("README.md"), ...packagePages(), ...docsPages()].flatMap((page) => page.fences);

/** By language and mark: which test of this folder looks at it. */
const KINDS: readonly (readonly [kind: RegExp, test: string])[] = [
  [/^tsx?$|^ts (?:test|in run|in run, throws|from .+)$|^text thrown$/, "snippets.test.ts"],
  [/^html$/, "html.test.ts"],
  [/^json [A-Z]\w+(?: to .+)?$|^json (?:answer|error)$/, "wire.test.ts"],
  [/^jsonc [\w-]+$|^toml codex$/, "hosts.test.ts"],
  [/^(?:python|bash|java) verify$/, "verify.test.ts"],
  [/^sh(?: run)?$/, "commands.test.ts"],
];

/** Without a mark, as they stand on pages that show them to readers elsewhere, too. */
const UNMARKED: Readonly<Record<string, string>> = {
  "README.md json": "readme.test.ts",
  "packages/mcp-server/README.md json": "hosts.test.ts",
  "packages/mcp-server/README.md toml": "hosts.test.ts",
};

/** Lines of a shell that are no command of ours. */
const LINES: readonly (readonly [line: RegExp, test: string])[] = [
  [/^(?:\(umask 077 && |\w+=\S+ )?(?:npx )?nylorun /, "commands.test.ts"],
  [/^npx -y @nylorun\/runtime /, "commands.test.ts"],
  [/^claude mcp add progress -- npx -y @nylorun\/mcp-server(?: +#.*)?$/, "hosts.test.ts"],
  [/^npm start(?: +#.*)?$/, "readme.test.ts"],
  [/^export NYLORUN_\w+=/, "settings are looked up below"],
  // Its own tests run it: examples/caller/test, test/browser/examples.test.ts, and test/docs/wire.test.ts.
  [/^node examples\/(?:caller\/refund|progress-page\/serve|agents\/meetings\/connect)\.ts\b/, "an example"],
  [/^npm test(?: +#.*)?$/, "is what runs this"],
];

/** What a screen shows, drawn by hand, and the drawings of README.md and docs/progress/README.md. */
const isDrawing = ({ language, mark }: Fence) => (language === "" || language === "text") && mark === "";

describe("what is fenced in docs/ and the READMEs", () => {
  it("is of a kind that a test looks at", () => {
    for (const fence of fences.filter((one) => !isDrawing(one))) {
      const kind = `${fence.language} ${fence.mark}`.trim();
      const [path = ""] = fence.at.split(":");
      const test = KINDS.find(([is]) => is.test(kind))?.[1] ?? UNMARKED[`${path} ${kind}`];
      assert.ok(test, `${fence.at}: no test looks at \`\`\`${kind}`);
      assert.ok(existsSync(join(import.meta.dirname, test)), test);
    }
  });

  it("has no line for a shell that no test looks at", () => {
    for (const { at, language, text } of fences) {
      if (language !== "sh" || text.startsWith("curl ")) continue; // Run as a whole by readme.test.ts and html.test.ts.
      for (const line of text.trim().split("\n"))
        assert.ok(
          LINES.some(([is]) => is.test(line)),
          `${at}: ${line}`,
        );
      for (const [, file = ""] of text.matchAll(/^node (\S+)/gm))
        assert.ok(existsSync(join(ROOT, file)), `${at}: ${file}`);
    }
  });

  it("names settings that there are, where it sets some", () => {
    const { text: settings } = readPage("docs/reference/settings.md");
    for (const { at, language, text } of fences) {
      if (language !== "sh") continue;
      for (const [, name = ""] of text.matchAll(/\b(NYLORUN_[A-Z_]+)=/g)) {
        assert.ok(settings.includes(`\`${name}\``), `${at}: there is no ${name}`);
      }
    }
  });
});
