/** A task in its caller's hand: what is shown, what is answered, what is downloaded. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";

import { createA2aClient } from "@nylorun/agents/a2a";
import type { A2aTask, TaskView } from "@nylorun/agents/a2a";
import { EXTENSIONS } from "@nylorun/protocol";
import type { Artifact, Task } from "@nylorun/protocol";

import { failure, OddAgent, PROFILED, result, taskIn } from "./odd-agent.ts";

const soon = () => ({ signal: AbortSignal.timeout(10_000) });

function asks(interactionId: string, prompt = `Approve ${interactionId}?`): Task {
  const message = {
    messageId: `m-${interactionId}`,
    role: "ROLE_AGENT" as const,
    parts: [{ text: prompt }],
    extensions: [EXTENSIONS.interactions],
    metadata: { [EXTENSIONS.interactions]: { interactionId, kind: "approval", prompt } },
  };
  return taskIn("TASK_STATE_AUTH_REQUIRED", { status: { state: "TASK_STATE_AUTH_REQUIRED", message } });
}

/** An agent whose task is what the test says it is now. */
async function startAgent(now: { task: Task; reply?: Task }) {
  const agent = await OddAgent.start((asked, response) => {
    if (asked.method === "SendMessage" && asked.params.message.taskId !== undefined) {
      const open = (now.task.status.message?.metadata?.[EXTENSIONS.interactions] as any)?.interactionId;
      const answered = asked.params.message.metadata?.[EXTENSIONS.interactions]?.interactionId;
      if (answered === open) result(asked, response, { task: now.reply ?? now.task });
      else
        failure(asked, response, {
          code: -32602,
          message: "Not open",
          data: [{ "@type": "x/google.rpc.ErrorInfo", reason: "INTERACTION_NOT_OPEN" }],
        });
    } else result(asked, response, asked.method === "GetTask" ? now.task : { task: now.task });
  });
  agent.card = PROFILED;
  const client = await createA2aClient({ url: agent.url, pollMs: 40, patienceMs: 500 });
  return { agent, client, task: await client.send("hi"), [Symbol.asyncDispose]: () => agent[Symbol.asyncDispose]() };
}

const sent = (agent: OddAgent) => agent.asked.filter(({ params }) => params.message?.taskId !== undefined);

