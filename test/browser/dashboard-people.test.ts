/** Who sees what: each person their own, nobody anything after signing out, and nothing that an agent wrote as anything but text. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { defineAgent, OutcomeUnknown, refuse } from "@nylorun/agents";
import type { Agent, AgentDefinition } from "@nylorun/agents";

import { launchChromium } from "./chromium.ts";
import { Dashboard } from "./dashboard.ts";
import type { Keys, Person } from "./dashboard.ts";

const browser = await launchChromium();

function makeAgent(id: string, run: AgentDefinition["run"], rest: Partial<AgentDefinition> = {}): Agent {
  const skills = [{ id, name: id, description: "For tests.", tags: ["test"] }];
  return defineAgent({ id, name: id, description: "For tests.", version: "1.0.0", skills, run, ...rest });
}

const asks = makeAgent("asks", (turn) => turn.ask({ prompt: `${turn.text}?` }));

/** What runs as a program where text is taken for markup, an address, a style or a template. */
const CORPUS = [
  "<script>xss()</script>",
  "<img src=x onerror=xss()>",
  '"><svg onload=xss()>',
  "'><iframe srcdoc='<script>parent.xss()</script>'>",
  "<!--<script>xss()//-->",
  "</textarea></title></style></script><script>xss()</script>",
  "javascript:xss()",
  "${xss()} {{xss()}} <?lit$0$?>",
  "<a href=javascript:xss()>x</a><form action=javascript:xss()><button autofocus>",
  "<style>@import'//evil.example'</style><link rel=stylesheet href=//evil.example>",
  "\u202e<b onmouseover=xss()>\u2066",
] as const;
const EVIL = CORPUS.join(" ");
/** For what may be long, shorter for what may not. */
const short = (length: number) => EVIL.slice(0, length);

const evil = makeAgent(
  "evil",
  async (turn) => {
    const plan = turn.plan([short(120), CORPUS[1], CORPUS[0]]);
    plan.start(0, { note: short(280) });
    turn.say(EVIL);
    turn.progress({ percent: 30, stage: short(120) });
    switch (turn.text.slice(0, 4)) {
      case "ask ":
        await turn.ask({ prompt: EVIL, choices: [...CORPUS] });
        break;
      case "form":
        await turn.ask({
          prompt: EVIL,
          detail: { [CORPUS[1]]: { [EVIL]: [EVIL, { deep: EVIL }] } },
          schema: {
            type: "object",
            title: EVIL,
            properties: Object.fromEntries(
              CORPUS.map((text) => [text, { type: "string", title: text, description: text, enum: [text, EVIL] }]),
            ),
          },
        });
        break;
      case "appr":
        await turn.approve({ prompt: EVIL, detail: { [EVIL]: EVIL } });
        break;
      case "conn":
        await turn.connect({ prompt: EVIL, provider: EVIL, url: "javascript:xss()", verify: () => false });
        break;
      case "lose":
        await turn.effect(short(100), () => {
          throw new OutcomeUnknown("lost");
        });
        break;
      case "fail":
        return refuse(EVIL);
      case "file":
        await turn.file(`${CORPUS[1]}/${CORPUS[3].replaceAll("/", "")}.html`, EVIL, { mediaType: "text/html" });
        break;
      case "json":
        return { [EVIL]: EVIL };
    }
    return EVIL;
  },
  {
    name: short(100),
    description: EVIL,
    version: "1.0.0",
    skills: [{ id: "x", name: EVIL, description: EVIL, tags: ["x"], examples: [...CORPUS] }],
  },
);

