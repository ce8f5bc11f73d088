/** Every view of the dashboard, for everybody: axe's opinion in light and dark, the keyboard alone, 360 pixels, and a slow line. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";

import { defineAgent, OutcomeUnknown } from "@nylorun/agents";

import { axeFindings } from "./accessibility.ts";
import { launchChromium } from "./chromium.ts";
import { Dashboard } from "./dashboard.ts";
import type { Keys } from "./dashboard.ts";

const browser = await launchChromium();
/** Of the first view, compressed, in bytes. */
const BUDGET = 150_000;

const SCHEMA = {
  type: "object",
  required: ["city"],
  properties: {
    city: { type: "string", title: "City", description: "Where to." },
    nights: { type: "integer", title: "Nights", minimum: 1 },
    train: { enum: ["First", "Second"], title: "Class" },
    meals: { type: "array", title: "Meals", items: { enum: ["Breakfast", "Dinner"] } },
    quiet: { type: "boolean", title: "A quiet room" },
    more: { title: "More" },
  },
};

const agent = defineAgent({
  id: "travel",
  name: "Travel desk",
  description: "Books trips.",
  version: "1.0.0",
  skills: [{ id: "book", name: "Book", description: "Books a trip.", tags: ["trips"], examples: ["Oslo"] }],
  async run(turn) {
    const plan = turn.plan(["Ask", "Book", "Pay"]);
    plan.start("Ask", { note: "now" });
    switch (turn.text) {
      case "approve":
        return String(await turn.approve({ prompt: "Book it?", detail: { city: "Oslo", dates: ["1 May", "3 May"] } }));
      case "choose":
        return turn.ask({ prompt: "Which?", choices: ["This", "That"] });
      case "connect":
        return String(
          await turn.connect({
            prompt: "Connect.",
            provider: "rail",
            url: "https://rail.example",
            verify: () => false,
          }),
        );
      case "form":
        return JSON.stringify(await turn.ask({ prompt: "Which trip?", schema: SCHEMA }));
      case "lose":
        return turn.effect("pay", () => {
          throw new OutcomeUnknown("lost");
        });
      case "fail":
        throw new Error("no");
    }
    turn.usage({ costUsd: 0.5, tokens: 10 });
    return "Booked.";
  },
});