describe("answering", { timeout: 60_000 }, () => {
  test("an approval that nobody has seen is not approved by a late click", async () => {
    const now: { task: Task; reply?: Task } = { task: asks("one") };
    await using served = await startAgent(now);
    const { agent, task } = served;
    await task.refresh();
    // While the person reads, the task moves on to its next approval, and this handle hears of it.
    now.task = asks("two");
    const looking = task.done(soon()).catch(() => undefined);
    while (task.interaction?.id !== "two") await new Promise((go) => setTimeout(go, 5));
    await assert.rejects(task.approve(true), { code: "a2a.invalidParams", reason: "INTERACTION_NOT_OPEN" });
    assert.equal(sent(agent).at(-1)?.params.message.metadata[EXTENSIONS.interactions].interactionId, "one");
    now.task = taskIn("TASK_STATE_COMPLETED");
    await looking;
  });

  test("what is answered is not asked again while the agent still shows it, and a second click answers nothing", async () => {
    const now: { task: Task; reply?: Task } = { task: asks("one") };
    await using served = await startAgent(now);
    const { agent, task } = served;
    const shown: (string | undefined)[] = [];
    for await (const view of task.updates(soon())) {
      shown.push(view.interaction?.prompt);
      if (view.interaction === undefined) continue;
      await task.approve(true);
      await assert.rejects(task.approve(true), { code: "interaction.none" });
      setTimeout(() => (now.task = taskIn("TASK_STATE_COMPLETED")), 300);
    }
    assert.equal(shown.filter((prompt) => prompt === "Approve one?").length, 1);
    assert.equal(sent(agent).length, 1);
  });

  test("an interaction is reported once, however long it is open (A2A 7.6.2)", async () => {
    const now = { task: asks("one") };
    await using served = await startAgent(now);
    const seen: TaskView[] = [];
    setTimeout(() => (now.task = taskIn("TASK_STATE_WORKING")), 400);
    setTimeout(() => (now.task = taskIn("TASK_STATE_COMPLETED")), 700);
    for await (const view of served.task.updates(soon())) seen.push(view);
    assert.deepEqual(
      seen.map(({ state }) => state),
      ["TASK_STATE_AUTH_REQUIRED", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED"],
    );
  });

  // keeps: interactions-approval-boolean
  test("only true and false approve", async () => {
    await using served = await startAgent({ task: asks("one") });
    for (const value of ["true", "yes", 1, undefined, null]) {
      await assert.rejects(async () => served.task.approve(value as never), { code: "call.invalid" });
    }
    assert.equal(sent(served.agent).length, 0);
  });

  test("a reply names the task, its context and the extension, and says in words what it does", async () => {
    await using served = await startAgent({ task: asks("one"), reply: taskIn("TASK_STATE_WORKING") });
    await served.task.approve(false);
    const { message } = sent(served.agent)[0]!.params;
    assert.deepEqual(
      [message.taskId, message.contextId, message.role, message.parts, message.extensions, message.metadata],
      [
        "t1",
        "c1",
        "ROLE_USER",
        [{ text: "Denied." }],
        [EXTENSIONS.interactions],
        { [EXTENSIONS.interactions]: { interactionId: "one", approved: false } },
      ],
    );
  });

  test("there is nothing to answer in a task that asks nothing", async () => {
    await using served = await startAgent({ task: taskIn("TASK_STATE_WORKING") });
    await assert.rejects(served.task.approve(true), { code: "interaction.none" });
    await assert.rejects(served.task.answer("x"), { code: "interaction.none" });
  });

  test("a look that began before the reply does not bring the old state back", async () => {
    const now: { task: Task; reply?: Task } = { task: asks("one"), reply: taskIn("TASK_STATE_WORKING") };
    await using served = await startAgent(now);
    const { agent, task } = served;
    const answer = agent.answer;
    const held: (() => void)[] = [];
    agent.answer = (asked, response) => {
      if (asked.method !== "GetTask") return void answer(asked, response);
      const then = structuredClone(now.task);
      held.push(() => result(asked, response, then));
    };
    const look = task.refresh();
    while (held.length === 0) await new Promise((go) => setTimeout(go, 5));
    await task.approve(true, { interaction: task.interaction! });
    assert.equal(task.state, "TASK_STATE_WORKING");
    held[0]!();
    await look;
    assert.equal(task.state, "TASK_STATE_WORKING");
  });
});

describe("reading", { timeout: 60_000 }, () => {
  test("several readers share one look, each gets the end", async () => {
    const now = { task: taskIn("TASK_STATE_WORKING") };
    await using served = await startAgent(now);
    const { agent, task } = served;
    const readers = Array.from({ length: 5 }, () => task.done(soon()));
    await new Promise((go) => setTimeout(go, 400));
    const looks = agent.times("GetTask");
    assert.ok(looks <= 14, `${looks} looks in 400 ms`);
    now.task = taskIn("TASK_STATE_COMPLETED");
    assert.equal(new Set((await Promise.all(readers)).map(({ state }) => state)).size, 1);
  });

  test("a slow reader gets the last state, not every one", async () => {
    const say = (text: string) =>
      taskIn("TASK_STATE_WORKING", {
        status: { state: "TASK_STATE_WORKING", message: { messageId: text, role: "ROLE_AGENT", parts: [{ text }] } },
      });
    const now = { task: say("0") };
    await using served = await startAgent(now);
    let count = 0;
    const timer = setInterval(
      () => (now.task = ++count < 30 ? say(String(count)) : taskIn("TASK_STATE_COMPLETED")),
      20,
    );
    const seen: string[] = [];
    for await (const view of served.task.updates(soon())) {
      seen.push(view.text ?? view.state);
      await new Promise((go) => setTimeout(go, 150));
    }
    clearInterval(timer);
    assert.equal(seen.at(-1), "TASK_STATE_COMPLETED");
    assert.ok(seen.length < 12, seen.join());
  });

  test("a reader that failed can read again", async () => {
    const now = { task: taskIn("TASK_STATE_WORKING") };
    await using served = await startAgent(now);
    const { agent, task } = served;
    const answer = agent.answer;
    agent.answer = (_, response) => response.writeHead(403).end();
    await assert.rejects(task.done(soon()), { code: "agent.unauthorized" });
    agent.answer = answer;
    now.task = taskIn("TASK_STATE_COMPLETED");
    assert.equal((await task.done(soon())).state, "TASK_STATE_COMPLETED");
  });

  test("a reader that is busy when the looking fails is told at its next step", async () => {
    await using served = await startAgent({ task: taskIn("TASK_STATE_WORKING") });
    const updates = served.task.updates(soon());
    const reader = served.task.updates(soon());
    await updates.next();
    const other = updates.next();
    other.catch(() => undefined);
    await reader.next();
    served.agent.answer = (_, response) => response.writeHead(403).end();
    await assert.rejects(other, { code: "agent.unauthorized" });
    await assert.rejects(reader.next(), { code: "agent.unauthorized" });
  });

  test("what did not end well is an error with the agent's words", async () => {
    const status = {
      state: "TASK_STATE_REJECTED" as const,
      message: { messageId: "m", role: "ROLE_AGENT" as const, parts: [{ text: "There is no such order." }] },
    };
    await using served = await startAgent({ task: taskIn("TASK_STATE_REJECTED", { status }) });
    await assert.rejects(served.task.done(), {
      code: "task.rejected",
      message: "The task was refused: There is no such order.",
    });
  });
});

describe("files", { timeout: 60_000 }, () => {
  const bytes = Buffer.from("a,b\n1,2\n");

  /** Serves one link at a time; the others have expired. */
  async function startFiles(content = bytes) {
    const links = { valid: "1", served: 0, auth: [] as (string | undefined)[] };
    const server = createServer((request, response) => {
      links.auth.push(request.headers.authorization);
      if (request.url !== `/${links.valid}`) {
        response.writeHead(403).end();
        return;
      }
      links.served++;
      response.end(content);
    });
    await new Promise<void>((go) => server.listen(0, "127.0.0.1", go));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return { links, url, [Symbol.asyncDispose]: () => new Promise<void>((go) => void server.close(() => go())) };
  }

  const artifact = (url: string, data: object = {}): Artifact => ({
    artifactId: "a",
    name: "table",
    parts: [{ url, mediaType: "text/csv" }],
    extensions: [EXTENSIONS.files],
    metadata: {
      [EXTENSIONS.files]: {
        kind: "file",
        version: 1,
        size: bytes.length,
        sha256: createHash("sha256").update(bytes).digest("hex"),
        path: "out/table.csv",
        ...data,
      },
    },
  });

  const done = (...artifacts: Artifact[]) => taskIn("TASK_STATE_COMPLETED", { artifacts });
  const first = (task: A2aTask) => task.files[0]!;

  test("are what the agent says they are, byte for byte", async () => {
    await using files = await startFiles();
    await using served = await startAgent({ task: done(artifact(`${files.url}/1`)) });
    const file = first(served.task);
    assert.deepEqual(
      [file.name, file.path, file.version, file.kind, file.mediaType],
      ["table.csv", "out/table.csv", 1, "file", "text/csv"],
    );
    assert.equal(await file.text(), bytes.toString());
  });

  // keeps: files-artifact-checked
  test("that are other bytes fail at their end, and longer ones before it", async () => {
    await using files = await startFiles(Buffer.from("a,b\n9,9\n"));
    await using served = await startAgent({ task: done(artifact(`${files.url}/1`)) });
    await assert.rejects(first(served.task).bytes(), { code: "file.changed", message: /SHA-256/ });
    await using longer = await startFiles(Buffer.alloc(1000));
    await using other = await startAgent({ task: done(artifact(`${longer.url}/1`)) });
    await assert.rejects(first(other.task).bytes(), { code: "file.changed", message: /more than 8 bytes/ });
    await using shorter = await startFiles(Buffer.from("a"));
    await using third = await startAgent({ task: done(artifact(`${shorter.url}/1`)) });
    await assert.rejects(first(third.task).bytes(), { code: "file.changed", message: /it has 1 bytes/ });
  });

  const told = (text: string, data: object = {}) => ({
    extensions: [EXTENSIONS.files],
    metadata: {
      [EXTENSIONS.files]: {
        kind: "file",
        version: 1,
        size: Buffer.byteLength(text),
        sha256: createHash("sha256").update(text).digest("hex"),
        path: "output.json",
        ...data,
      },
    },
  });

  // keeps: files-artifact-checked
  test("that are data which came with the task are held against its JSON", async () => {
    const data = { zeta: [1.5, null, "ü \ud83d"], alpha: { 7: "x", 1: "y" }, empty: {} };
    const json = JSON.stringify(data);
    for (const [value, more, refusal] of [
      [data, {}, undefined],
      [null, told("null").metadata[EXTENSIONS.files], undefined],
      [{ ...data, empty: [] }, {}, /SHA-256/],
      [data, { sha256: createHash("sha256").update("{}").digest("hex") }, /SHA-256/],
      [data, { size: 7 }, /more than 7 bytes/],
      [data, { size: 700 }, /not 700/],
      // The same members, in another order: other bytes.
      [{ alpha: data.alpha, zeta: data.zeta, empty: {} }, {}, /SHA-256/],
    ] as const) {
      const output = { artifactId: "output", parts: [{ data: value }], ...told(json, more) };
      await using served = await startAgent({ task: done(output) });
      const reading = first(served.task).text();
      if (refusal === undefined) assert.equal(await reading, JSON.stringify(value));
      else await assert.rejects(reading, { code: "file.changed", message: refusal }, JSON.stringify(more));
    }
  });

  test("that are a text which came with the task are held against it", async () => {
    for (const [text, refusal] of [
      ["Done — ✓", undefined],
      ["Done — ✗", /SHA-256/],
    ] as const) {
      const output = { artifactId: "output", parts: [{ text }], ...told("Done — ✓", { path: "output.txt" }) };
      await using served = await startAgent({ task: done(output) });
      const reading = first(served.task).text();
      if (refusal === undefined) assert.equal(await reading, text);
      else await assert.rejects(reading, { code: "file.changed", message: refusal });
    }
  });

  // keeps: files-artifact-checked
  test("that are folders are held against their list, without its links, and the sum of its files", async () => {
    const hash = (text: string) => createHash("sha256").update(text).digest("hex");
    const entry = (path: string) => ({ path, size: path.length, sha256: hash(path), mediaType: "text/plain" });
    const entries = [entry("a.txt"), entry("b/ü.txt")];
    const [one, two] = entries as [(typeof entries)[0], (typeof entries)[0]];
    // Written by hand, as the page has it.
    const list = entries
      .map(
        ({ path, size, sha256 }) => `{"mediaType":"text/plain","path":"${path}","sha256":"${sha256}","size":${size}}`,
      )
      .join(",");
    const about = { kind: "folder", path: "many", size: 12, sha256: hash(`{"entries":[${list}]}`) };
    const linked = (files: readonly object[]) => files.map((file) => ({ ...file, url: "https://example.com/1" }));
    for (const [body, more, refusal] of [
      [{ entries: linked(entries), more: "is ignored" }, {}, undefined],
      [{ entries }, {}, undefined],
      [{ entries: linked(entries) }, { sha256: hash("another") }, /SHA-256 of its list/],
      [{ entries: linked([one, { ...two, sha256: hash("another") }]) }, {}, /SHA-256 of its list/],
      [{ entries: linked([one, { ...two, size: 8 }]) }, {}, /SHA-256 of its list/],
      [{ entries: linked([one, { ...two, path: "b/../../up" }]) }, {}, /SHA-256 of its list/],
      [{ entries: linked([one]) }, {}, /SHA-256 of its list/],
      [{ entries: linked([two, one]) }, {}, /SHA-256 of its list/],
      [{ entries: linked(entries) }, { size: 13 }, /12 bytes together, not 13/],
      [{ entries: linked([one, { ...two, size: "7" }]) }, {}, /no list of files/],
      [{ entries: [null] }, {}, /no list of files/],
      [{ entries: "a.txt" }, {}, /no list of files/],
      [null, {}, /no list of files/],
    ] as const) {
      await using files = await startFiles(Buffer.from(JSON.stringify(body)));
      await using served = await startAgent({ task: done(artifact(`${files.url}/1`, { ...about, ...more })) });
      const reading = first(served.task).text();
      if (refusal === undefined) assert.deepEqual(JSON.parse(await reading), body);
      else await assert.rejects(reading, { code: "file.changed", message: refusal }, JSON.stringify({ body, more }));
    }
    await using files = await startFiles(Buffer.from("<!doctype html>"));
    await using served = await startAgent({ task: done(artifact(`${files.url}/1`, about)) });
    await assert.rejects(first(served.task).text(), { code: "file.changed", message: /no list of files/ });
  });

  test("of an agent that tells nothing of them have no hash to check them by, and are handed over", async () => {
    await using files = await startFiles(Buffer.from("whatever it is"));
    const parts = [{ url: `${files.url}/1` }, { raw: bytes.toString("base64"), filename: "table.csv" }];
    await using served = await startAgent({ task: done({ artifactId: "a", parts }) });
    const all = served.task.files;
    assert.deepEqual(
      all.map(({ sha256, size, kind }) => [sha256, size, kind]),
      Array.from({ length: 2 }, () => [undefined, undefined, undefined]),
    );
    assert.deepEqual(await Promise.all(all.map((file) => file.text())), ["whatever it is", bytes.toString()]);
  });

  test("whose link has expired are fetched by a new one", async () => {
    await using files = await startFiles();
    const now = { task: done(artifact(`${files.url}/1`)) };
    await using served = await startAgent(now);
    const file = first(served.task);
    files.links.valid = "2";
    now.task = done(artifact(`${files.url}/2`));
    assert.equal(await file.text(), bytes.toString());
  });

  test("whose version is gone are said to be, not replaced by the newer one", async () => {
    await using files = await startFiles();
    const now = { task: done(artifact(`${files.url}/1`)) };
    await using served = await startAgent(now);
    files.links.valid = "2";
    now.task = done(artifact(`${files.url}/2`, { version: 2 }));
    await assert.rejects(first(served.task).bytes(), { code: "file.gone", message: /version 1/ });
  });

  test("are fetched without the agent's credentials", async () => {
    await using files = await startFiles();
    await using agent = await OddAgent.start((asked, response) =>
      result(asked, response, { task: done(artifact(`${files.url}/1`)) }),
    );
    const client = await createA2aClient({ url: agent.url, auth: "secret" });
    await first(await client.send("hi")).bytes();
    assert.equal(agent.asked[0]!.headers.authorization, "Bearer secret");
    assert.deepEqual(files.links.auth, [undefined]);
  });

  test("larger than allowed are refused, and can be streamed", async () => {
    await using files = await startFiles();
    await using served = await startAgent({ task: done(artifact(`${files.url}/1`)) });
    await assert.rejects(first(served.task).bytes({ maxBytes: 4 }), { code: "answer.tooLarge" });
    let length = 0;
    for await (const chunk of await first(served.task).stream()) length += chunk.length;
    assert.equal(length, bytes.length);
  });

  test("a link that is made anew at each look is no change of the task", async () => {
    let link = 0;
    let ended = false;
    await using agent = await OddAgent.start((asked, response) => {
      const task = taskIn(ended ? "TASK_STATE_COMPLETED" : "TASK_STATE_WORKING", {
        artifacts: [artifact(`http://127.0.0.1/${++link}`)],
      });
      result(asked, response, asked.method === "GetTask" ? task : { task });
    });
    const task = await (await createA2aClient({ url: agent.url, pollMs: 20 })).send("hi");
    setTimeout(() => (ended = true), 400);
    let count = 0;
    for await (const _ of task.updates(soon())) count++;
    assert.equal(count, 2);
    assert.equal(task.files[0]!.url, `http://127.0.0.1/${link}`);
  });
});

describe("push configs", { timeout: 60_000 }, () => {
  // keeps: a2a-client-webhook-token
  test("get a random token when none is given, and give it back", async () => {
    await using agent = await OddAgent.start((asked, response) => {
      if (asked.method === "SendMessage") result(asked, response, { task: taskIn("TASK_STATE_WORKING") });
      // As agents do: the token is not shown again.
      else result(asked, response, { id: "p1", taskId: "t1", url: asked.params.url });
    });
    const client = await createA2aClient({ url: agent.url });
    const task = await client.send("hi", { push: { url: "https://example.com/hook" } });
    const config = agent.asked[0]!.params.configuration.taskPushNotificationConfig;
    assert.match(config.token, /^[0-9a-f]{32}$/);
    assert.equal(task.pushToken, config.token);
    const made = await task.push.create({
      url: "https://example.com/hook",
      authentication: { scheme: "Bearer", credentials: "c" },
    });
    const { params } = agent.asked[1]!;
    assert.deepEqual(params, {
      taskId: "t1",
      url: "https://example.com/hook",
      token: made.token,
      authentication: { scheme: "Bearer", credentials: "c" },
    });
    assert.notEqual(made.token, task.pushToken);
    await assert.rejects(task.push.create({ url: "mailto:a@b.c" }), { code: "call.invalid" });
  });
});
