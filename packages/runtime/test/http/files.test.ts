/** The links to files, over the routes: what they give, to whom, and for how long. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";

import { serve as serveNode } from "@hono/node-server";
import { EXTENSIONS } from "@nylorun/protocol";
import type { Artifact, FilesData, Task } from "@nylorun/protocol";

import { BASE, makeAgent, serve } from "./served.ts";
import type { Served } from "./served.ts";

const content = randomBytes(300_000);
const etag = `"${createHash("sha256").update(content).digest("hex")}"`;
const all = { "a2a-extensions": EXTENSIONS.files };

const maker = makeAgent(
  "echo",
  async (turn) => {
    await turn.file("data/rows.bin", content);
    await turn.file("page.html", "<script>alert(1)</script>");
    await turn.file("picture.svg", '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
    await turn.file('naïve "name".txt', "text", { mediaType: "text/plain; charset=utf-8" });
    await turn.file("empty.txt", "");
    await turn.folder("site", { "index.html": "page", "a/b.txt": "text" });
    return "done";
  },
  { inputModes: ["*/*"] },
);

function artifact(task: Task, name: string): Artifact {
  return task.artifacts!.find((one) => one.name === name)!;
}

function linkTo(task: Task, name: string): string {
  return artifact(task, name).parts[0]!.url!;
}

