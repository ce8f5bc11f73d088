/** What people do in the dashboard, from a message to its end, with the page loaded again and the Runtime started again in the middle. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";

import { defineAgent, OutcomeUnknown } from "@nylorun/agents";
import type { Agent } from "@nylorun/agents";

import { meetings } from "../../examples/agents/meetings.ts";
import { Calendars } from "../../examples/agents/meetings/calendars.ts";
import { refunds } from "../../examples/agents/refunds.ts";
import { Shop } from "../../examples/agents/refunds/shop.ts";
import { Receiver } from "../e2e/receiver.ts";
import { launchChromium } from "./chromium.ts";
import { Dashboard } from "./dashboard.ts";
import type { Keys, Person } from "./dashboard.ts";

const browser = await launchChromium();
const world = mkdtempSync(join(tmpdir(), "nylorun-world-"));
const shop = new Shop(world);
const calendars = new Calendars(world);

/** As the example refunds, and hands out the receipt. */
const orders = defineAgent({
  id: "orders",
  name: "Orders",
  description: "Pays an order back after a person has approved it.",
  version: "1.0.0",
  skills: [{ id: "refund", name: "Refund", description: "Pays an order back.", tags: ["orders"] }],
  async run(turn) {
    const id = turn.text.slice(-4);
    const plan = turn.plan(["Find the order", "Ask for approval", "Refund"]);
    plan.start("Find the order");
    const order = await turn.effect("find order", () => shop.order(id), { idempotent: true });
    plan.start("Ask for approval");
    const amount = `${((order?.cents ?? 0) / 100).toFixed(2)} ${order?.currency}`;
    const detail = { order: id, amount };
    if (!(await turn.approve({ prompt: `Refund ${amount} to ${order?.customer}?`, detail }))) return "Not refunded.";
    plan.start("Refund");
    const receipt = await turn.effect("refund", () => shop.refund(id));
    turn.usage({ costUsd: receipt.feeUsd, tokens: 1_240 });
    await turn.file("receipts/receipt.json", JSON.stringify(receipt), { mediaType: "application/json" });
    return `Refunded ${amount} to ${order?.customer}.`;
  },
});

/** Pays, and does not know whether it has. */
const payer = defineAgent({
  id: "payer",
  name: "Payer",
  description: "Pays.",
  version: "1.0.0",
  skills: [{ id: "pay", name: "Pay", description: "Pays.", tags: ["money"] }],
  async run(turn) {
    const receipt = await turn.effect("pay", (): { number: number } => {
      throw new OutcomeUnknown("the bank did not answer");
    });
    return `Paid with receipt ${receipt.number}.`;
  },
});

