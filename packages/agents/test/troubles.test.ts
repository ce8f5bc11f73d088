/** What a client makes of agents and networks that do not behave. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { A2aClientError, createA2aClient } from "@nylorun/agents/a2a";
import type { A2aClientOptions } from "@nylorun/agents/a2a";

import { failure, good, OddAgent, PROFILED, result, taskIn, usualCard } from "./odd-agent.ts";
import type { Answer } from "./odd-agent.ts";

const quick = { pollMs: 50, timeoutMs: 300, sendTimeoutMs: 300, patienceMs: 2_000 };

async function clientOf(agent: OddAgent, options: Partial<A2aClientOptions> = {}) {
  return createA2aClient({ url: agent.url, ...quick, ...options });
}

/** Answers so at first, then as a good agent. */
function firstThen(first: Answer, times = 1): Answer {
  let left = times;
  return (asked, response) => (left-- > 0 ? first(asked, response) : good(asked, response));
}

describe("an agent that does not answer as it should", { timeout: 60_000 }, () => {
  test("an answer of 10 MB is not read to its end", async () => {
    let sent = 0;
    await using agent = await OddAgent.start(async (asked, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.write(`{"jsonrpc":"2.0","id":${JSON.stringify(asked.id)},"result":{"task":{"id":"`);
      const megabyte = "x".repeat(1024 * 1024);
      const closed = new Promise((go) => response.once("close", go));
      for (; sent < 40 && !response.destroyed; sent++) {
        if (!response.write(megabyte)) {
          await Promise.race([new Promise((go) => response.once("drain", go)), closed]);
        }
      }
    });
    const client = await clientOf(agent, { timeoutMs: 20_000, sendTimeoutMs: 20_000 });
    await assert.rejects(client.send("hi"), { code: "answer.tooLarge" });
    assert.ok(sent < 20, `${sent} MB were sent`);
  });

  test("an answer of 10 MB is taken by who asks for it", async () => {
    await using agent = await OddAgent.start((asked, response) => {
      const text = "x".repeat(10_000_000);
      result(asked, response, {
        task: taskIn("TASK_STATE_COMPLETED", { artifacts: [{ artifactId: "output", parts: [{ text }] }] }),
      });
    });
    const client = await clientOf(agent, { maxAnswerBytes: 20_000_000, timeoutMs: 20_000, sendTimeoutMs: 20_000 });
    assert.equal(((await client.send("hi")).output as string).length, 10_000_000);
  });

  test("a wrong id is refused", async () => {
    await using agent = await OddAgent.start((asked, response) => {
      result({ ...asked, id: 4711 }, response, { task: taskIn("TASK_STATE_COMPLETED") });
    });
    const client = await clientOf(agent);
    await assert.rejects(client.send("hi"), { code: "answer.invalid", message: /request 4711/ });
    assert.equal(agent.asked.length, 1);
  });

  test("an error that belongs to another request is refused", async () => {
    await using agent = await OddAgent.start((asked, response) => {
      failure({ ...asked, id: "other" }, response, { code: -32001, message: "Task not found" });
    });
    await assert.rejects((await clientOf(agent)).send("hi"), { code: "answer.invalid" });
  });

  test("a page instead of JSON is refused", async () => {
    await using agent = await OddAgent.start((_, response) =>
      response.end("<html>Welcome to the hotel's network</html>"),
    );
    await assert.rejects((await clientOf(agent)).send("hi"), { code: "answer.invalid", message: /<html>/ });
  });

  test("a state that A2A does not have is refused", async () => {
    await using agent = await OddAgent.start((asked, response) => {
      result(asked, response, { task: { id: "t1", status: { state: "TASK_STATE_DREAMING" } } });
    });
    await assert.rejects((await clientOf(agent)).send("hi"), { code: "answer.invalid" });
  });

  test("an error of the wire keeps its code, reason, metadata and fields", async () => {
    await using agent = await OddAgent.start((asked, response) => {
      failure(asked, response, {
        code: -32602,
        message: "Invalid parameters",
        data: [
          {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            reason: "MESSAGE_ID_REUSED",
            domain: "a2a-protocol.org",
            metadata: { a: "b" },
          },
          {
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            fieldViolations: [{ field: "message.messageId", description: "was used" }],
          },
        ],
      });
    });
    const error = await (await clientOf(agent)).send("hi").catch((caught: unknown) => caught);
    assert.ok(error instanceof A2aClientError);
    assert.deepEqual(
      [error.code, error.rpcCode, error.reason, error.metadata, error.violations],
      [
        "a2a.invalidParams",
        -32602,
        "MESSAGE_ID_REUSED",
        { a: "b" },
        [{ field: "message.messageId", description: "was used" }],
      ],
    );
  });
});

