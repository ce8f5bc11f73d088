/** The TypeScript of docs/ and of each README.md: it compiles, is what the file it names holds, and throws what it is said to throw. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

import type { Agent, Turn } from "@nylorun/agents";
import { startRuntime } from "@nylorun/runtime";

import { compile } from "./compiler.ts";
import { docsPages, packagePages, readPage, ROOT } from "./page.ts";
import type { Fence } from "./page.ts";

const pages = [readPage("README.md"), ...packagePages(), ...docsPages()];
const snippets = pages.flatMap(({ fences }) => fences.filter(({ language }) => ["ts", "tsx"].includes(language)));

/** What a snippet that stands in `run` finds around it. */
const AROUND = `
import { AgentError, Cancelled, defineAgent, EffectError, OutcomeUnknown, refuse, reply, WaitExpired } from "@nylorun/agents";
import { Shop } from "./examples/agents/refunds/shop.ts";
const shop = new Shop(import.meta.dirname);
`;

function isInRun({ mark }: Fence): boolean {
  return mark.startsWith("in run");
}

/** The snippet as a file. */
function fileOf(fence: Fence): string {
  if (!isInRun(fence)) return fence.text;
  const lines = fence.text.split("\n");
  const imports = lines.filter((line) => line.startsWith("import "));
  const body = lines.filter((line) => !line.startsWith("import "));
  return `${AROUND}${imports.join("\n")}
    export default defineAgent({
      id: "snippet", name: "Snippet", description: "From a page.", version: "1.0.0",
      skills: [{ id: "a", name: "A", description: "A.", tags: ["a"] }],
      async run(turn) {
        ${body.join("\n")}
      },
    });`;
}

describe("the TypeScript in docs/ and the READMEs", { timeout: 120_000 }, () => {
  it("says what it is", () => {
    for (const { at, mark } of snippets) assert.match(mark, /^(|test|in run|in run, throws|from [\w./-]+)$/, at);
    assert.ok(snippets.length >= 10, `${snippets.length} snippets were found`);
  });

  it("compiles", async () => {
    const files = snippets.flatMap((fence, index): [string, string][] =>
      fence.mark.startsWith("from ") ? [] : [[`snippet${index}.${fence.language}`, `// ${fence.at}\n${fileOf(fence)}`]],
    );
    assert.equal(await compile(new Map(files)), "");
  });

  for (const { at, mark, text } of snippets.filter((fence) => fence.mark.startsWith("from "))) {
    it(`is in the file that it is said to be from: ${at}`, () => {
      const file = readFileSync(join(ROOT, mark.slice("from ".length)), "utf8");
      const flat = (code: string) => code.replaceAll(/^ +/gm, "");
      assert.ok(flat(file).includes(flat(text)), `${at} is not in ${mark.slice("from ".length)}:\n${text}`);
    });
  }

  for (const { fences } of pages) {
    for (const [index, fence] of fences.entries()) {
      if (fence.mark !== "in run, throws") continue;
      it(`throws what stands below it: ${fence.at}`, async () => {
        const thrown = fences[index + 1];
        assert.equal(thrown?.mark, "thrown", `${fence.at} must be followed by what it throws`);
        assert.equal(await errorOf(fence), thrown?.text.trim());
      });
    }
  }

  for (const fence of snippets.filter(({ mark }) => mark === "test")) {
    it(`passes, where it is a test: ${fence.at}`, async () => {
      using folder = folderWith(fence);
      // Not as part of the run that this test is in.
      const { NODE_TEST_CONTEXT: _, ...env } = process.env;
      const args = ["--test", "--test-reporter=tap", join(folder.path, "snippet.ts")];
      const { stdout } = await promisify(execFile)(process.execPath, args, { env, timeout: 60_000 });
      assert.match(stdout, /^# pass [1-9]/m);
    });
  }
});

/** A folder with nothing but the snippet, where it finds what it imports. */
function folderWith(fence: Fence): { readonly path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), "nylorun-snippet-"));
  for (const name of ["node_modules", "examples"]) symlinkSync(join(ROOT, name), join(path, name));
  writeFileSync(join(path, "package.json"), '{"type": "module"}');
  writeFileSync(join(path, "snippet.ts"), fileOf(fence));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

/** The message of what the snippet throws when a Runtime runs it. */
async function errorOf(fence: Fence): Promise<string> {
  await using resources = new AsyncDisposableStack();
  const folder = resources.use(folderWith(fence)).path;
  const { default: agent } = (await import(pathToFileURL(join(folder, "snippet.ts")).href)) as { default: Agent };
  let message = "nothing was thrown";
  const run = async (turn: Turn) => {
    try {
      await agent.run(turn);
    } catch (error) {
      ({ message } = error as Error);
    }
  };
  const watched = Object.create(agent, { run: { value: run } }) as Agent;
  const runtime = resources.use(
    await startRuntime({ agents: [watched], home: join(folder, "home"), port: 0, logLevel: "silent", stopGraceMs: 0 }),
  );
  const key = await runtime.addKey({ role: "subject", subject: "ada" });
  const params = { message: { messageId: "1", role: "ROLE_USER", parts: [{ text: "Go" }] } };
  await fetch(`${runtime.url}/v1/a2a/agents/${agent.id}/`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "a2a-version": "1.0" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params }),
    signal: AbortSignal.timeout(30_000),
  });
  return message;
}