describe("the dashboard", { timeout: 200_000 }, () => {
  const resources = new AsyncDisposableStack();
  resources.defer(() => browser.close());
  resources.defer(() => rmSync(world, { recursive: true }));
  resources.defer(() => {
    shop.close();
    calendars.close();
  });
  let dashboard: Dashboard;
  let ada: Keys;
  let operator: Keys;

  before(async () => {
    const agents = [orders, refunds(shop), meetings(calendars), payer];
    const pushSecret = [`whsec_${randomBytes(24).toString("base64")}`];
    dashboard = resources.use(await Dashboard.serve({ agents, pushSecret, pushHosts: ["http://127.0.0.1:*"] }));
    ada = { subject: await dashboard.subjectKey("ada") };
    operator = { operator: await dashboard.operatorKey() };
  });
  after(() => resources.disposeAsync());

  /** Sends a first message to an agent, and is on its task's page. */
  async function ask(person: Person, agent: string, text: string): Promise<void> {
    await person.go(`#/agents/${agent}`);
    await person.page.getByLabel("New task").fill(text);
    await person.press("Send");
    await person.page.locator("h1", { hasText: text }).waitFor();
  }

  test("takes a refund from a message to its receipt, through a plan, an approval, a file and its cost, over a reload and a restart", async () => {
    await using person = await dashboard.open(browser, ada);
    await ask(person, "orders", "Refund order 1001");
    await person.sees("Refund 42.00 EUR to Ada?");
    const form = person.page.locator("ask-form");
    assert.match(await form.innerText(), /order\s+1001\s+amount\s+42\.00 EUR/);
    await person.page.locator(".plan li[data-state=active]", { hasText: "Ask for approval" }).waitFor();

    await person.go("#/");
    await person.page.locator(".waiting .card", { hasText: "Refund 42.00 EUR to Ada?" }).waitFor();
    await person.reload();
    await person.page.locator(".waiting .card", { hasText: "Refund 42.00 EUR to Ada?" }).click();
    await person.sitsOutRestart();
    await person.sees("Refund 42.00 EUR to Ada?");
    assert.equal(shop.refunds("1001").length, 0);

    await person.press("Approve");
    await person.page.locator(".outcome", { hasText: "Refunded 42.00 EUR to Ada." }).waitFor();
    assert.equal(shop.refunds("1001").length, 1);
    const file = person.page.locator(".file", { hasText: "receipt.json" });
    assert.match(await file.innerText(), /application\/json · \d+ B · version 1\s+SHA-256\s+[0-9a-f]{64}/);
    const downloading = person.page.waitForEvent("download");
    await file.getByRole("button").click();
    const download = await downloading;
    assert.equal(download.suggestedFilename(), "receipt.json");
    const [{ id } = { id: 0 }] = shop.refunds("1001");
    assert.equal((JSON.parse(readFileSync(await download.path(), "utf8")) as { id: number }).id, id);
    await file.getByText("Size and SHA-256 verified.").waitFor();
    const facts = await person.page.locator(".facts").innerText();
    assert.match(facts, /Cost\s+\$0\.25/);
    assert.match(facts, /Trace\s+[0-9a-f]{32}/);
    assert.equal(await person.page.locator("ask-form").count(), 0);
    assert.equal(await person.page.locator(".plan li[data-state=done]").count(), 3);

    await person.go("#/history");
    await person.page.locator(".tasks tr", { hasText: "Refund order 1001" }).getByText("$0.25").waitFor();
    await person.page.locator(".sums", { hasText: "$0.25" }).waitFor();
    await person.page.locator(".chart canvas").waitFor();
  });

  test("does nothing when an approval is denied, with the page loaded and the Runtime started again in between", async () => {
    await using person = await dashboard.open(browser, ada);
    await ask(person, "refunds", "Refund order 1003");
    await person.sees("Refund 120.50 EUR to Edsger?");
    await person.reload();
    await person.sees("Refund 120.50 EUR to Edsger?");
    await person.sitsOutRestart();
    await person.press("Deny");
    await person.page.locator(".outcome", { hasText: "Not refunded." }).waitFor();
    assert.equal(shop.refunds("1003").length, 0);
  });

  test("approves nothing by a press that was meant for something else", async () => {
    await using person = await dashboard.open(browser, ada);
    await ask(person, "refunds", "Refund order 1002");
    // In the very moment in which the buttons appear, by a hand that was on its way.
    const pressed = await person.page.evaluate(async () => {
      for (let frame = 0; frame < 2_000; frame++) {
        const button = [...document.querySelectorAll<HTMLElement>("ask-form button")].find(
          ({ innerText }) => innerText === "Approve",
        );
        if (button !== undefined) {
          button.click();
          return button.getAttribute("aria-disabled");
        }
        await new Promise(requestAnimationFrame);
      }
      return "there was no button";
    });
    // The page may have been slow: then this was no such press.
    if (pressed === "true") assert.equal(shop.refunds("1002").length, 0);
    await person.sees("Refund 19.99 USD to Grace?");
    assert.notEqual(await person.page.evaluate(() => document.activeElement?.tagName), "BUTTON");
    await person.press("Cancel task");
    await person.press("Cancel it");
    await person.page.locator(".view-head .chip", { hasText: "Canceled" }).waitFor();
    assert.equal(shop.refunds("1002").length, 0);
  });

  test("connects a calendar and chooses a time, with the page loaded and the Runtime started again in between", async () => {
    await using person = await dashboard.open(browser, ada);
    await ask(person, "meetings", "Meet Grace");
    await person.sees("Connect your calendar");
    await person.reload();
    await person.sees("Connect your calendar");
    calendars.connect("ada");
    await person.press("I have connected it");
    await person.sees("When do you want to meet Grace?");
    await person.sitsOutRestart();
    await person.sees("When do you want to meet Grace?");
    // An answer is wanted before it is sent.
    const choice = person.page.locator("ask-form .choice").first();
    const slot = await choice.innerText();
    await choice.click();
    await person.press("Answer");
    await person.page.locator(".outcome", { hasText: `You meet Grace at ${slot}.` }).waitFor();
    assert.deepEqual(
      calendars.meetings("ada").map((meeting) => [meeting.slot, meeting.guest]),
      [[slot, "Grace"]],
    );
  });

  test("lets an operator say what became of a lost step, and its caller sees the end", async () => {
    await using person = await dashboard.open(browser, ada);
    await ask(person, "payer", "Pay");
    await person.sees("What became of a step is not known");
    await using other = await dashboard.open(browser, operator);
    assert.doesNotMatch(await other.text(), /History.*New task/);
    await other.go("#/operator");
    await other.sees("it could not tell itself");
    await other.reload();
    await other.page.getByText("It happened", { exact: true }).click();
    await other.page.getByLabel("What it returned").fill("{number: 7}");
    await other.press("It happened: go on");
    await other.sees("The value must be JSON");
    await person.sitsOutRestart();
    await other.page.locator(".state[data-live=true]").waitFor();
    await other.page.getByLabel("What it returned").fill('{"number": 7}');
    await other.press("It happened: go on");
    await other.sees("“pay” is resolved.");
    await other.sees("Every outcome is known");
    await person.page.locator(".outcome", { hasText: "Paid with receipt 7." }).waitFor();
  });

  test("goes on with a conversation: what runs, what waits in line, and what is written next", async () => {
    await using person = await dashboard.open(browser, ada);
    await ask(person, "refunds", "Refund order 1002 please");
    await person.sees("Refund 19.99 USD to Grace?");
    await person.page.getByRole("link", { name: "Open, or write more" }).click();
    await person.page.locator(".turn", { hasText: "Refund order 1002 please" }).waitFor();
    await person.page.getByLabel("Next message").fill("And order 9999");
    await person.press("Send");
    await person.page.locator(".turn", { hasText: "And order 9999" }).getByText("Queued").waitFor();
    await person.sees("2 turns · 1 in line");
    await using other = await dashboard.open(browser, operator);
    await other.go("#/operator");
    const queue = other.page.locator(".card", { hasText: "refunds · ada · 1 message waits for task" });
    await queue.getByText("Needs its caller").waitFor();
    await person.page.getByRole("link", { name: "Refund order 1002 please" }).click();
    await person.sees("Refund 19.99 USD to Grace?");
    await person.press("Deny");
    await person.page.locator(".outcome").waitFor();
    await other.reload();
    await other.sees("No message waits.");
    await person.page.getByRole("link", { name: "Open, or write more" }).click();
    await person.page.locator(".turn", { hasText: "And order 9999" }).getByText("There is no order 9999.").waitFor();
  });

  test("lets an operator send again what a webhook did not get, over a restart, and it arrives", async () => {
    const down = await Receiver.start();
    const url = down.url("hook");
    await down[Symbol.asyncDispose]();
    const caller = await dashboard.client("payer", ada.subject ?? "");
    await caller.send("Pay", { push: { url: `${url}?token=hidden` } });
    await using person = await dashboard.open(browser, operator);
    await person.go("#/operator");
    const delivery = person.page.locator(".delivery", { hasText: url });
    await delivery.getByText("Waiting").first().waitFor();
    assert.doesNotMatch(await person.text(), /hidden/);
    await person.sitsOutRestart((home) => {
      // A day later, so to say.
      using database = new DatabaseSync(join(home, "nylorun.db"));
      database.exec("UPDATE outbox SET given_up_at = created_at; UPDATE push_configs SET due_at = NULL");
    });
    await person.reload();
    await delivery.getByText("Given up").first().waitFor();
    await using up = await Receiver.start(down.port);
    await delivery.getByRole("button", { name: "Send it again" }).first().click();
    await person.sees("It is being sent again.");
    await up.until("hook", ({ length }) => length > 0);
  });

  test("lets an operator end a turn that does not fit its code any more", async () => {
    const changed = (name: string): Agent =>
      defineAgent({
        ...payer,
        async run(turn) {
          await turn.effect(name, () => 1, { idempotent: true });
          return turn.ask({ prompt: "Go on?" });
        },
      });
    const first = resources.use(await Dashboard.serve({ agents: [changed("one")] }));
    const keys = { subject: await first.subjectKey("ada"), operator: await first.operatorKey() };
    await using person = await first.open(browser, keys);
    await ask(person, "payer", "Hold on");
    await person.sees("Go on?");
    await first.restart(undefined, [changed("another")]);
    // It runs when it is answered, and does not fit.
    await person.page.locator(".state[data-live=true]").waitFor();
    await person.page.getByLabel("Your answer").fill("yes");
    await person.press("Answer");
    await person.go("#/operator");
    await person.sees("journal.diverged");
    await person.press("End it as failed…");
    await person.press("Keep it");
    await person.press("End it as failed…");
    await person.press("End it as failed, for good");
    await person.sees("It has failed.");
    await person.go("#/history");
    await person.page.locator(".tasks tr", { hasText: "Hold on" }).getByText("Failed").waitFor();
  });
});