describe("the dashboard", { timeout: 200_000 }, () => {
  const resources = new AsyncDisposableStack();
  resources.defer(() => browser.close());
  let dashboard: Dashboard;
  let ada: string;
  let bob: string;
  let operator: string;

  before(async () => {
    dashboard = resources.use(await Dashboard.serve({ agents: [asks, evil] }));
    [ada, bob] = [await dashboard.subjectKey("ada"), await dashboard.subjectKey("bob")];
    operator = await dashboard.operatorKey();
  });
  after(() => resources.disposeAsync());

  const send = async (key: string, agent: string, text: string, contextId?: string) => {
    const client = await dashboard.client(agent, key);
    return client.send(text, contextId === undefined ? {} : { contextId });
  };
  const report = async (key: string, body: object) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const response = await fetch(`${dashboard.runtime.url}/v1/progress`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    assert.equal(response.status, 200);
  };

  test("shows two people in two browsers their own work and never each other's (I7, A31)", async () => {
    const mine = await send(ada, "asks", "Ada’s secret");
    await report(bob, { task_id: "claude:bobs-secret", percent: 5, stage: "Bob’s stage", status: "running" });
    await using one = await dashboard.open(browser, { subject: ada });
    await using two = await dashboard.open(browser, { subject: bob });
    await one.sees("Ada’s secret?");
    await two.sees("Bob’s stage");
    await send(bob, "asks", "Bob’s other secret");
    await two.sees("Bob’s other secret?");
    for (const view of ["#/", "#/history", "#/agents/asks", "#/operator"]) {
      await one.go(view);
      await two.go(view);
      assert.doesNotMatch(await one.text(), /Bob/, view);
      assert.doesNotMatch(await two.text(), /Ada/, view);
    }
    await two.go(`#/tasks/asks/${mine.id}`);
    await two.sees("It is not here");
    await two.go(`#/contexts/asks/${mine.contextId}`);
    await two.sees("Nothing was said here");
    await two.go(`#/reports/${encodeURIComponent(`asks:${mine.id}`)}`);
    await two.sees("Nothing is known of it");
    // The operator's view is an operator's.
    await two.go("#/operator");
    await two.page.locator("[role=alert]", { hasText: "This key is a subject's" }).waitFor();
  });

  test("shows an operator everybody's work, and has nobody's to act for", async () => {
    await using person = await dashboard.open(browser, { operator });
    await person.sees("claude");
    await person.page.locator(".row", { hasText: "ada" }).first().waitFor();
    assert.equal(await person.page.getByRole("link", { name: /New task/ }).count(), 0);
    await person.page.locator(".row", { hasText: "ada" }).first().click();
    await person.sees("it can be watched, not steered");
  });

  test("is the same under another name of the same address, which its cards and links do not say", async () => {
    await using person = await dashboard.open(browser, { subject: bob }, {}, "localhost");
    await send(bob, "asks", "Bob’s second name");
    await person.page.locator(".card", { hasText: "Bob’s second name?" }).click();
    await person.page.getByLabel("Your answer").fill("For nobody else.");
    await person.press("Answer");
    await person.page.locator(".outcome", { hasText: "For nobody else." }).waitFor();
    const file = person.page.locator(".file", { hasText: "output.txt" });
    await file.getByRole("button").click();
    await file.getByText("Size and SHA-256 verified.").waitFor();
  });

  test("shows who is both their own, and everybody's when that is asked for", async () => {
    await using person = await dashboard.open(browser, { subject: ada, operator });
    await person.sees("Ada’s secret?");
    assert.doesNotMatch(await person.text(), /bobs-secret/);
    await person.press("Everybody’s");
    await person.page.locator(".row", { hasText: "bobs-secret" }).waitFor();
    await person.press("Mine");
    await person.sees("Ada’s secret?");
    assert.doesNotMatch(await person.text(), /bobs-secret/);
  });

  test("shows nothing in any tab once its person has signed out", async () => {
    await using person = await dashboard.open(browser, { subject: ada });
    const first = person.page;
    await person.sees("Ada’s secret?");
    const second = await person.newPage();
    await second.goto(`${dashboard.runtime.url}/dashboard/`);
    await person.sees("Ada’s secret?");
    await second.locator(".who summary").click();
    await person.press("Sign out");
    for (const page of [first, second]) {
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
      assert.doesNotMatch(await page.locator("html").innerHTML(), /secret/);
      assert.equal(await page.title(), "Now · Nylorun");
    }
    await first.goto("about:blank");
    await first.goBack();
    await first.getByRole("heading", { name: "Sign in" }).waitFor();
    assert.doesNotMatch(await first.locator("html").innerHTML(), /secret/);

    await second.getByLabel("Key").fill("nyl_wrong");
    await person.press("Sign in");
    await second.locator("[role=alert]", { hasText: "This key opens nothing here" }).waitFor();
    await second.getByLabel("Key").fill(bob);
    await second.getByLabel("Key").press("Enter");
    await person.sees("Bob’s other secret?");
    assert.doesNotMatch(await person.text(), /Ada/);
    await first.locator(".who summary", { hasText: "bob" }).waitFor();
  });

  test("signs a person out whose key was revoked, wherever they are", async () => {
    const key = await dashboard.subjectKey("eve");
    await send(key, "asks", "Eve’s secret");
    await using person = await dashboard.open(browser, { subject: key });
    await person.sees("Eve’s secret?");
    await using other = await dashboard.open(browser, { operator });
    await other.go("#/operator");
    const row = other.page.locator("tr", { hasText: "eve" });
    await row.getByRole("button", { name: "Revoke…" }).click();
    await row.getByRole("button", { name: "Revoke for good" }).click();
    await row.getByText("Revoked", { exact: true }).waitFor();
    await person.page.evaluate(() => {
      location.hash = "#/history";
    });
    await person.page.getByText("You have been signed out").waitFor();
    assert.doesNotMatch(await person.page.locator("html").innerHTML(), /secret/);
  });

  test("takes nothing that an agent or a reporter wrote for anything but text (P22)", async () => {
    const keys: Keys = { subject: await dashboard.subjectKey("mallory"), operator };
    const { subject: key = "" } = keys;
    const kinds = ["ask ", "form", "appr", "conn", "lose", "fail", "file", "json", "text"];
    const tasks = await Promise.all(
      kinds.map((kind) => send(key, "evil", `${kind}${EVIL}`, `evil ${kind}`.replaceAll(" ", "-"))),
    );
    for (const field of ["stage", "message", "agent"]) {
      await report(key, { task_id: `r:${field}`, percent: 1, stage: "s", status: "running", [field]: short(120) });
    }
    await report(key, { task_id: "r:error", percent: 1, stage: short(120), status: "error", message: short(280) });
    await using person = await dashboard.open(browser, keys);
    const ran = await inject(person);
    const views = [
      "#/",
      "#/history",
      "#/operator",
      "#/agents/evil",
      "#/reports/r%3Aerror",
      ...tasks.flatMap(({ id, contextId }) => [
        `#/tasks/evil/${id}`,
        `#/contexts/evil/${encodeURIComponent(contextId ?? "")}`,
      ]),
      `#/tasks/evil/${encodeURIComponent(CORPUS[1])}`,
      `#/reports/${encodeURIComponent(CORPUS[0])}`,
      `#/contexts/${encodeURIComponent(CORPUS[1])}/${encodeURIComponent(CORPUS[0])}`,
    ];
    for (const view of views) {
      await person.go(view);
      await person.page.waitForFunction(() => document.querySelector("main .loading") === null);
      assert.deepEqual(await ran(), [], view);
    }
    // It was there: as text.
    await person.go(`#/tasks/evil/${tasks[2]!.id}`);
    await person.page.locator("ask-form h2", { hasText: "<img src=x onerror=xss()>" }).waitFor();
    // Nor does anything there run the other way than it reads.
    assert.doesNotMatch(await person.page.locator("ask-form").innerText(), /[\u202a-\u202e\u2066-\u2069]/);
    await person.go(`#/tasks/evil/${tasks[3]!.id}`);
    await person.page.locator("ask-form code", { hasText: "javascript:xss()" }).waitFor();
    assert.equal(await person.page.locator("a[href^='javascript:' i]").count(), 0);
    // A page of an agent's is saved, and not opened.
    await person.go(`#/tasks/evil/${tasks[6]!.id}`);
    const file = person.page.locator(".file", { hasText: "<img src=x onerror=xss()>" });
    const downloading = person.page.waitForEvent("download");
    await file.getByRole("button").click();
    assert.match((await downloading).suggestedFilename(), /\.html$/);
    await file.getByText("verified").waitFor();
    assert.deepEqual(await ran(), []);
  });
});

/** Has the page note what should never happen: a call of what the corpus calls, or an element that only its markup would make. */
async function inject(person: Person): Promise<() => Promise<readonly string[]>> {
  await person.page.evaluate(() => {
    const ran: string[] = [];
    Object.assign(globalThis, { ran, xss: () => ran.push("xss()") });
    document.addEventListener("securitypolicyviolation", ({ violatedDirective }) => ran.push(violatedDirective));
  });
  return () =>
    person.page.evaluate(() => {
      const found = document.querySelectorAll(
        "body script, iframe, svg[onload], img[src=x], body style, body link, [onerror], [onload], [onmouseover], form[action], base, object, embed",
      );
      return [...(globalThis as unknown as { ran: string[] }).ran, ...[...found].map(({ outerHTML }) => outerHTML)];
    });
}
