/** `files/v1`: what agents hand out and take in, over HTTP. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";

import { createA2aClient } from "@nylorun/agents/a2a";
import { EXTENSIONS, isFilesData } from "@nylorun/protocol";
import type { Artifact, FilesData, Part, Task } from "@nylorun/protocol";
import * as fc from "fast-check";

import { makeAgent } from "./agents.ts";
import { messageOf, serve } from "./wire.ts";
import type { Served, Wire } from "./wire.ts";

const URI = EXTENSIONS.files;
const ACTIVE = { headers: { "a2a-extensions": URI } };
const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

const clerk = makeAgent(
  "clerk",
  async (turn) => {
    switch (turn.text) {
      case "text":
        return "Done — ✓";
      case "data":
        return { n: 1 };
      case "page":
        await turn.file("site/index.html", "<script>alert(1)</script>");
        await turn.file("site/image.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>");
        return "";
      case "folder":
        await turn.folder("many", { "b.txt": "b", "a.txt": "a" });
        return "";
      case "odd": {
        const names = ["ü/ä.txt", '\u2028 "quoted".txt', "ﬀ.txt", "😀.txt", "Z.txt", "a.txt"];
        await turn.folder("odd", Object.fromEntries(names.map((name) => [name, name])));
        return "";
      }
      case "any":
        return turn.parts[1]!.data as Record<string, unknown>;
      case "escape": {
        const refused: string[] = [];
        for (const path of ["/etc/passwd", "../up", "a/../b", "a//b", "", "a\\b", "a/./b", "a\0b"]) {
          try {
            await turn.file(path, "x");
          } catch (error) {
            refused.push((error as { code: string }).code);
          }
        }
        return refused;
      }
      case "read":
        return Promise.all(turn.inputs.map(async (input) => [input.name, input.mediaType, await input.text()]));
      default:
        return turn.file("notes.txt", turn.text);
    }
  },
  { inputModes: ["*/*"] },
);

