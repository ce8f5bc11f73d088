import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";

import { createDialler } from "../../src/dial/dialler.ts";
import type { DiallerOptions } from "../../src/dial/dialler.ts";
import { DialError } from "../../src/dial/errors.ts";
import { HostList } from "../../src/dial/host-list.ts";
import { serveNames } from "./name-server.ts";
import { SPELLINGS } from "./spellings.ts";

const limit = () => AbortSignal.timeout(10_000);

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

function dialler(hosts: readonly string[], options: Omit<DiallerOptions, "trustOf"> = {}) {
  const list = HostList.parse(hosts)!;
  return createDialler({ trustOf: (origin) => list.trustOf(origin), ...options });
}

/** As one would be that fetches from wherever a caller says. */
function anyPublic(options: Omit<DiallerOptions, "trustOf"> = {}) {
  return createDialler({ trustOf: () => "public", ...options });
}

const refusedBy = (code: DialError["code"]) => (error: unknown) => error instanceof DialError && error.code === code;

describe("a dialler", () => {
  // keeps: a2a-13.2-ssrf
  it("refuses every spelling of an address that is not public, at the address dialled (A23)", async () => {
    await using server = await serve((_, response) => response.end());
    await using dial = anyPublic({ connectMs: 2_000 });
    for (const spelling of SPELLINGS) {
      const url = URL.parse(`http://${spelling}:${server.port}/`);
      if (url === null) continue; // Then nobody gets so far.
      await assert.rejects(
        dial.call(url, { signal: limit() }),
        (error: NodeJS.ErrnoException) => {
          // Some systems do not know one of the names at all.
          return refusedBy("dial.privateAddress")(error) || (/local/i.test(spelling) && error.code === "ENOTFOUND");
        },
        spelling,
      );
    }
    assert.equal(server.calls, 0);
  });

  it("refuses a name that leads to such an address, and takes what else it leads to (A23)", async () => {
    await using server = await serve((_, response) => response.end());
    await using names = await serveNames({
      "loop.test": [["127.0.0.1"]],
      "mapped.test": [["::ffff:127.0.0.1"]],
      "meta.test": [["169.254.169.254", "fd00:ec2::254"]],
    });
    await using dial = dialler(["http://*.test:*"], names);
    for (const name of ["loop", "mapped", "meta"]) {
      const url = new URL(`http://${name}.test:${server.port}/`);
      await assert.rejects(dial.call(url, { signal: limit() }), refusedBy("dial.privateAddress"), name);
    }
    assert.equal(server.calls, 0);
  });

  it("dials what it checked, whatever the name leads to the second time (A23)", async () => {
    await using server = await serve((_, response) => response.end());
    // Public at first: that is dialled, and whatever comes of it ends soon.
    await using names = await serveNames({ "rebind.test": [["93.184.216.34"], ["127.0.0.1"]] });
    await using dial = dialler(["http://*.test:*"], names);
    const url = new URL(`http://rebind.test:${server.port}/`);
    await assert.rejects(
      dial.call(url, { signal: AbortSignal.timeout(300) }),
      (error) => !(error instanceof DialError),
    );
    assert.deepEqual(names.asked, ["rebind.test"], "looked up once for one call");
    await assert.rejects(dial.call(url, { signal: limit() }), refusedBy("dial.privateAddress"));
    assert.equal(server.calls, 0);
  });

  it("reaches this machine for a host that an operator named, and not for a pattern", async () => {
    await using server = await serve((_, response) => response.end("here"));
    await using names = await serveNames({
      "own.test": [["127.0.0.1"]],
      "other.test": [["127.0.0.1"]],
      "meta.test": [["169.254.169.254"]],
    });
    await using dial = dialler(
      ["http://own.test:*", "http://meta.test:*", "http://*.test:*", `http://127.0.0.1:${server.port}`],
      names,
    );
    const answer = await dial.call(new URL(`http://own.test:${server.port}/`), { signal: limit() });
    assert.equal(await answer.body.text(), "here");
    const literal = await dial.call(new URL(`http://0x7f.1:${server.port}/`), { signal: limit() });
    assert.equal(await literal.body.text(), "here");
    await assert.rejects(
      dial.call(new URL(`http://other.test:${server.port}/`), { signal: limit() }),
      refusedBy("dial.privateAddress"),
    );
    await assert.rejects(
      dial.call(new URL("http://meta.test/"), { signal: limit() }),
      refusedBy("dial.privateAddress"),
    );
  });

  // keeps: push-configs-hosts
  it("asks no name server about a host that is not in the list", async () => {
    await using names = await serveNames({ "own.test": [["127.0.0.1"]], "secret.test": [["127.0.0.1"]] });
    await using dial = dialler(["http://own.test:*"], names);
    for (const url of ["http://secret.test/", "https://own.test/", "http://user:pass@own.test/"])
      await assert.rejects(dial.call(new URL(url), { signal: limit() }), refusedBy("dial.notAllowed"), url);
    assert.deepEqual(names.asked, []);
  });

  // keeps: a2a-13.2-ssrf
  it("gives back a redirect as it is, and checks each hop when it is to follow (A23)", async () => {
    await using inner = await serve((_, response) => response.end("secret"));
    await using server = await serve((request, response) => {
      const to: Readonly<Record<string, string>> = {
        "/inside": `http://169.254.169.254:${inner.port}/`,
        "/name": `http://inner.test:${inner.port}/`,
        "/list": "http://elsewhere.example/",
        "/file": "file:///etc/passwd",
        "/loop": "/loop",
        "/once": "/end",
      };
      const location = to[request.url!];
      if (location === undefined) response.end("end");
      else response.writeHead(302, { location }).end("moved");
    });
    await using names = await serveNames({ "own.test": [["127.0.0.1"]], "inner.test": [["127.0.0.1"]] });
    await using dial = dialler(["http://own.test:*", "http://*.test:*", "http://*.254.169.test"], names);
    const at = (path: string) => new URL(`http://own.test:${server.port}${path}`);
    const plain = await dial.call(at("/inside"), { signal: limit() });
    assert.equal(plain.statusCode, 302);
    await plain.body.dump();
    const follow = (path: string) => dial.follow(at(path), { signal: limit() }, 5);
    await assert.rejects(follow("/inside"), refusedBy("dial.notAllowed"));
    await assert.rejects(follow("/name"), refusedBy("dial.privateAddress"));
    await assert.rejects(follow("/list"), refusedBy("dial.notAllowed"));
    await assert.rejects(follow("/file"), refusedBy("dial.notAllowed"));
    await assert.rejects(follow("/loop"), refusedBy("dial.tooManyRedirects"));
    assert.equal(await (await follow("/once")).body.text(), "end");
    assert.equal(inner.calls, 0);
  });

  it("sends credentials to the first origin alone", async () => {
    const seen: (string | undefined)[] = [];
    await using second = await serve((request, response) => {
      seen.push(request.headers.authorization);
      response.end();
    });
    await using first = await serve((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(307, { location: `http://127.0.0.1:${second.port}/` }).end();
    });
    await using dial = dialler(["http://127.0.0.1:*"]);
    const url = new URL(`http://127.0.0.1:${first.port}/`);
    const answer = await dial.follow(url, { signal: limit(), headers: { Authorization: "Bearer abc" } }, 3);
    await answer.body.dump();
    assert.deepEqual(seen, ["Bearer abc", undefined]);
  });

  it("asks no proxy of the environment", async () => {
    await using proxy = await serve((_, response) => response.end("proxied"));
    await using server = await serve((_, response) => response.end("direct"));
    const before = process.env["HTTP_PROXY"];
    process.env["HTTP_PROXY"] = process.env["http_proxy"] = `http://127.0.0.1:${proxy.port}`;
    try {
      await using dial = dialler(["http://127.0.0.1:*"]);
      const answer = await dial.call(new URL(`http://127.0.0.1:${server.port}/`), { signal: limit() });
      assert.equal(await answer.body.text(), "direct");
      assert.equal(proxy.calls, 0);
    } finally {
      delete process.env["http_proxy"];
      if (before === undefined) delete process.env["HTTP_PROXY"];
      else process.env["HTTP_PROXY"] = before;
    }
  });
});
