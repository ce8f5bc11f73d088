import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { EXTENSIONS } from "@nylorun/protocol";
import type { OpenInteraction } from "@nylorun/protocol";

import { Place } from "./nylorun.ts";
import type { Ended, Serving } from "./nylorun.ts";

const WAITING = new Set(["TASK_STATE_AUTH_REQUIRED", "TASK_STATE_INPUT_REQUIRED"]);

/** What the agent waits for depends on what it is told first. */
const ASKS = `
  const [what] = turn.text.split(" ");
  switch (what) {
    case "approve": {
      const approved = await turn.approve({ prompt: "Pay 42 EUR to Ada?", detail: { amount: 42, currency: "EUR" } });
      return approved ? "Paid." : "Not paid.";
    }
    case "twice": {
      const both = [await turn.approve({ prompt: "Once?" }), await turn.approve({ prompt: "Twice?" })];
      return JSON.stringify(both);
    }
    case "ask": return "It is " + (await turn.ask({ prompt: "Which day?" }));
    case "choose": return "It is " + (await turn.ask({ prompt: "Which day?", choices: ["Monday", "Friday"] }));
    case "count": return "It is " + (await turn.ask({ prompt: "How many?", schema: { type: "integer" } }));
    case "connect": {
      const flag = new URL("connected", import.meta.url);
      const connected = await turn.connect({
        prompt: "Connect your calendar.", provider: "calendar", url: "https://calendar.example/connect",
        verify: () => existsSync(flag), pollMs: 3600000,
      });
      return connected ? "Connected." : "Not connected.";
    }
    case "fail": await turn.approve({ prompt: "Fail?" }); throw new Error("secret");
    case "lose": {
      await turn.effect("lose", () => new Promise(() => undefined), { timeoutMs: 20 });
      return "never";
    }
    case "work": await delay(60000); return "late";
    default: return "Nothing to ask.";
  }`;