describe("an agent that cannot be reached for a while", { timeout: 60_000 }, () => {
  test("a 503 is waited for as long as Retry-After says, even for a message", async () => {
    const at: number[] = [];
    await using agent = await OddAgent.start((asked, response) => {
      at.push(performance.now());
      if (at.length === 1) response.writeHead(503, { "retry-after": "1" }).end();
      else good(asked, response);
    });
    const task = await (await clientOf(agent)).send("hi");
    assert.equal((await task.done()).output, "Good.");
    assert.ok(at[1]! - at[0]! >= 990, `it waited ${at[1]! - at[0]!} ms`);
    const [first, second] = agent.asked.map(({ params }) => params.message?.messageId);
    assert.equal(first, second);
  });

  test("a Retry-After beyond the patience ends the call at once, and is told", async () => {
    await using agent = await OddAgent.start((_, response) => response.writeHead(503, { "retry-after": "3600" }).end());
    const client = await clientOf(agent);
    const before = performance.now();
    await assert.rejects(client.send("hi"), { code: "agent.busy", status: 503, retryAfterMs: 3_600_000 });
    assert.ok(performance.now() - before < 1_000);
  });

  // keeps: profile-client-retry
  test("a message is sent once to an agent that does not promise to take it once, and whether it arrived is not known (A34)", async () => {
    await using agent = await OddAgent.start(() => undefined); // It hangs.
    const client = await clientOf(agent);
    await assert.rejects(client.send("hi", { messageId: "m1" }), { code: "send.unknown", messageId: "m1" });
    assert.equal(agent.asked.length, 1);
  });

  // keeps: profile-client-retry
  test("a message is sent again under its own id to an agent of the profile (A34)", async () => {
    await using agent = await OddAgent.start(firstThen(() => undefined, 2));
    agent.card = PROFILED;
    const task = await (await clientOf(agent, { timeoutMs: 200, patienceMs: 10_000 })).send("hi");
    assert.equal((await task.done()).output, "Good.");
    const ids = agent.asked
      .filter(({ method }) => method === "SendMessage")
      .map(({ params }) => params.message.messageId);
    assert.equal(ids.length, 3);
    assert.equal(new Set(ids).size, 1);
  });

  test("a server that hangs is given up after the patience, and no sooner (A34)", async () => {
    await using agent = await OddAgent.start(firstThen(good, 0));
    const client = await clientOf(agent, { timeoutMs: 200, patienceMs: 1_000 });
    const task = await client.send("hi");
    agent.answer = () => undefined;
    const before = performance.now();
    await assert.rejects(task.done(), { code: "agent.unreachable" });
    const took = performance.now() - before;
    assert.ok(took > 700 && took < 3_000, `it took ${took} ms`);
  });

  test("a connection that drops in the middle of an answer is asked again", async () => {
    await using agent = await OddAgent.start(good);
    const client = await clientOf(agent, { patienceMs: 10_000 });
    const task = await client.send("hi");
    let looks = 0;
    agent.answer = (asked, response) => {
      if (++looks > 2) good(asked, response);
      else {
        response.writeHead(200, { "content-type": "application/json", "content-length": "5000" });
        response.write('{"jsonrpc":"2.0","id":');
        setTimeout(() => response.destroy(), 20);
      }
    };
    assert.equal((await task.done()).output, "Good.");
    assert.equal(looks, 3);
  });

  test("a message whose answer breaks off may have been taken", async () => {
    await using agent = await OddAgent.start((_, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "5000" });
      response.write("{");
      setTimeout(() => response.destroy(), 20);
    });
    await assert.rejects((await clientOf(agent)).send("hi"), { code: "send.unknown" });
    assert.equal(agent.asked.length, 1);
  });

  test("a message to a port where nobody listens was certainly not taken", async () => {
    const agent = await OddAgent.start(good);
    const client = await clientOf(agent, { patienceMs: 300 });
    await agent[Symbol.asyncDispose]();
    await assert.rejects(client.send("hi"), { code: "agent.unreachable" });
  });

  test("white space before a late answer is no matter", async () => {
    await using agent = await OddAgent.start(async (asked, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      for (let spaces = 0; spaces < 4; spaces++) {
        response.write(" ");
        await new Promise((go) => setTimeout(go, 40));
      }
      response.end(JSON.stringify({ jsonrpc: "2.0", id: asked.id, result: { task: taskIn("TASK_STATE_COMPLETED") } }));
    });
    assert.equal((await (await clientOf(agent)).send("hi")).state, "TASK_STATE_COMPLETED");
  });

  test("aborting ends the wait with the signal's reason", async () => {
    await using agent = await OddAgent.start((asked, response) =>
      result(
        asked,
        response,
        asked.method === "SendMessage" ? { task: taskIn("TASK_STATE_WORKING") } : taskIn("TASK_STATE_WORKING"),
      ),
    );
    const client = await clientOf(agent);
    const task = await client.send("hi");
    const reason = new Error("Enough.");
    const stop = new AbortController();
    setTimeout(() => stop.abort(reason), 200);
    await assert.rejects(task.done({ signal: stop.signal }), reason);
    const asked = agent.asked.length;
    await new Promise((go) => setTimeout(go, 200));
    assert.ok(agent.asked.length <= asked + 1, "It goes on asking though nobody reads.");
  });
});