describe("the dashboard", { timeout: 200_000 }, () => {
  const resources = new AsyncDisposableStack();
  resources.defer(() => browser.close());
  let dashboard: Dashboard;
  let keys: Keys;
  const tasks = new Map<string, { readonly id: string; readonly contextId: string }>();

  before(async () => {
    dashboard = resources.use(await Dashboard.serve({ agents: [agent] }));
    const subject = await dashboard.subjectKey("ada");
    keys = { subject, operator: await dashboard.operatorKey() };
    const client = await dashboard.client("travel", subject);
    for (const text of ["approve", "choose", "connect", "form", "lose", "fail", "book"]) {
      const task = await client.send(text, { contextId: `context-${text}` });
      for await (const now of task.updates()) if (now.waiting || now.uncertain !== undefined) break;
      tasks.set(text, { id: task.id!, contextId: task.contextId! });
    }
    await fetch(`${dashboard.runtime.url}/v1/progress`, {
      method: "POST",
      headers: { authorization: `Bearer ${subject}`, "content-type": "application/json" },
      body: JSON.stringify({
        task_id: "claude:docs",
        percent: 42,
        stage: "Reading",
        status: "running",
        message: "3 of 7",
      }),
    });
  });
  after(() => resources.disposeAsync());

  const views = () => [
    "#/",
    ...[...tasks.values()].map(({ id }) => `#/tasks/travel/${id}`),
    `#/contexts/travel/${tasks.get("form")!.contextId}`,
    "#/contexts/travel/none",
    "#/agents/travel",
    "#/history",
    "#/operator",
    "#/reports/claude%3Adocs",
    "#/reports/nobody%3Anothing",
    "#/tasks/travel/nothing",
  ];

  test("has nothing that axe finds wrong, in any view, light or dark, and none is wider than 360 pixels", async () => {
    for (const [colorScheme, width] of [
      ["light", 1180],
      ["dark", 360],
    ] as const) {
      await using person = await dashboard.open(browser, keys, { colorScheme, viewport: { width, height: 800 } });
      for (const view of views()) {
        await person.go(view);
        await person.page.waitForFunction(() => document.querySelector("main .loading") === null);
        assert.deepEqual(await axeFindings(person.page), [], `${view}, ${colorScheme}`);
        const wide = await person.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${view} is ${wide} pixels wider than ${width}`);
      }
      await person.page.locator(".who summary").click();
      assert.deepEqual(await axeFindings(person.page), [], `the menu, ${colorScheme}`);
      await person.press("Sign out");
      await person.page.getByRole("heading", { name: "Sign in" }).waitFor();
      assert.deepEqual(await axeFindings(person.page), [], `signed out, ${colorScheme}`);
    }
  });

  test("is used by the keyboard alone, and says where one has come to", async () => {
    await using person = await dashboard.open(browser, keys);
    const { page } = person;
    const focused = () =>
      page.evaluate(() => {
        const { activeElement: at } = document;
        return (
          at?.getAttribute("aria-label") ?? (at as HTMLElement | null)?.innerText.replaceAll(/\s+/g, " ").trim() ?? ""
        );
      });
    const tabTo = async (what: RegExp, back = false) => {
      for (let presses = 0; presses < 60; presses++) {
        await page.keyboard.press(back ? "Shift+Tab" : "Tab");
        if (what.test(await focused())) return;
      }
      assert.fail(`${what} is not reached; the last was ${await focused()}`);
    };
    await page.keyboard.press("Tab");
    assert.equal(await focused(), "Skip to the content");
    await page.keyboard.press("Enter");
    await tabTo(/Book it\?/);
    await page.keyboard.press("Enter");
    await page.locator("ask-form").waitFor();
    assert.equal(await focused(), "approve", "the heading of the view that one came to");
    await tabTo(/^Approve$/);
    await page.locator("ask-form button[aria-disabled=false]", { hasText: "Approve" }).waitFor();
    await page.keyboard.press("Space");
    await page.locator(".outcome", { hasText: "true" }).waitFor();

    await page.waitForFunction(() => document.activeElement?.tagName === "H1");

    await person.go(`#/tasks/travel/${tasks.get("form")!.id}`);
    await page.locator("ask-form button[aria-disabled=false]").waitFor();
    await tabTo(/^Cancel task$/);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => (document.activeElement as HTMLElement).innerText === "Cancel it");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => (document.activeElement as HTMLElement).innerText === "Cancel task");
    await page.locator(".who summary").focus();
    await page.keyboard.press("Enter");
    await page.locator(".who[open]").waitFor();
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".who[open]").count(), 0);
    assert.equal(await focused(), "ada");
    await page.getByLabel("City").focus();
    await page.keyboard.type("Oslo");
    await page.keyboard.press("Tab");
    await page.keyboard.type("2");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Space");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Space");
    await tabTo(/^Answer$/);
    await page.keyboard.press("Enter");
    await page.locator(".outcome").waitFor();
    assert.deepEqual(JSON.parse(await page.locator(".outcome .text").innerText()), {
      city: "Oslo",
      nights: 2,
      train: "First",
      meals: ["Breakfast"],
      quiet: false,
    });
  });

  test(`fetches less than ${BUDGET / 1000} kB, compressed, for its first view`, async () => {
    const context = await browser.newContext({ locale: "en-US" });
    resources.defer(() => context.close());
    const page = await context.newPage();
    const bodies: Promise<number>[] = [];
    const paths: string[] = [];
    page.on("response", (response) => {
      const { pathname } = new URL(response.url());
      if (!pathname.startsWith("/dashboard/") || pathname.endsWith("/session")) return;
      paths.push(pathname);
      bodies.push(response.body().then((body) => gzipSync(body).length));
    });
    await page.goto(dashboard.runtime.dashboardLink(keys));
    // With everything that its rows are made of.
    await page.locator(".waiting .card", { hasText: "Which?" }).waitFor();
    const total = (await Promise.all(bodies)).reduce((sum, size) => sum + size, 0);
    assert.ok(paths.some((path) => path.endsWith(".js")) && paths.some((path) => path.endsWith(".css")), paths.join());
    assert.ok(total > 20_000 && total < BUDGET, `${total} bytes: ${paths.join()}`);
  });
});
