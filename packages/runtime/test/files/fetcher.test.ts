import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer as createTcpServer } from "node:net";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { brotliCompressSync, gzipSync } from "node:zlib";

import { createDialler } from "../../src/dial/dialler.ts";
import { HostList } from "../../src/dial/host-list.ts";
import { receive } from "../../src/files/content.ts";
import { FileError } from "../../src/files/errors.ts";
import { createFetcher } from "../../src/files/fetcher.ts";
import type { Fetcher } from "../../src/files/fetcher.ts";
import { createMemoryBlobs } from "../../src/files/memory.ts";
import { serveNames } from "../dial/name-server.ts";
import { SPELLINGS } from "../dial/spellings.ts";

const MIB = 1024 ** 2;

async function serve(listener: RequestListener) {
  let calls = 0;
  const server = createServer((request, response) => {
    calls++;
    listener(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    get calls() {
      return calls;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

interface Options {
  readonly hosts?: readonly string[];
  readonly ms?: number;
  readonly lookup?: Parameters<typeof createDialler>[0]["lookup"];
}

/** As a Runtime has it: https at public addresses, and the hosts that its operator named. */
function fetcherWith({ hosts = ["http://127.0.0.1:*"], ms = 20_000, lookup }: Options = {}) {
  const list = HostList.parse(hosts)!;
  const dialler = createDialler({
    trustOf: (origin) => list.trustOf(origin) ?? (origin.protocol === "https:" ? "public" : undefined),
    connectMs: 2000,
    ...(lookup && { lookup }),
  });
  return Object.assign(createFetcher({ dialler, ms }), {
    [Symbol.asyncDispose]: () => dialler[Symbol.asyncDispose](),
  });
}

/** Fetches as files are kept: hashed and counted on the way. */
async function fetched(fetcher: Fetcher, url: string, limit = MIB, signal = new AbortController().signal) {
  return fetcher.fetch(url, { limit, signal }, async ({ chunks, mediaType }) => {
    await using intake = await createMemoryBlobs().receive();
    return { ...(await receive(chunks, { intake, limit, hasRoom: () => true, signal })), mediaType };
  });
}

/** Why it was not fetched: what a caller reads after "it". */
async function refusal(fetcher: Fetcher, url: string, limit?: number): Promise<string> {
  const error = await fetched(fetcher, url, limit).catch((caught: unknown) => caught);
  assert.ok(error instanceof FileError, String(error));
  assert.equal(error.code, "file.notFetched");
  return error.message;
}

const notCallable = "it is not at an address that may be called: https, and public";
const unreachable = "its server could not be reached, or broke off";

describe("a fetcher", () => {
  it("brings bytes, their hash and what its server says they are", async () => {
    const bytes = randomBytes(500_000);
    await using server = await serve((_, response) =>
      response.writeHead(200, { "content-type": "text/csv" }).end(bytes),
    );
    await using fetcher = fetcherWith();
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    assert.deepEqual(await fetched(fetcher, server.url), { size: 500_000, sha256, mediaType: "text/csv" });
  });

  it("asks for what is not compressed, and takes what is all the same", async () => {
    const text = "a,b\n".repeat(1000);
    await using server = await serve((request, response) => {
      assert.equal(request.headers["accept-encoding"], "identity");
      const coding = request.url!.slice(1);
      const body = {
        gzip: gzipSync(text),
        br: brotliCompressSync(text),
        odd: Buffer.from(text),
        torn: gzipSync(text).subarray(0, 20),
      };
      response.writeHead(200, { "content-encoding": coding === "torn" ? "gzip" : coding }).end(body[coding as "gzip"]);
    });
    await using fetcher = fetcherWith();
    for (const coding of ["gzip", "br"])
      assert.equal((await fetched(fetcher, `${server.url}/${coding}`)).size, text.length);
    for (const coding of ["odd", "torn"]) {
      assert.equal(
        await refusal(fetcher, `${server.url}/${coding}`),
        "it is compressed in a way that is not known here, or not rightly",
      );
    }
    // What is small on its way may be large.
    assert.match(await refusal(fetcher, `${server.url}/gzip`, 1000), /more than the 1000 bytes/);
  });

  // keeps: a2a-14.1-file-references
  it("refuses every spelling of an address that is not public, and says nothing of what is there (A23)", async () => {
    await using server = await serve((_, response) => response.end("secret"));
    await using fetcher = fetcherWith({ hosts: [] });
    for (const spelling of SPELLINGS) {
      for (const scheme of ["http", "https"]) {
        const why = await refusal(fetcher, `${scheme}://${spelling}:${server.port}/`);
        // Some of them are no addresses at all, and some names are not known.
        assert.ok([notCallable, "it is no web address", unreachable].includes(why), `${scheme}://${spelling}: ${why}`);
      }
    }
    assert.equal(server.calls, 0);
  });

  // keeps: files-in-redirects
  it("refuses what a name or a redirect leads to in there, though its own address may be called (A23)", async () => {
    await using inner = await serve((_, response) => response.end("secret"));
    await using server = await serve((request, response) => {
      const to: Readonly<Record<string, string>> = {
        "/meta": "http://169.254.169.254/latest/meta-data/",
        "/inner": `https://inner.test:${inner.port}/`,
        "/mapped": `https://[::ffff:127.0.0.1]:${inner.port}/`,
        "/plain": "http://93.184.216.34/",
        "/file": "file:///etc/passwd",
        "/user": `http://user:pass@own.test:${inner.port}/`,
      };
      response.writeHead(302, { location: to[request.url!] }).end();
    });
    await using names = await serveNames({ "own.test": [["127.0.0.1"]], "inner.test": [["10.0.0.1", "127.0.0.1"]] });
    await using fetcher = fetcherWith({ hosts: [`http://own.test:${server.port}`], lookup: names.lookup });
    for (const path of ["/meta", "/inner", "/mapped", "/plain", "/file", "/user"]) {
      assert.equal(await refusal(fetcher, `http://own.test:${server.port}${path}`), notCallable, path);
    }
    assert.equal(inner.calls, 0);
  });

  // keeps: files-in-redirects
  it("dials what it checked, whatever the name leads to the second time (A23)", async () => {
    await using server = await serve((_, response) => response.end("secret"));
    await using names = await serveNames({ "rebind.test": [["93.184.216.34"], ["127.0.0.1"]] });
    await using fetcher = fetcherWith({ hosts: [], lookup: names.lookup, ms: 1500 });
    const why = await refusal(fetcher, `https://rebind.test:${server.port}/`);
    assert.ok(
      [notCallable, unreachable, "it did not come in whole within the 1500 ms that it may take"].includes(why),
      why,
    );
    assert.equal(server.calls, 0);
  });

  it("takes no other addresses than those of the web", async () => {
    await using fetcher = fetcherWith();
    for (const url of [
      "",
      "report.csv",
      "/etc/passwd",
      "file:///etc/passwd",
      "ftp://127.0.0.1/",
      "data:text/plain,x",
      "blob:x",
      "javascript:1",
    ]) {
      assert.equal(await refusal(fetcher, url), "it is no web address", url);
    }
  });

  it("follows redirects, and gives up on a loop", async () => {
    await using server = await serve((request, response) => {
      const n = Number(request.url!.slice(1));
      if (n === 0) response.end("here");
      else response.writeHead(307, { location: n > 90 ? `/${n}` : `/${n - 1}` }).end("moved");
    });
    await using fetcher = fetcherWith();
    assert.equal((await fetched(fetcher, `${server.url}/5`)).size, 4);
    assert.equal(await refusal(fetcher, `${server.url}/6`), "it redirects more than 5 times");
    assert.equal(await refusal(fetcher, `${server.url}/99`), "it redirects more than 5 times");
  });

  it("takes a byte a second for as long as it has, and no longer", async () => {
    await using server = await serve((_, response) => {
      response.writeHead(200, { "content-length": "100" });
      const timer = setInterval(() => response.write("x"), 100);
      response.on("close", () => clearInterval(timer));
    });
    await using fetcher = fetcherWith({ ms: 700 });
    const began = performance.now();
    assert.equal(await refusal(fetcher, server.url), "it did not come in whole within the 700 ms that it may take");
    assert.ok(performance.now() - began < 5000);
  });

  it("takes a server that says nothing for as long as it has, and no longer", async () => {
    await using server = await serve(() => undefined);
    await using fetcher = fetcherWith({ ms: 500 });
    assert.match(await refusal(fetcher, server.url), /within the 500 ms/);
  });

  it("stops when it is told to, at once", async () => {
    await using server = await serve((_, response) => void response.writeHead(200).write("x"));
    await using fetcher = fetcherWith();
    const stopped = new AbortController();
    const over = fetched(fetcher, server.url, MIB, stopped.signal);
    await delay(100);
    stopped.abort(new Error("enough"));
    await assert.rejects(over, /enough/);
  });

  // keeps: files-in-bounded
  it("does not believe a length that is not true", async () => {
    const said = new Map([
      ["/short", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this"],
      ["/both", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"],
      ["/two", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 9\r\n\r\nabcdefghi"],
      ["/torn", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"],
      ["/nonsense", "GO AWAY\r\n\r\n"],
    ]);
    const server = createTcpServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", (data) => {
        const path = /^GET (\S+)/.exec(String(data))![1]!;
        socket.end(said.get(path) ?? "");
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await using fetcher = fetcherWith();
    const whys = await Promise.all([...said.keys()].map((path) => refusal(fetcher, `${url}${path}`)));
    assert.deepEqual(new Set(whys), new Set([unreachable]));
    server.close();
  });

  // keeps: files-in-bounded
  it("stops a file that is too large as soon as that is known, however long it goes on", async () => {
    let sent = 0;
    await using server = await serve((request, response) => {
      if (request.url === "/said") {
        response.writeHead(200, { "content-length": String(1024 * MIB) }).write("x");
        return;
      }
      response.writeHead(200);
      const piece = Buffer.alloc(64 * 1024);
      const more = () => {
        while (sent < 1024 * MIB && !response.destroyed) {
          sent += piece.length;
          if (!response.write(piece)) return void response.once("drain", more);
        }
        response.end();
      };
      more();
    });
    await using fetcher = fetcherWith();
    assert.equal(
      await refusal(fetcher, `${server.url}/said`),
      `it has more than the ${MIB} bytes that a file may have`,
    );
    assert.equal(
      await refusal(fetcher, `${server.url}/unsaid`),
      `it has more than the ${MIB} bytes that a file may have`,
    );
    assert.ok(sent < 64 * MIB, `${sent} bytes were sent`);
  });

  it("tries again what may pass, from the beginning, and nothing else", async () => {
    let calls = 0;
    await using server = await serve((request, response) => {
      calls++;
      if (request.url === "/404") return void response.writeHead(404).end("no");
      if (calls < 3) return void (calls === 1 ? response.writeHead(503).end("busy") : request.socket.destroy());
      response.end(`at call ${calls}`);
    });
    await using fetcher = fetcherWith();
    assert.equal((await fetched(fetcher, server.url)).size, "at call 3".length);
    calls = 0;
    assert.equal(await refusal(fetcher, `${server.url}/404`), "its server answered 404");
    assert.equal(calls, 1);
  });

  it("says the same of a server that is not there as of one that breaks off", async () => {
    const gone = await serve((_, response) => response.end());
    const { url } = gone;
    await gone[Symbol.asyncDispose]();
    await using fetcher = fetcherWith();
    assert.equal(await refusal(fetcher, url), unreachable);
  });
});