describe("nylorun answer", () => {
  const place = new Place();
  let serving: Serving;
  let ada: string;
  before(async () => {
    serving = await place.serve([place.agent("asks", ASKS), place.agent("echo")]);
    ada = await place.addKey("--subject", "ada");
    place.write("ada.key", `${ada}\n`);
    place.write("eve.key", await place.addKey("--subject", "eve"));
    place.write("operator.key", await place.addKey("--operator"));
  });
  after(() => place[Symbol.asyncDispose]());

  const answer = (task: string, ...args: readonly string[]) =>
    place.run(["answer", task, "--key-file", "ada.key", ...args]);
  const stateOf = async (task: string) => (await serving.get(ada, "asks", task)).status.state;
  const until = async (task: string, reached: (state: string) => boolean) => {
    for (let tries = 0; tries < 10000; tries++) {
      if (reached(await stateOf(task))) return;
      await delay(25);
    }
    throw new Error(`The task stayed ${await stateOf(task)}.`);
  };
  /** A task that waits. */
  async function waiting(text: string): Promise<string> {
    const { result } = await serving.send(ada, "asks", text, { returnImmediately: true });
    await until(result!.task.id, (state) => WAITING.has(state));
    return result!.task.id;
  }
  function refused({ code, stdout, stderr }: Ended, sentence: RegExp): void {
    assert.match(stderr, sentence);
    assert.deepEqual([code, stdout, stderr.trimEnd().split("\n").length], [1, "", 1]);
  }

  it("shows what is asked, and answers nothing, when nobody is there to ask (exit code 2)", async () => {
    const task = await waiting("approve");
    const { code, stdout, stderr } = await answer(task);
    assert.equal(code, 2);
    assert.match(
      stdout,
      /^asks asks for your approval:\n\n  Pay 42 EUR to Ada\?\n\n  amount    42\n  currency  EUR\n\n  interaction [\w-]{22}\n$/,
    );
    assert.match(stderr, /^Nothing was answered\./);
    assert.equal(await stateOf(task), "TASK_STATE_AUTH_REQUIRED");
  });

  for (const [text, flags, words, output] of [
    ["approve", ["--approve"], "Approved.", "Paid."],
    ["approve", ["--deny"], "Denied.", "Not paid."],
    ["ask", ["--text", "approve"], "Answered.", "It is approve"],
    ["ask", ["--value", '"Friday"'], "Answered.", "It is Friday"],
    ["choose", ["--text", "Friday"], "Answered.", "It is Friday"],
    ["count", ["--value", "7"], "Answered.", "It is 7"],
    ["connect", ["--deny"], "Denied.", "Not connected."],
  ] as const) {
    it(`answers "${text}" with ${flags.join(" ")}, and says what becomes of the task (exit code 0)`, async () => {
      const ended = await answer(await waiting(text), ...flags);
      assert.deepEqual(ended, { code: 0, stdout: `${words}\nThe task is completed:\n\n  ${output}\n`, stderr: "" });
    });
  }

  it("tells what a failed task tells its caller, and no more", async () => {
    const { code, stdout } = await answer(await waiting("fail"), "--approve");
    assert.deepEqual([code, stdout], [0, "Approved.\nThe task has failed:\n\n  The agent could not finish this.\n"]);
  });

  it("says that a connection is made, and leaves it to the agent to see that", async () => {
    const task = await waiting("connect");
    const told = "Told the agent that it is connected.\n";
    const early = await answer(task, "--connected");
    assert.deepEqual(
      [early.code, early.stdout],
      [0, `${told}The agent does not see it yet; it looks again by itself.\n`],
    );
    place.write("connected", "");
    assert.equal((await answer(task, "--connected")).stdout, `${told}The task is completed:\n\n  Connected.\n`);
  });

  it("shows the next thing that the task asks, and never answers that one along", async () => {
    const task = await waiting("twice");
    const { code, stdout } = await answer(task, "--approve");
    assert.equal(code, 0);
    assert.match(
      stdout,
      /^Approved\.\nThe task asks for something else now:\n\nasks asks for your approval:\n\n  Twice\?\n/,
    );
    assert.equal(await stateOf(task), "TASK_STATE_AUTH_REQUIRED");
    const interaction = /interaction (\S+)/.exec(stdout)![1]!;
    refused(
      await answer(task, "--deny", "--interaction", `${interaction}x`),
      new RegExp(
        `^nylorun: That interaction is not open any more\\. The task waits for another approval now: ${interaction}\n$`,
      ),
    );
    const denied = await answer(task, "--deny", "--interaction", interaction);
    assert.equal(denied.stderr, "");
    assert.match(denied.stdout, /\n  \[true,false\]\n$/);
  });

  it("takes ids that begin with a dash for what they are, wherever they stand", async () => {
    const task = await waiting("approve");
    const other = "-AAAAAAAAAAAAAAAAAAAAA";
    for (const args of [
      ["--deny", "--interaction", other],
      ["--interaction", other, "--deny"],
      [`--interaction=${other}`, "--deny"],
    ]) {
      refused(await answer(task, ...args), /^nylorun: That interaction is not open any more\./);
    }
    refused(await answer(other, "--deny", "--interaction", other), /^nylorun: There is no task -AAAA/);
    assert.equal(await stateOf(task), "TASK_STATE_AUTH_REQUIRED");
  });

  it("does not take the answer to another kind of thing", async () => {
    const [approval, question, connection] = [await waiting("approve"), await waiting("ask"), await waiting("twice")];
    refused(
      await answer(approval, "--connected"),
      /^nylorun: It is an approval that the task waits for: --approve or --deny\.\n$/,
    );
    refused(await answer(approval, "--text", "approve"), /It is an approval/);
    refused(await answer(approval, "--value", '{"approved":true}'), /It is an approval/);
    refused(
      await answer(question, "--approve"),
      /^nylorun: It is a question that the task waits for: --text TEXT or --value JSON\.\n$/,
    );
    refused(await answer(question, "--value", "{no"), /^nylorun: --value takes JSON, /);
    refused(await answer(connection, "--approve", "--deny"), /cannot be used with option/);
    for (const task of [approval, question, connection]) assert.ok(WAITING.has(await stateOf(task)));
  });

  it("tells why an answer does not fit, and leaves the question open", async () => {
    const [choice, count] = [await waiting("choose"), await waiting("count")];
    refused(
      await answer(choice, "--text", "Sunday"),
      /^nylorun: It was not taken: it must answer with one of \["Monday","Friday"\]\.\n$/,
    );
    refused(
      await answer(count, "--text", "many"),
      /^nylorun: It was not taken: it must fit the question's schema: .+\.\n$/,
    );
    for (const task of [choice, count]) assert.equal(await stateOf(task), "TASK_STATE_INPUT_REQUIRED");
  });

  it("says in a sentence why there is nothing to answer", async () => {
    const done = await serving.send(ada, "asks", "done");
    refused(
      await answer(done.result!.task.id, "--approve"),
      /^nylorun: The task waits for nothing: it is completed\.\n$/,
    );
    const work = (await serving.send(ada, "asks", "work", { returnImmediately: true })).result!.task;
    refused(await answer(work.id, "--approve"), /^nylorun: The task waits for nothing: it is at work\.\n$/);
    const context = await serving.call(ada, "asks", "GetTask", { id: work.id });
    const { contextId } = context.result as unknown as { contextId: string };
    const queued = await serving.send(ada, "asks", "approve", { returnImmediately: true, message: { contextId } });
    refused(
      await answer(queued.result!.task.id, "--approve"),
      /^nylorun: The task waits for nothing but an earlier one/,
    );
    const lost = (await serving.send(ada, "asks", "lose", { returnImmediately: true })).result!.task.id;
    for (let tries = 0; tries < 1000; tries++) {
      if ((await place.run(["effects", "list", "--json"])).stdout.includes(lost)) break;
      await delay(25);
    }
    refused(
      await answer(lost, "--approve"),
      /^nylorun: Nobody knows what became of something that the task did\. .+"nylorun effects list"\.\n$/,
    );
    const answered = await waiting("approve");
    await answer(answered, "--deny");
    refused(await answer(answered, "--approve"), /^nylorun: The task waits for nothing: it is completed\.\n$/);
  });

  // keeps: interactions-person-answers
  it("answers as the task's own subject alone (I7)", async () => {
    const task = await waiting("approve");
    const as = (key: string) => place.run(["answer", task, "--approve", "--key-file", key]);
    refused(
      await as("eve.key"),
      new RegExp(`^nylorun: There is no task ${task} at http://\\S+ that belongs to the subject of this key\\.\n$`),
    );
    refused(await as("operator.key"), /^nylorun: http:\/\/\S+ says: This key is an operator's/);
    place.write("wrong.key", `${ada.slice(0, -1)}_`);
    refused(await as("wrong.key"), /^nylorun: http:\/\/\S+ says: Send a valid key/);
    refused(await answer("no-task", "--approve"), /^nylorun: There is no task no-task at /);
    assert.equal(await stateOf(task), "TASK_STATE_AUTH_REQUIRED");
  });

  it("takes the key from a file, else from the environment, else from the home, which it shows to no other address", async () => {
    const task = await waiting("approve");
    const show = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
      place.run(["answer", task, ...args], env);
    const url = await serving.ready;
    refused(await show([]), /^nylorun: Which key\? Name its file with --key-file, or put it into NYLORUN_KEY\./);
    refused(
      await show(["--key-file", "no.key"]),
      /^nylorun: The key file no\.key cannot be read: there is no such file\.\n$/,
    );
    place.write("two.key", `${ada}\n${ada}\n`);
    refused(
      await show(["--key-file", "two.key"]),
      /^nylorun: The file two\.key must hold one key and nothing else; it does not\.\n$/,
    );
    assert.equal((await show([], { NYLORUN_KEY: ada })).code, 2);
    assert.equal((await show(["--url", `${url}/`], { NYLORUN_KEY: ada })).code, 2);
    assert.equal((await show(["--key-file", "ada.key"], { NYLORUN_KEY: "other" })).code, 2);
    place.write(".nylorun/local.key", `${ada}\n`);
    assert.equal((await show([])).code, 2);
    refused(await show(["--url", url]), /^nylorun: Which key is for that address\?/);
    refused(await show([], { NYLORUN_KEY: "other" }), /says: Send a valid key/);
  });

  it("says where it looked when no Runtime is there", async () => {
    await using empty = new Place();
    const run = (...args: readonly string[]) => empty.run(["answer", "task", ...args], { NYLORUN_KEY: ada });
    refused(
      await run(),
      /^nylorun: No process serves the home \S+\. Start one with "nylorun serve", or say where to call with --url\.\n$/,
    );
    refused(await run("--url", "ftp://x"), /^nylorun: --url must be an http or https address, /);
    refused(
      await run("--url", "http://127.0.0.1:9"),
      /^nylorun: No Runtime answers at http:\/\/127\.0\.0\.1:9: [^\n]+\.\n$/,
    );
  });

  it("leaves an answer standing that was taken between its look and its own", async () => {
    const task = await waiting("approve");
    const { result } = await call("GetTask", { id: task });
    const { interactionId } = result.status.message.metadata[EXTENSIONS.interactions];
    // Many at once: one is taken, the others are told that they are late, or see that nothing is open.
    const all = await Promise.all(["--deny", "--approve", "--deny", "--approve"].map((flag) => answer(task, flag)));
    const taken = all.filter(({ code }) => code === 0);
    assert.equal(taken.length, 1);
    for (const late of all.filter((each) => !taken.includes(each))) {
      refused(
        late,
        /^nylorun: (It was not taken: this was answered meanwhile, or is not asked any more|The task waits for nothing: .+)\.\n$/,
      );
    }
    const answered = await call("GetTask", { id: task });
    const replies = answered.result.history.filter(({ role }) => role === "ROLE_USER").slice(1);
    assert.deepEqual(
      replies.map(({ metadata }) => metadata[EXTENSIONS.interactions]),
      [{ interactionId, approved: taken[0]!.stdout.startsWith("Approved.") }],
    );
  });

  /** With the extension on. */
  async function call(method: string, params: object) {
    const response = await fetch(`${await serving.ready}/v1/a2a/agents/asks/`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${ada}`,
        "content-type": "application/json",
        "a2a-version": "1.0",
        "a2a-extensions": EXTENSIONS.interactions,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    interface Said {
      readonly role: string;
      readonly metadata: { readonly [EXTENSIONS.interactions]: OpenInteraction };
    }
    return (await response.json()) as {
      readonly result: { readonly status: { readonly message: Said }; readonly history: readonly Said[] };
    };
  }
});