describe("cards", { timeout: 60_000 }, () => {
  test("an agent that has moved is followed by its card, and the message arrives once", async () => {
    await using here = await OddAgent.start(good);
    await using there = await OddAgent.start(good);
    const client = await clientOf(here);
    here.card = { supportedInterfaces: [{ url: there.url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }] };
    here.answer = (_, response) => response.writeHead(404).end();
    const task = await client.send("hi");
    assert.equal((await task.done()).output, "Good.");
    assert.equal(here.times("SendMessage"), 1);
    assert.equal(there.times("SendMessage"), 1);
  });

  // keeps: a2a-client-caching
  test("a card that is no longer fresh is read again, by its etag", async () => {
    await using agent = await OddAgent.start(good);
    agent.cardHeaders = { "cache-control": "max-age=0", etag: '"1"' };
    const client = await clientOf(agent);
    agent.card = { version: "2.0.0" };
    await (await client.send("hi")).done();
    const deadline = performance.now() + 20_000;
    while (client.card.version !== "2.0.0" && performance.now() < deadline)
      await new Promise((go) => setTimeout(go, 10));
    assert.equal(client.card.version, "2.0.0");
    assert.equal(agent.cardEtags.at(-1), '"1"');
  });

  test("a card whose agent does not stream after all is polled", async () => {
    await using agent = await OddAgent.start((asked, response) => {
      if (asked.method === "SubscribeToTask") failure(asked, response, { code: -32004, message: "No streams" });
      else if (asked.method === "SendMessage") good(asked, response);
      else result(asked, response, taskIn(agent.times("GetTask") > 2 ? "TASK_STATE_COMPLETED" : "TASK_STATE_WORKING"));
    });
    agent.card = { capabilities: { streaming: true } };
    const task = await (await clientOf(agent)).send("hi");
    await task.done();
    assert.equal(agent.times("SubscribeToTask"), 1);
  });

  test("the agent's address is found with and without a slash, and by its card's own address", async () => {
    await using agent = await OddAgent.start(good);
    for (const url of [
      agent.url,
      agent.url.slice(0, -1),
      `${agent.url}.well-known/agent-card.json`,
      `${agent.url}?q=1`,
    ]) {
      assert.equal((await createA2aClient({ url })).card.name, "Odd");
    }
  });

  test("an address below the agent's server finds the card at its root, if that is its card", async () => {
    await using agent = await OddAgent.start(good);
    agent.card = {
      supportedInterfaces: [{ url: `${agent.url}rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    };
    assert.equal((await createA2aClient({ url: `${agent.url}rpc` })).card.name, "Odd");
    await assert.rejects(createA2aClient({ url: `${agent.url}elsewhere` }), { code: "card.notFound" });
  });

  test("what is no card, and a card of another protocol, are told apart", async () => {
    await using agent = await OddAgent.start(good);
    agent.card = { supportedInterfaces: [] };
    await assert.rejects(clientOf(agent), { code: "card.invalid" });
    agent.card = { supportedInterfaces: [{ url: agent.url, protocolBinding: "GRPC", protocolVersion: "1.0" }] };
    await assert.rejects(clientOf(agent), { code: "card.unsupported", message: /GRPC 1.0/ });
    agent.card = { supportedInterfaces: [{ url: agent.url, protocolBinding: "JSONRPC", protocolVersion: "0.3" }] };
    await assert.rejects(clientOf(agent), { code: "card.unsupported" });
  });

  test("an https card does not send the credentials to an http address", async () => {
    const fetch = (async (input: any) => {
      assert.ok(String(input).startsWith("https:"), `something was sent to ${String(input)}`);
      return Response.json(usualCard("http://example.com/"));
    }) as typeof globalThis.fetch;
    await assert.rejects(createA2aClient({ url: "https://example.com/", auth: "secret", fetch }), {
      code: "card.invalid",
    });
  });

  test("a redirect is not followed with the credentials", async () => {
    await using elsewhere = await OddAgent.start(good);
    await using agent = await OddAgent.start((_, response) =>
      response.writeHead(307, { location: elsewhere.url }).end(),
    );
    const client = await clientOf(agent, { auth: "secret" });
    await assert.rejects(client.send("hi"), { code: "agent.redirected" });
    assert.equal(elsewhere.asked.length, 0);
  });
});

describe("credentials", { timeout: 60_000 }, () => {
  test("a token that has run out is asked for once more", async () => {
    await using agent = await OddAgent.start((asked, response) => {
      if (asked.headers.authorization === "Bearer 1") response.writeHead(401).end();
      else good(asked, response);
    });
    let tokens = 0;
    const client = await clientOf(agent, { auth: () => String(tokens++) });
    assert.equal((await (await client.send("hi")).done()).output, "Good.");
  });

  test("who is not let in is told so at once", async () => {
    await using agent = await OddAgent.start((_, response) => {
      response.writeHead(401, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { code: "request.unauthenticated", message: "Send a valid key." } }));
    });
    const client = await clientOf(agent, { auth: "wrong" });
    await assert.rejects(client.send("hi"), { code: "agent.unauthorized", status: 401, message: /Send a valid key/ });
    assert.equal(agent.asked.length, 1);
  });

  test("headers of another scheme are sent as they are", async () => {
    await using agent = await OddAgent.start(good);
    await (await clientOf(agent, { auth: { "X-API-Key": "k" } })).send("hi");
    assert.equal(agent.asked[0]!.headers["x-api-key"], "k");
  });
});

describe("what servers may do", { timeout: 60_000 }, () => {
  // keeps: profile-client-tolerant
  test("result: null is an answer to a deletion (A35)", async () => {
    await using agent = await OddAgent.start((asked, response) => {
      if (asked.method === "DeleteTaskPushNotificationConfig") result(asked, response, null);
      else good(asked, response);
    });
    const task = await (await clientOf(agent)).send("hi");
    await task.push.delete("p1");
    assert.deepEqual(agent.asked.at(-1)?.params, { taskId: "t1", id: "p1" });
  });

  test("error: null beside a result is a result", async () => {
    await using agent = await OddAgent.start((asked, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(
        JSON.stringify({ jsonrpc: "2.0", id: asked.id, error: null, result: { task: taskIn("TASK_STATE_COMPLETED") } }),
      );
    });
    assert.equal((await (await clientOf(agent)).send("hi")).ended, true);
  });

  // keeps: profile-client-activates-all, a2a-client-version
  test("all five extensions and the version are asked for, and no echo is needed (A35)", async () => {
    await using agent = await OddAgent.start((asked, response) => {
      const uri = "https://docs.nylorun.com/a2a/progress/v1";
      const metadata = { [uri]: { steps: [{ label: "One", state: "active" }] } };
      result(asked, response, { task: taskIn("TASK_STATE_WORKING", { metadata }) });
    });
    const task = await (await clientOf(agent)).send("hi");
    const { headers } = agent.asked[0]!;
    assert.equal(headers["a2a-version"], "1.0");
    assert.deepEqual(
      String(headers["a2a-extensions"])
        .split(", ")
        .map((uri) => uri.split("/").at(-2)),
      ["interactions", "effects", "progress", "telemetry", "files"],
    );
    assert.deepEqual(task.plan?.steps, [{ label: "One", state: "active" }]);
  });

  test("extension data that breaks its schema is none", async () => {
    await using agent = await OddAgent.start((asked, response) => {
      const uri = (name: string) => `https://docs.nylorun.com/a2a/${name}/v1`;
      const metadata = {
        [uri("progress")]: { steps: [] },
        [uri("telemetry")]: { steps: "many", traceId: "x" },
        [uri("effects")]: { uncertain: 7 },
      };
      result(asked, response, { task: taskIn("TASK_STATE_WORKING", { metadata }) });
    });
    const task = await (await clientOf(agent)).send("hi");
    assert.deepEqual(
      [task.plan, task.totals, task.traceId, task.uncertain],
      [undefined, undefined, undefined, undefined],
    );
  });

  test("raw bytes and a data part of null come through both ways", async () => {
    await using agent = await OddAgent.start((asked, response) => {
      const { parts } = asked.params.message;
      result(asked, response, { task: taskIn("TASK_STATE_COMPLETED", { artifacts: [{ artifactId: "a", parts }] }) });
    });
    const parts = [
      { raw: "AAEC/w==", mediaType: "image/png", filename: "a.png" },
      { data: null },
      { data: { raw: "no part" } },
    ];
    const task = await (await clientOf(agent)).send(parts);
    assert.deepEqual(agent.asked[0]!.params.message.parts, parts);
    assert.deepEqual(task.task?.artifacts?.[0]?.parts, parts);
    assert.deepEqual(await task.files[0]!.bytes(), Uint8Array.of(0, 1, 2, 255));
  });

  test("a list that names the page it gave as the next one is not read for ever", async () => {
    await using agent = await OddAgent.start((asked, response) => {
      result(asked, response, { tasks: [taskIn("TASK_STATE_WORKING")], nextPageToken: "p", pageSize: 1, totalSize: 2 });
    });
    const tasks = (await clientOf(agent)).tasks();
    const read = async () => {
      let count = 0;
      for await (const _ of tasks) if (++count > 100) return;
    };
    await assert.rejects(read(), { code: "answer.invalid" });
  });

  test("lists that name ever more pages, with nothing or without end, are not read for ever", async () => {
    let pages = 0;
    await using agent = await OddAgent.start((asked, response) => {
      if (asked.method === "SendMessage") return good(asked, response);
      const many = Array.from({ length: 1000 }, (_, n) => ({ id: `${pages}-${n}`, url: "https://x.example/" }));
      const configs = asked.params.taskId === "t" ? many : [];
      return result(asked, response, { tasks: [], configs, nextPageToken: `page ${++pages}` });
    });
    const client = await clientOf(agent);
    await assert.rejects(client.tasks().next(), { code: "answer.invalid" });
    assert.equal(pages, 101);
    const task = await client.send("hi");
    await assert.rejects(task.push.list(), { code: "answer.invalid" });
    assert.ok(pages < 120);
  });

  test("what a card says where the extensions should be keeps nobody from calling", async () => {
    await using agent = await OddAgent.start(good);
    for (const extensions of ["x", 7, {}, [null], [{ uri: 7 }], null]) {
      agent.card = { capabilities: { extensions } };
      assert.ok((await (await clientOf(agent)).send("hi")).id, JSON.stringify(extensions));
    }
    agent.card = { capabilities: null };
    assert.ok((await (await clientOf(agent)).send("hi")).id);
  });

  test("a stream that adds to a file for ever, or nests too deep, is not followed for ever", async () => {
    let looks = 0;
    let sent = 0;
    await using agent = await OddAgent.start(async (asked, response) => {
      if (asked.method !== "SubscribeToTask") {
        const state = asked.method === "GetTask" && ++looks > 1 ? "TASK_STATE_COMPLETED" : "TASK_STATE_WORKING";
        return result(asked, response, asked.method === "GetTask" ? taskIn(state) : { task: taskIn(state) });
      }
      response.writeHead(200, { "content-type": "text/event-stream" });
      const { id: taskId, contextId } = taskIn("TASK_STATE_WORKING");
      const event = (data: string) =>
        `data: {"jsonrpc":"2.0","id":${JSON.stringify(asked.id)},"result":{"artifactUpdate":{"taskId":"${taskId}","contextId":"${contextId}","append":true,"artifact":{"artifactId":"a","parts":[${data}]}}}}\n\n`;
      response.write(event(`{"data":${"[".repeat(20_000)}${"]".repeat(20_000)}}`));
      for (; sent < 1000 && !response.destroyed; sent++) {
        response.write(event(`{"text":"${"x".repeat(10_000)}"}`));
        await new Promise((go) => setTimeout(go, 1));
      }
      return response.end();
    });
    agent.card = { capabilities: { streaming: true } };
    const client = await clientOf(agent, { maxAnswerBytes: 100_000, timeoutMs: 10_000 });
    const task = await client.send("hi");
    await task.done();
    assert.ok(sent < 100, `${sent} pieces were taken`);
  });

  test("a message in a busy context that does not want to wait is refused with the reason", async () => {
    await using agent = await OddAgent.start((asked, response) => {
      assert.equal(asked.params.message.metadata.delivery, "reject");
      failure(asked, response, {
        code: -32004,
        message: "The context is busy.",
        data: [
          { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "CONTEXT_BUSY", domain: "a2a-protocol.org" },
        ],
      });
    });
    await assert.rejects((await clientOf(agent)).send("hi", { delivery: "reject" }), {
      code: "a2a.unsupportedOperation",
      reason: "CONTEXT_BUSY",
    });
  });
});
