import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";

import { violations } from "./house.ts";
import { ROOMS } from "./rooms.ts";
import { withSources } from "./source-tree.ts";

/** Files of a repository, by path: what is wrong with each; "" for nothing. */
interface Planted {
  readonly path: string;
  readonly text: string;
  readonly wrong: RegExp | "";
}

const TURN = "packages/runtime/src/turn/planted.ts";
const HTTP = "packages/runtime/src/http/planted.ts";

const root = mkdtempSync(join(tmpdir(), "rooms-"));
after(() => rmSync(root, { recursive: true }));

function check(planted: readonly Planted[]): void {
  rmSync(root, { recursive: true });
  const write = (path: string, text: string): void => {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  write("tsconfig.json", JSON.stringify({ compilerOptions: { noLib: true, types: [] }, include: ["**/*.ts"] }));
  write(
    "packages/runtime/package.json",
    JSON.stringify({ dependencies: { hono: "1", "@nylorun/protocol": "1", "@nylorun/agents": "1" } }),
  );
  for (const { path, text } of planted) write(path, text);
  const found = withSources(root, (sources) => violations(root, ROOMS, sources));
  for (const { path, text, wrong } of planted) {
    const of = found.filter((violation) => violation.path === path).map((violation) => violation.text);
    if (wrong === "") assert.deepEqual(of, [], `${path}: ${text}`);
    else {
      assert.equal(of.length, 1, `${path}: ${text}\n${of.join("\n")}`);
      assert.match(of[0] ?? "", wrong, text);
    }
  }
}

/** Each text in a file of its own beside `path`, all wrong in the same way. */
function each(path: string, texts: readonly string[], wrong: RegExp | ""): Planted[] {
  return texts.map((text, index) => ({ path: path.replace(".ts", `-${index}.ts`), text, wrong }));
}

test("the heart of the Runtime knows the ports, agents and protocol, and no adapter", () => {
  check([
    ...each(
      TURN,
      [
        `import { taskStateOf } from "@nylorun/protocol";`,
        `import { isRefusal } from "@nylorun/agents";`,
        `import type { Agent } from "@nylorun/agents";`,
        `import type { Store } from "../store/store.ts";`,
        `import { suspectDeaths } from "../store/store.ts";`,
        `import type { Signal } from "../store/signal.ts";`,
        `import { settle } from "./journal.ts";`,
        `export const at = (ms: number) => new Date(ms);`,
      ],
      "",
    ),
    ...each(
      TURN.replace("planted", "elsewhere"),
      [
        `import { randomUUID } from "node:crypto";`,
        `import "fs";`,
        `import type { Hono } from "hono";`,
        `export * from "../http/routes.ts";`,
        `const late = import("../store/sqlite/store.ts");`,
        `type Row = import("../store/sqlite/store.ts").Row;`,
      ],
      /runtime\/turn may import @nylorun\/protocol, @nylorun\/agents, runtime ports/,
    ),
  ]);
});

test("a pure room is handed the clock, chance and its host", () => {
  const texts = ["Date.now()", "new Date()", "Math.random()", "crypto.randomUUID()", "console.log(1)"];
  check([
    ...each(TURN, texts, /is pure/),
    ...each("packages/protocol/src/planted.ts", texts, /is pure/),
    ...each(HTTP, texts, ""),
    { path: TURN.replace("planted", "timer"), text: "setTimeout(f, 1)", wrong: "" },
    { path: "packages/protocol/src/timer.ts", text: "setTimeout(f, 1)", wrong: /is pure/ },
  ]);
});

test("protocol imports nothing", () => {
  check(
    each(
      "packages/protocol/src/planted.ts",
      [`import { join } from "node:path";`, `import type { Ajv } from "ajv";`, `import { x } from "@nylorun/agents";`],
      /protocol may import nothing/,
    ),
  );
});

test("routes see no adapter, and adapters not each other", () => {
  check([
    { path: HTTP, text: `import { open } from "../store/sqlite/store.ts";`, wrong: /runtime\/http may import/ },
    {
      path: "packages/runtime/src/store/postgres/planted.ts",
      text: `import { open } from "../sqlite/store.ts";`,
      wrong: /runtime\/store\/postgres may import/,
    },
    {
      path: "packages/runtime/src/store/sqlite/planted.ts",
      text: `import type { Store } from "../store.ts";`,
      wrong: "",
    },
    {
      path: "packages/runtime/src/node/planted.ts",
      text: `import { open } from "../store/sqlite/store.ts";`,
      wrong: "",
    },
  ]);
});

test("only the composition root reads the environment", () => {
  const texts = [
    "process.env.HOME",
    `process.env["HOME"]`,
    `import { env } from "node:process";`,
    "const { env } = process;",
  ];
  check([
    ...each(HTTP, texts, /reads the environment/),
    ...each("packages/runtime/src/cli/planted.ts", texts, /reads the environment/),
    ...each("packages/runtime/src/node/planted.ts", texts, ""),
    ...each("test/e2e/planted.test.ts", texts, ""),
  ]);
});

test("what a room may import as types it may not import as values", () => {
  check([
    ...each(HTTP, [`import type { Agent } from "@nylorun/agents";`], ""),
    ...each(
      HTTP.replace("planted", "values"),
      [`import { type Agent } from "@nylorun/agents";`, `export { Agent } from "@nylorun/agents";`],
      /types only/,
    ),
  ]);
});

test("SQL lives in the store", () => {
  const texts = [
    `"SELECT a FROM b WHERE c = 1"`,
    "`insert into a values (${1})`",
    `"PRAGMA foreign_keys = ON"`,
    `"BEGIN"`,
  ];
  check([
    ...each(HTTP, texts, /holds SQL/),
    ...each("packages/runtime/src/store/sqlite/planted.ts", texts, ""),
    ...each(HTTP.replace("planted", "prose"), [`"Select a file from the list"`, `"Begin here"`, `"update"`], ""),
  ]);
});

test("a package is imported by its name, from the package that depends on it", () => {
  check([
    { path: HTTP, text: `import { x } from "../../../protocol/src/index.ts";`, wrong: /by path/ },
    {
      path: "test/e2e/planted.test.ts",
      text: `import { x } from "../../packages/runtime/src/index.ts";`,
      wrong: /by path/,
    },
    { path: "test/e2e/named.test.ts", text: `import { x } from "@nylorun/runtime";`, wrong: "" },
    { path: "packages/runtime/test/planted.test.ts", text: `import { x } from "../src/turn/journal.ts";`, wrong: "" },
    {
      path: "packages/runtime/src/access/planted.ts",
      text: `import { jwtVerify } from "jose";`,
      wrong: /not among the dependencies/,
    },
    { path: HTTP.replace("planted", "hono"), text: `import { html } from "hono/html";`, wrong: "" },
  ]);
});

test("a module whose name is computed is loaded by the composition root alone", () => {
  const text = "export const load = (file: string) => import(file);";
  check([
    { path: HTTP, text, wrong: /computed/ },
    { path: "packages/runtime/src/node/planted.ts", text, wrong: "" },
  ]);
});

test("a folder without a room is found", () => {
  check([{ path: "packages/runtime/src/attic/planted.ts", text: "", wrong: /in no room/ }]);
});