describe("files/v1", () => {
  let served: Served;
  let ada: Wire;

  before(async () => {
    served = await serve({ agents: [clerk], a2aWaitMs: 20_000 });
    ada = await served.as("ada");
  });
  after(() => served[Symbol.asyncDispose]());

  const send = async (text: string, message: object = {}, post: object = ACTIVE): Promise<Task> => {
    const params = { message: messageOf(text, message) };
    return (await ada.result<{ task: Task }>("clerk", "SendMessage", params, post)).task;
  };
  const dataOf = (artifact: Artifact): FilesData => artifact.metadata![URI] as FilesData;
  const byPath = ({ artifacts = [] }: Task, path: string): Artifact =>
    artifacts.find((one) => dataOf(one).path === path)!;
  const linkOf = (artifact: Artifact): string => artifact.parts[0]!.url!;

  // keeps: files-artifact-data
  it("is on every artifact, which lists it", async () => {
    for (const text of ["text", "data", "page", "folder", "Hello"]) {
      const { artifacts = [], status } = await send(text);
      assert.equal(status.state, "TASK_STATE_COMPLETED", text);
      assert.ok(artifacts.length > 0);
      for (const artifact of artifacts) {
        assert.deepEqual(artifact.extensions, [URI]);
        assert.ok(isFilesData(artifact.metadata?.[URI]), JSON.stringify(artifact));
      }
    }
    const plain = await send("page", {}, {});
    assert.ok(!JSON.stringify(plain).includes(URI), "and not when it was not activated");
  });

  // keeps: files-artifact-output
  it("says of what is returned how large it is, and its hash", async () => {
    const [text, data] = [(await send("text")).artifacts!, (await send("data")).artifacts!];
    const bytes = "Done — ✓";
    assert.deepEqual(dataOf(text[0]!), {
      kind: "file",
      version: 1,
      size: Buffer.byteLength(bytes),
      sha256: hashOf(bytes),
      path: "output.txt",
    });
    const { path, size, sha256 } = dataOf(data[0]!);
    assert.deepEqual([path, size, sha256], ["output.json", 7, hashOf('{"n":1}')]);
  });

  // keeps: files-artifact-output, files-artifact-folder, files-artifact-checked
  it("says of whatever is returned, and of any folder, what a client finds", async () => {
    const client = await createA2aClient({ url: `${ada.url}/v1/a2a/agents/clerk/`, auth: ada.key, pollMs: 50 });
    const download = async (parts: string | readonly Part[]) => {
      const [file] = (await (await client.send(parts)).done({ signal: AbortSignal.timeout(30_000) })).files;
      assert.ok(file?.sha256 !== undefined);
      return file.text();
    };
    // What the bytes are is checked on the way: it would fail.
    const { entries } = JSON.parse(await download("odd")) as { entries: readonly { path: string }[] };
    assert.equal(entries.length, 6);
    const any = async (data: unknown) =>
      JSON.parse(await download([{ text: "any" }, { data: { any: data } }])) as unknown;
    const odd = JSON.parse(
      '{"10": 1e21, "2": -0, "__proto__": {"b": "\\ud83d", "a": 1e-7}, "": [[], {}, null]}',
    ) as unknown;
    assert.deepEqual(await any(odd), JSON.parse(JSON.stringify({ any: odd })));
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 3 }), async (data) => {
        assert.deepEqual(await any(data), JSON.parse(JSON.stringify({ any: data })));
      }),
      { numRuns: 30 },
    );
  });

  // keeps: files-artifact-path
  it("has paths that lead nowhere else: others are refused where the author wrote them", async () => {
    const { artifacts = [] } = await send("escape");
    const refused = artifacts.find(({ name }) => name === "output")!.parts[0]!.data as string[];
    assert.equal(refused.length, 8);
    assert.deepEqual([...new Set(refused)], ["file.invalid"]);
    assert.equal(artifacts.length, 1);
  });

  // keeps: files-artifact-version, files-link-url
  it("counts the versions of a path in its context, and a link keeps to its own", async () => {
    const contextId = crypto.randomUUID();
    const one = byPath(await send("first", { contextId }), "notes.txt");
    const two = byPath(await send("second", { contextId }), "notes.txt");
    assert.deepEqual([dataOf(one).version, dataOf(two).version], [1, 2]);
    assert.equal(two.artifactId, one.artifactId);
    for (const [artifact, text] of [
      [one, "first"],
      [two, "second"],
    ] as const) {
      const response = await fetch(linkOf(artifact));
      assert.equal(response.status, 200, "no key is asked for");
      const body = await response.text();
      assert.deepEqual([body, hashOf(body)], [text, dataOf(artifact).sha256]);
    }
    assert.equal(dataOf(byPath(await send("elsewhere"), "notes.txt")).version, 1);
  });

  // keeps: files-link-serves
  it("serves type, length, tag and ranges", async () => {
    const artifact = byPath(await send("0123456789"), "notes.txt");
    const link = linkOf(artifact);
    const { headers } = await fetch(link, { method: "HEAD" });
    assert.match(headers.get("content-type")!, /^text\/plain/);
    assert.equal(headers.get("content-length"), "10");
    assert.equal(headers.get("x-content-type-options"), "nosniff");
    const etag = headers.get("etag")!;
    assert.ok(etag.includes(dataOf(artifact).sha256));
    const part = await fetch(link, { headers: { range: "bytes=2-4" } });
    assert.deepEqual([part.status, await part.text(), part.headers.get("content-range")], [206, "234", "bytes 2-4/10"]);
    assert.equal((await fetch(link, { headers: { range: "bytes=20-" } })).status, 416);
    assert.equal((await fetch(link, { headers: { "if-none-match": etag } })).status, 304);
  });

  // keeps: files-link-active
  it("has what a browser could run saved, and lets it do nothing", async () => {
    const task = await send("page");
    for (const path of ["site/index.html", "site/image.svg"]) {
      const { headers } = await fetch(linkOf(byPath(task, path)));
      assert.match(headers.get("content-disposition")!, /^attachment/, path);
      assert.match(headers.get("content-security-policy")!, /sandbox/);
    }
  });

  // keeps: files-link-forged
  it(
    "gives nothing for a link that was changed, that is over, or whose task is gone",
    { timeout: 60_000 },
    async () => {
      const link = linkOf(byPath(await send("secret"), "notes.txt"));
      const [head, token = "", name] = /^(.*\/)([^/]+)(\/[^/]+)$/.exec(link)!.slice(1);
      const flip = (at: number): string => token.slice(0, at) + (token[at] === "A" ? "B" : "A") + token.slice(at + 1);
      const [protectedHeader = "", payload = "", signature = ""] = token.split(".");
      const unsigned = Buffer.from('{"alg":"none"}').toString("base64url");
      for (const forged of [
        ...[0, 5, protectedHeader.length + 3, token.length - 5].map(flip),
        `${unsigned}.${payload}.`,
        `${unsigned}.${payload}.${signature}`,
        `${protectedHeader}.${payload}.`,
        `${protectedHeader}.${payload}`,
        "x",
      ]) {
        const response = await fetch(`${head}${forged}${name}`);
        assert.ok(response.status >= 400 && response.status < 500, `${response.status} for ${forged}`);
        assert.ok(!(await response.text()).includes("secret"));
      }
      await using quick = await serve({ agents: [clerk], fileLinkMs: 1_000 });
      const caller = await quick.as("ada");
      const { task } = await caller.result<{ task: Task }>(
        "clerk",
        "SendMessage",
        { message: messageOf("brief") },
        ACTIVE,
      );
      const brief = linkOf(byPath(task, "notes.txt"));
      assert.equal((await fetch(brief)).status, 200);
      const deadline = performance.now() + 20_000;
      while ((await fetch(brief)).status === 200) {
        assert.ok(performance.now() < deadline, "after 20 s the link of a second is still good");
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    },
  );

  // keeps: files-in-raw
  it("takes raw parts in", async () => {
    const raw = Buffer.from("a,b\n1,2\n").toString("base64");
    const parts = [{ text: "read" }, { raw, filename: "table.csv", mediaType: "text/csv" }];
    const { artifacts } = await send("", { parts });
    assert.deepEqual(artifacts?.[0]?.parts[0]?.data, [["table.csv", "text/csv", "a,b\n1,2\n"]]);
  });

  // keeps: files-in-few
  it("fetches a few at a time, however many a message names", async () => {
    let [now, most, asked] = [0, 0, 0];
    const server = createServer((_, response) => {
      asked++;
      most = Math.max(most, ++now);
      setTimeout(() => {
        now--;
        response.writeHead(200, { "content-type": "text/plain" }).end("x");
      }, 20);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const host = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      await using open = await serve({ agents: [clerk], fileHosts: [host], a2aWaitMs: 30_000 });
      const caller = await open.as("ada");
      const parts = [{ text: "read" }, ...Array.from({ length: 40 }, (_, index) => ({ url: `${host}/${index}` }))];
      const ask = () =>
        caller.result<{ task: Task }>("clerk", "SendMessage", { message: messageOf("", { parts }) }, ACTIVE);
      assert.equal((await ask()).task.status.state, "TASK_STATE_COMPLETED");
      assert.deepEqual([asked, most], [40, 4], "of one message");
      most = 0;
      await Promise.all(Array.from({ length: 4 }, ask));
      assert.deepEqual([asked, most], [200, 8], "from one host");
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });

  // keeps: files-in-fetched, files-in-refused
  it("fetches what a part names, and nothing of an inner network, of which it tells nothing", async () => {
    let asked = 0;
    const server = createServer((_, response) => {
      asked++;
      response.writeHead(200, { "content-type": "text/plain" }).end("inner secret");
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    try {
      const parts = (url: string) => ({ parts: [{ text: "read" }, { url, filename: "x.txt" }] });
      for (const url of [
        `http://127.0.0.1:${port}/`,
        `http://localhost:${port}/`,
        `https://[::ffff:127.0.0.1]:${port}/`,
      ]) {
        const task = await send("", parts(url)).catch(() => undefined);
        if (task === undefined) continue;
        assert.equal(task.status.state, "TASK_STATE_FAILED", url);
        const words = task.status.message!.parts[0]!.text!;
        assert.match(words, /part|file/i);
        assert.ok(!/127\.0\.0\.1|::1|ECONN|secret/.test(words.replaceAll(url, "")), words);
      }
      assert.equal(asked, 0);
      await using open = await serve({ agents: [clerk], fileHosts: [`http://127.0.0.1:${port}`], a2aWaitMs: 20_000 });
      const caller = await open.as("ada");
      const params = { message: messageOf("", parts(`http://127.0.0.1:${port}/table`)) };
      const { task } = await caller.result<{ task: Task }>("clerk", "SendMessage", params, ACTIVE);
      assert.deepEqual(task.artifacts?.[0]?.parts[0]?.data, [["x.txt", "text/plain", "inner secret"]]);
      assert.equal(asked, 1);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });
});
