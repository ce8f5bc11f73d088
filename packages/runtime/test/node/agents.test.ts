import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { pathToFileURL } from "node:url";

import { checkAgents, loadAgents } from "../../src/node/agents.ts";

const folder = mkdtempSync(join(tmpdir(), "nylorun-agents-"));
after(() => rmSync(folder, { recursive: true }));

// By address: the folder is outside of the workspace, where no package is found by name.
const AGENTS = JSON.stringify(import.meta.resolve("@nylorun/agents"));
const define = (id: string, more = "") =>
  `defineAgent({ ${more} id: "${id}", name: "A", description: "A", version: "1", skills: [{ id: "a", name: "A", description: "A", tags: ["a"] }], run: () => "a" })`;

function write(name: string, ...lines: string[]): string {
  writeFileSync(join(folder, name), [`import { defineAgent } from ${AGENTS};`, ...lines].join("\n"));
  return name;
}

async function refusal(...files: string[]): Promise<{ code: string; message: string }> {
  return loadAgents(files, folder).then(
    (agents) => assert.fail(`loaded ${agents.map(({ id }) => id).join()}`),
    (error: unknown) => {
      const { code, message } = error as { code: string; message: string };
      return { code, message };
    },
  );
}

const invalid = (message: string) => ({ code: "agents.invalid", message });

describe("files of agents", () => {
  it("give their default and their named exports, in the order of the files", async () => {
    const one = write("one.ts", `export default ${define("one")};`);
    const more = write(
      "more.ts",
      `const second: unknown = ${define("two")};`,
      "export { second };",
      `export const three = ${define("three")};`,
      "export const other = 7;",
    );
    const agents = await loadAgents([more, join(folder, one)], folder);
    assert.deepEqual(agents.map(({ id }) => id).toSorted(), ["one", "three", "two"]);
    assert.equal(agents.at(-1)?.id, "one");
  });

  it("may export one agent twice, and be named twice", async () => {
    const file = write("twice.ts", `export const a = ${define("twice")};`, "export default a;");
    const again = write("again.ts", `export { a } from ${JSON.stringify(pathToFileURL(join(folder, file)).href)};`);
    assert.deepEqual(
      (await loadAgents([file, file, again], folder)).map(({ id }) => id),
      ["twice"],
    );
  });

  it("are refused when they do not load, with the reason and the line", async () => {
    assert.deepEqual(await refusal("gone.ts"), invalid("gone.ts: there is no such file."));
    mkdirSync(join(folder, "sub"));
    assert.deepEqual(await refusal("sub"), invalid("sub is a folder. Name the files in it."));
    assert.deepEqual(
      await refusal(write("throws.ts", "", 'throw new Error("no\\nluck");')),
      invalid("throws.ts does not load: no luck (line 3)."),
    );
    assert.deepEqual(
      await refusal(write("text.ts", 'throw "no luck";')),
      invalid("text.ts does not load: it throws no luck."),
    );
    const { code, message } = await refusal(write("syntax.ts", "", "const a = = 1;"));
    assert.equal(code, "agents.invalid");
    assert.match(message, /^syntax\.ts does not load: SyntaxError: [^\n]+ \(line 3\)\.$/);
    assert.match(
      (await refusal(write("missing.ts", 'import "not-installed-here";'))).message,
      /^missing\.ts does not load: Cannot find package 'not-installed-here'/,
    );
  });

  it("are refused when they are not done loading in time", async () => {
    const file = write("hangs.ts", "await new Promise(() => {});");
    await assert.rejects(
      loadAgents([file], folder, { patienceMs: 200 }),
      invalid("hangs.ts does not load: it is not done after 0.2 s."),
    );
  });

  it("are refused when a definition is wrong, in the definition's own words", async () => {
    const file = write("wrong.ts", `export default ${define("Wrong One")};`);
    assert.deepEqual(
      await refusal(file),
      invalid(
        'wrong.ts does not load: Agent "Wrong One": id must be 1-64 of a-z, 0-9 and "-", and begin with a letter or a digit (line 2).',
      ),
    );
  });

  it("are refused when they name subjects that nobody can be", async () => {
    const wrong = {
      '["ada lovelace"]': 'subjects has "ada lovelace", which is none: character 4 is a blank',
      '["ada", ""]': 'subjects has "", which is none: it is empty',
      "[7]": "subjects has 7, which is none: it is number, not a text.",
      '["ada", "ada >"]': 'subjects has "ada >", which is none: character 4 is a blank',
      "[]": "subjects must list at least one; left out, everybody may use the agent",
      '"ada"': "subjects must list at least one; left out, everybody may use the agent",
      null: "subjects must list at least one; left out, everybody may use the agent",
    };
    for (const [subjects, why] of Object.entries(wrong)) {
      const file = write(
        `subjects-${Math.random()}.ts`,
        `export default ${define("vault", `subjects: ${subjects},`)};`,
      );
      const { code, message } = await refusal(file);
      assert.equal(code, "agents.invalid");
      assert.ok(message.includes(`Agent "vault": ${why}`), message);
    }
    const names = ["ada", "team/bob", "~".repeat(200)];
    const file = write("vault.ts", `export default ${define("vault", `subjects: ${JSON.stringify(names)},`)};`);
    const [agent] = await loadAgents([file], folder);
    assert.deepEqual(agent?.subjects, names);
    assert.ok(Object.isFrozen(agent.subjects), "nothing changes who may use it");
  });

  it("are refused when they export no agent", async () => {
    const file = write("none.ts", "export default { id: 'none', run: () => defineAgent };");
    assert.deepEqual(await refusal(file), invalid("none.ts exports no agent. Write: export default defineAgent({…})."));
  });

  it("are refused when two agents have one id, naming both files", async () => {
    const first = write("first.ts", `export default ${define("same")};`);
    const second = write("second.ts", `export default ${define("same")};`);
    const both = write("both.ts", `export const a = ${define("same")};`, `export const b = ${define("same")};`);
    const duplicate = (message: string) => ({ code: "agents.duplicate", message });
    assert.deepEqual(
      await refusal(first, second),
      duplicate('first.ts and second.ts export two agents with the id "same". Rename one.'),
    );
    assert.deepEqual(await refusal(both), duplicate('both.ts exports two agents with the id "same". Rename one.'));
  });
});

describe("agents given by a program", () => {
  it("are refused when two have one id, or one was not defined", async () => {
    const [agent] = await loadAgents([write("given.ts", `export default ${define("given")};`)], folder);
    assert.ok(agent !== undefined);
    checkAgents([agent]);
    assert.throws(() => checkAgents([JSON.parse(JSON.stringify(agent))]), { code: "agents.invalid" });
    assert.throws(() => checkAgents([agent, agent]), { code: "agents.duplicate" });
  });
});