describe("a link to a file", () => {
  let served: Served;
  let task: Task;
  const get = (url: string, headers: Readonly<Record<string, string>> = {}, method = "GET") =>
    served.app.fetch(new Request(url, { headers, method })) as Promise<Response>;
  const refusal = async (response: Response) =>
    [response.status, ((await response.json()) as { error: { code: string } }).error.code] as const;

  before(async () => {
    served = await serve({ agents: [maker] });
    task = await served.send({}, { headers: all });
  });
  after(() => served[Symbol.asyncDispose]());

  it("gives the bytes with their type, length and entity tag, to whoever has it, and no other key is needed", async () => {
    const url = linkTo(task, "rows.bin");
    assert.ok(url.startsWith(`${BASE}/v1/files/`), url);
    const response = await get(url);
    assert.equal(response.status, 200);
    assert.ok(Buffer.from(await response.arrayBuffer()).equals(content));
    const { headers } = response;
    assert.equal(headers.get("content-type"), "application/octet-stream");
    assert.equal(headers.get("content-length"), "300000");
    assert.equal(headers.get("etag"), etag);
    assert.equal(headers.get("accept-ranges"), "bytes");
    assert.equal(headers.get("x-content-type-options"), "nosniff");
    assert.equal(headers.get("cache-control"), "private, no-cache");
    assert.equal(headers.get("referrer-policy"), "no-referrer");
    const head = await get(url, {}, "HEAD");
    assert.deepEqual([head.status, head.headers.get("content-length"), await head.text()], [200, "300000", ""]);
    const empty = await get(linkTo(task, "empty.txt"));
    assert.deepEqual([empty.status, empty.headers.get("content-length"), await empty.text()], [200, "0", ""]);
  });

  it("has what could run saved, and lets nothing of it run", async () => {
    for (const [name, kind] of [
      ["page.html", "attachment"],
      ["picture.svg", "attachment"],
      ["rows.bin", "attachment"],
      ["empty.txt", "inline"],
    ] as const) {
      const { headers, body } = await get(linkTo(task, name));
      await body?.cancel();
      assert.match(headers.get("content-disposition")!, new RegExp(`^${kind}; filename="${name}"`));
      assert.match(headers.get("content-security-policy")!, /default-src 'none';.* sandbox;/);
    }
    const odd = await get(linkTo(task, 'naïve "name".txt'));
    assert.equal(odd.headers.get("content-type"), "text/plain; charset=utf-8");
    assert.equal(
      odd.headers.get("content-disposition"),
      `inline; filename="na_ve _name_.txt"; filename*=UTF-8''na%C3%AFve%20%22name%22.txt`,
    );
  });

  it("answers ranges and conditions as RFC 9110 has them", async () => {
    const url = linkTo(task, "rows.bin");
    const table: readonly (readonly [headers: Record<string, string>, status: number, range?: string])[] = [
      [{ range: "bytes=0-0" }, 206, "0-0"],
      [{ range: "bytes=10-19" }, 206, "10-19"],
      [{ range: "bytes=299999-" }, 206, "299999-299999"],
      [{ range: "bytes=299990-400000" }, 206, "299990-299999"],
      [{ range: "bytes=-5" }, 206, "299995-299999"],
      [{ range: "bytes=-999999" }, 206, "0-299999"],
      [{ range: "bytes=300000-" }, 416, "*"],
      [{ range: "bytes=-0" }, 416, "*"],
      [{ range: "bytes=5-1" }, 200],
      [{ range: "bytes=0-1,5-6" }, 200],
      [{ range: "bytes=" }, 200],
      [{ range: "lines=0-1" }, 200],
      [{ range: "bytes=0-1", "if-range": etag }, 206, "0-1"],
      [{ range: "bytes=0-1", "if-range": '"other"' }, 200],
      [{ range: "bytes=0-1", "if-range": "Mon, 30 Nov 2026 00:00:00 GMT" }, 200],
      [{ "if-none-match": etag }, 304],
      [{ "if-none-match": `"x", W/${etag}` }, 304],
      [{ "if-none-match": "*" }, 304],
      [{ "if-none-match": '"x"' }, 200],
      [{ "if-match": etag }, 200],
      [{ "if-match": '"x"' }, 412],
      [{ "if-match": `W/${etag}` }, 412],
      [{ "if-none-match": etag, range: "bytes=0-1" }, 304],
    ];
    for (const [headers, status, range] of table) {
      const response = await get(url, headers);
      const told = JSON.stringify(headers);
      assert.equal(response.status, status, told);
      assert.equal(response.headers.get("content-range"), range === undefined ? null : `bytes ${range}/300000`, told);
      const body = Buffer.from(await response.arrayBuffer());
      if (status === 200) assert.ok(body.equals(content), told);
      else if (status === 206) {
        const [first, last] = range!.split("-").map(Number) as [number, number];
        assert.ok(body.equals(content.subarray(first, last + 1)), told);
        assert.equal(response.headers.get("content-length"), String(body.length), told);
      } else assert.equal(body.length, 0, told);
    }
  });

  it("of a folder gives the list of its files, each with a link of its own", async () => {
    const response = await get(linkTo(task, "site"));
    assert.equal(response.headers.get("content-type"), "application/json");
    assert.equal(response.headers.get("cache-control"), "no-store");
    const { entries } = (await response.json()) as {
      entries: { path: string; url: string; size: number; sha256: string; mediaType: string }[];
    };
    assert.deepEqual(
      entries.map(({ path, size, mediaType }) => [path, size, mediaType]),
      [
        ["a/b.txt", 4, "text/plain"],
        ["index.html", 4, "text/html"],
      ],
    );
    for (const [index, text] of ["text", "page"].entries()) {
      const { url, sha256 } = entries[index]!;
      assert.equal(await (await get(url)).text(), text);
      assert.equal(createHash("sha256").update(text).digest("hex"), sha256);
    }
    // The hash is that of the list without its links, in its canonical form.
    const canonical = JSON.stringify({
      entries: entries.map(({ mediaType, path, sha256, size }) => ({ mediaType, path, sha256, size })),
    });
    const data = artifact(task, "site").metadata![EXTENSIONS.files] as FilesData;
    assert.equal(data.sha256, createHash("sha256").update(canonical).digest("hex"));
    assert.deepEqual([data.kind, data.size, data.version, data.path], ["folder", 8, 1, "site"]);
    const head = await get(linkTo(task, "site"), {}, "HEAD");
    assert.equal(await head.text(), "");
  });

  it("is made anew on each read of the task, in GetTask, ListTasks and SendMessage alike", async () => {
    const read = await served.result<Task>("GetTask", { id: task.id }, { headers: all });
    const { tasks } = await served.list({ includeArtifacts: true }, { headers: all });
    for (const one of [read, tasks[0]!]) {
      assert.equal(await (await get(linkTo(one, "page.html"))).text(), "<script>alert(1)</script>");
    }
    assert.equal((await served.list()).tasks[0]!.artifacts, undefined);
  });

  it("is all that a caller is given who did not ask for files/v1", async () => {
    const plain = await served.result<Task>("GetTask", { id: task.id });
    for (const one of plain.artifacts!) assert.deepEqual([one.metadata, one.extensions], [undefined, undefined]);
    const { artifactId, name, parts } = artifact(plain, "rows.bin");
    assert.match(artifactId, /^file-[0-9a-f]{24}$/);
    assert.equal(name, "rows.bin");
    assert.doesNotMatch(JSON.stringify(plain.artifacts), /data\/rows/);
    assert.ok((await get(parts[0]!.url!)).ok);
  });

  it("carries files/v1 on every artifact, the returned output among them", async () => {
    const told = task.artifacts!.map(({ metadata, extensions }) => {
      assert.deepEqual(extensions, [EXTENSIONS.files]);
      return metadata![EXTENSIONS.files] as FilesData;
    });
    assert.deepEqual(
      told.map(({ path, version }) => [path, version]),
      [
        ["data/rows.bin", 1],
        ["page.html", 1],
        ["picture.svg", 1],
        ['naïve "name".txt', 1],
        ["empty.txt", 1],
        ["site", 1],
        ["output.txt", 1],
      ],
    );
    assert.deepEqual(told.at(-1), {
      kind: "file",
      version: 1,
      size: 4,
      sha256: createHash("sha256").update("done").digest("hex"),
      path: "output.txt",
    });
  });

  it("that was altered, or made elsewhere, is refused; what follows the token is a name and no more", async () => {
    const url = linkTo(task, "rows.bin");
    const [, , , , , token, name] = url.split("/") as [string, string, string, string, string, string, string];
    const at = (path: string) => get(`${BASE}/v1/files/${path}`);
    assert.equal((await at(`${token}/other.html`)).headers.get("content-disposition")!.includes("rows.bin"), true);
    assert.ok((await at(token)).ok);
    for (const altered of [`${token}x`, token.slice(1), token.replace(/\.[^.]+\./, ".e30."), "x", "a.b.c"]) {
      assert.deepEqual(await refusal(await at(`${altered}/${name}`)), [403, "file.linkInvalid"], altered);
    }
    await using other = await serve({ agents: [maker] });
    assert.deepEqual(await refusal(await (other.app.fetch(new Request(url)) as Promise<Response>)), [
      403,
      "file.linkInvalid",
    ]);
  });

  it("leads to its own version only: a later one has another link, and this one's bytes stay", async () => {
    const contextId = task.contextId!;
    const earlier = linkTo(task, "page.html");
    const second = await served.send({ contextId }, { headers: all });
    assert.equal((artifact(second, "page.html").metadata![EXTENSIONS.files] as FilesData).version, 2);
    assert.equal(artifact(second, "page.html").artifactId, artifact(task, "page.html").artifactId);
    assert.ok((await get(earlier)).ok);
  });

  it("that has expired is refused, and a new one is made", async () => {
    await using brief = await serve({ agents: [maker], settings: { fileLinkMs: 1000 } });
    const made = await brief.send({}, { headers: all });
    const url = linkTo(made, "page.html");
    assert.equal((await brief.get(new URL(url).pathname)).status, 200);
    for (let status = 200, tries = 0; status !== 410; tries++) {
      assert.ok(tries < 100, `it is still answered ${status}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
      ({ status } = await brief.get(new URL(url).pathname));
    }
    assert.deepEqual(await refusal(await brief.get(new URL(url).pathname)), [410, "file.linkExpired"]);
    const again = await brief.result<Task>("GetTask", { id: made.id }, { headers: all });
    assert.ok((await brief.get(new URL(linkTo(again, "page.html")).pathname)).ok);
  });

  it("dies with its task", async () => {
    const made = await served.send({}, { headers: all });
    const url = linkTo(made, "rows.bin");
    const { entries } = (await (await get(linkTo(made, "site"))).json()) as { entries: { url: string }[] };
    await served.core.operations.erase({ what: "task", taskId: made.id });
    for (const link of [url, entries[0]!.url, linkTo(made, "site")])
      assert.deepEqual(await refusal(await get(link)), [404, "file.gone"]);
    // The same bytes of another task are still there.
    assert.ok((await get(linkTo(task, "rows.bin"))).ok);
  });

  it("whose bytes are lost says so, and nothing of where they were", async () => {
    const read = served.core.blobs.read.bind(served.core.blobs);
    const { BlobError } = await import("../../src/files/blob.ts");
    served.core.blobs.read = async () => {
      throw new BlobError("blob.missing", "/home/secret/blobs/aa");
    };
    const response = await get(linkTo(task, "rows.bin"));
    served.core.blobs.read = read;
    assert.equal(response.status, 404);
    const text = await response.text();
    assert.match(text, /file\.lost/);
    assert.doesNotMatch(text, /secret/);
  });

  it("is what curl takes: whole, in part, resumed, and only when it has changed", async (t) => {
    const curl = (...args: readonly string[]) =>
      promisify(execFile)("curl", ["-sS", "--max-time", "20", ...args], { encoding: "buffer" });
    if (
      !(await curl("--version").then(
        () => true,
        () => false,
      ))
    )
      return t.skip("there is no curl here");
    const server = serveNode({ fetch: (request) => served.app.fetch(request), port: 0, hostname: "127.0.0.1" });
    await new Promise((resolve) => server.on("listening", resolve));
    const url = linkTo(task, "rows.bin").replace(BASE, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    assert.ok((await curl(url)).stdout.equals(content));
    assert.ok((await curl("-r", "100-199", url)).stdout.equals(content.subarray(100, 200)));
    assert.ok((await curl("-C", "299000", url)).stdout.equals(content.subarray(299_000)));
    const status = ["-o", "/dev/null", "-w", "%{http_code} %{size_download}"];
    assert.equal(String((await curl(...status, "-H", `If-None-Match: ${etag}`, url)).stdout), "304 0");
    assert.equal(String((await curl(...status, "-I", url)).stdout), "200 0");
    server.close();
    return undefined;
  });
});

describe("a message with files", () => {
  it("has what its URLs lead to fetched, from the hosts that the operator named", async () => {
    const origin = createServer((_, response) => response.end("a,b\n1,2\n"));
    await new Promise<void>((resolve) => origin.listen(0, "127.0.0.1", resolve));
    const { port } = origin.address() as AddressInfo;
    const reader = makeAgent("echo", (turn) => turn.inputs[0]!.text(), { inputModes: ["text/csv"] });
    await using open = await serve({ agents: [reader], settings: { fileHosts: [`http://127.0.0.1:${port}`] } });
    const part = { url: `http://127.0.0.1:${port}/rows.csv`, mediaType: "text/csv" };
    const done = await open.send({ parts: [part] });
    assert.equal(done.artifacts![0]!.parts[0]!.text, "a,b\n1,2\n");
    assert.deepEqual(done.history![0]!.parts, [part]);

    await using closed = await serve({ agents: [reader] });
    const failed = await closed.send({ parts: [part] });
    assert.equal(failed.status.state, "TASK_STATE_FAILED");
    assert.equal(
      failed.status.message!.parts[0]!.text,
      "Part 1 of the message (rows.csv) could not be fetched: it is not at an address that may be called: https, and public.",
    );
    const { error } = (
      await closed.call("SendMessage", {
        message: { messageId: "m", role: "ROLE_USER", parts: [{ url: "https://example.com/" }] },
      })
    ).body;
    assert.equal(error?.code, -32005, "what an agent does not take is not fetched");
    origin.closeAllConnections();
    origin.close();
  });
});
