/**
 * Takes pictures of the dashboard: `node test/browser/dashboard-screenshots.ts` those of the documentation, into docs/images; with a FOLDER
 * every view there, light and dark, wide and narrow, to look at. They are made by hand, when the look has changed.
 */
import { mkdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";

import { defineAgent, OutcomeUnknown } from "@nylorun/agents";
import type { AgentDefinition } from "@nylorun/agents";

import { launchChromium } from "./chromium.ts";
import { Dashboard } from "./dashboard.ts";
import type { Person } from "./dashboard.ts";

function makeAgent(id: string, name: string, rest: Pick<AgentDefinition, "description" | "run"> & { example: string }) {
  const { example, ...definition } = rest;
  const skill = { id, name, description: definition.description, tags: ["example"], examples: [example] };
  return defineAgent({ id, name, version: "1.2.0", skills: [skill], ...definition });
}

const agents = [
  makeAgent("refunds", "Refunds", {
    description: "Pays an order back after a person has approved it.",
    example: "Refund order 1001",
    async run(turn) {
      const plan = turn.plan(["Find the order", "Ask for approval", "Refund", "Send the receipt"]);
      plan.start(0);
      await turn.effect("find order", () => delay(20), { idempotent: true });
      plan.start(1, { note: "42.00 EUR" });
      const approved = await turn.approve({
        prompt: "Refund 42.00 EUR to Ada Lovelace?",
        detail: {
          action: "refund",
          order: "1001",
          amount: 42,
          currency: "EUR",
          to: "DE89 3704 0044 0532 0130 00",
          reason: "The parcel arrived damaged, and the customer sent two pictures of it.",
        },
      });
      if (!approved) return "Not refunded.";
      plan.start(2);
      await turn.effect("refund", () => {
        if (turn.text.includes("1007")) throw new OutcomeUnknown("the bank did not answer");
      });
      turn.usage({ tokens: 1_240, costUsd: 0.0042 });
      plan.start(3);
      await turn.file("receipts/R-20418.json", '{"receipt": "R-20418", "amount": 42, "currency": "EUR"}', {
        mediaType: "application/json",
      });
      return "Refunded 42.00 EUR to Ada Lovelace. The receipt is R-20418.";
    },
  }),
  makeAgent("research", "Research", {
    description: "Reads what has been published on a question, and writes it up with its sources.",
    example: "What is known about sleep and memory?",
    async run(turn) {
      const plan = turn.plan(["Search", "Read 31 sources", "Write", "Check the citations"]);
      plan.start(0);
      plan.start(1, { note: "12 of 31" });
      turn.say("Reading: Walker & Stickgold, Annual Review of Psychology 57.");
      if (turn.text.includes("quick")) {
        turn.usage({ tokens: 18_400, costUsd: Number(/\d+/.exec(turn.text)?.[0] ?? 3) / 100 });
        return "Three meta-analyses agree.";
      }
      turn.progress({
        percent: Number(/(\d+) %/.exec(turn.text)?.[1] ?? 38),
        stage: "Reading 12 of 31 sources",
        etaSeconds: 140,
      });
      await delay(3_600_000, undefined, { signal: turn.signal, ref: false });
      return "";
    },
  }),
  makeAgent("meetings", "Meetings", {
    description: "Finds a time for a meeting in your calendar, and books it.",
    example: "Meet Grace",
    async run(turn) {
      const plan = turn.plan(["Connect the calendar", "Choose a time", "Book"]);
      plan.start(0);
      if (turn.text.includes("Edsger")) {
        await turn.connect({
          prompt: "Connect your calendar, so that I can see when you are free.",
          provider: "example-calendar",
          url: "https://calendar.example.com/connect?state=8f2a",
          verify: () => false,
        });
      }
      plan.start(1);
      const slot = await turn.ask({
        prompt: "When do you want to meet Grace Hopper?",
        choices: ["Tue 09:00", "Tue 14:30", "Wed 11:00", "Thu 16:00"],
      });
      plan.start(2);
      return `You meet Grace at ${slot}.`;
    },
  }),
  makeAgent("travel", "Travel desk", {
    description: "Books trains and rooms within what the company allows.",
    example: "Two nights in Oslo in March",
    async run(turn) {
      const trip = await turn.ask({
        prompt: "Which trip?",
        schema: {
          type: "object",
          required: ["city", "nights", "class"],
          properties: {
            city: { type: "string", title: "City" },
            nights: { type: "integer", title: "Nights", minimum: 1, maximum: 14 },
            class: { enum: ["Second class", "First class"], title: "Train" },
            breakfast: { type: "boolean", title: "With breakfast" },
            notes: { type: "string", title: "Anything else", maxLength: 1000, description: "The hotel reads it." },
          },
        },
      });
      return { booked: trip };
    },
  }),
];

interface Look {
  readonly name: string;
  readonly width: number;
  readonly height: number;
  readonly colorScheme: "light" | "dark";
}

const LOOKS: readonly Look[] = [
  { name: "light", width: 1180, height: 860, colorScheme: "light" },
  { name: "dark", width: 1180, height: 860, colorScheme: "dark" },
  { name: "narrow-light", width: 360, height: 780, colorScheme: "light" },
  { name: "narrow-dark", width: 360, height: 780, colorScheme: "dark" },
];

async function fill(dashboard: Dashboard, key: string) {
  const send = async (agent: string, text: string, contextId?: string) =>
    (await dashboard.client(agent, key)).send(text, contextId === undefined ? {} : { contextId });
  for (const cents of [12, 31, 8, 22]) await (await send("research", `A quick look, ${cents} cents`)).done();
  const lost = await send("refunds", "Refund order 1007");
  for await (const now of lost.updates()) {
    if (now.interaction !== undefined) await lost.approve(true);
    if (now.uncertain !== undefined) break;
  }
  const done = await send("refunds", "Refund order 1003: the lamp never worked");
  for await (const now of done.updates()) if (now.interaction !== undefined) await done.approve(true);
  const approval = await send("refunds", "Refund order 1001, the parcel arrived damaged");
  const connection = await send("meetings", "Meet Edsger next week");
  const question = await send("meetings", "Meet Grace next week");
  const form = await send("travel", "Two nights in Oslo in March");
  const running = await send("research", "What is known about sleep and memory?", "sleep-and-memory");
  await send("research", "And in children?", "sleep-and-memory");
  await send("research", "Batteries that charge in ten minutes, 72 %");
  await send("research", "The history of the semicolon, 15 %");
  const report = (body: object) =>
    fetch(`${dashboard.runtime.url}/v1/progress`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  await report({
    task_id: "claude:migrate-tests",
    agent: "claude",
    percent: 42,
    eta_seconds: 260,
    stage: "Rewriting fixtures",
    status: "running",
    message: "section 3 of 7",
  });
  await report({
    task_id: "claude:changelog",
    agent: "claude",
    percent: 88,
    eta_seconds: null,
    stage: "Proof-reading",
    status: "running",
    message: "docs/CHANGELOG.md",
  });
  await report({
    task_id: "codex:build",
    agent: "codex",
    percent: 58,
    eta_seconds: null,
    stage: "Compiling 214 modules",
    status: "running",
    message: "crate 57",
  });
  await report({
    task_id: "crawler:docs",
    agent: "crawler",
    percent: 64,
    eta_seconds: null,
    stage: "Saving",
    status: "error",
    message: "The database did not answer",
  });
  const settled = async (task: { refresh(): Promise<{ waiting: boolean }> }) => {
    for (let turns = 0; turns < 200 && !(await task.refresh()).waiting; turns++) await delay(25);
  };
  for (const task of [approval, connection, question, form]) await settled(task);
  await delay(500);
  return { approval, connection, question, form, running, done, lost };
}

/** A month in which agents were used: as if their tasks had ended then. */
function fillMonth(home: string): void {
  using database = new DatabaseSync(join(home, "nylorun.db"), { timeout: 5_000 });
  const add = database.prepare(`INSERT INTO usage SELECT subject, ?, ?, ?, ?, ? FROM subjects WHERE name = 'ada'`);
  const today = Math.floor(Date.now() / 86_400_000);
  const usual = { research: 0.62, travel: 0.21, meetings: 0.09, refunds: 0.05 };
  for (let ago = 1; ago < 30; ago++) {
    const isWeekend = [0, 6].includes(new Date((today - ago) * 86_400_000).getUTCDay());
    for (const [at, [agent, cost]] of Object.entries(usual).entries()) {
      const share = (isWeekend ? 0.15 : 1) * (0.55 + 0.45 * Math.sin(ago * (at + 1.7)) ** 2);
      add.run(today - ago, agent, Math.ceil(12 * share), Math.round(90_000 * cost * share), cost * share);
    }
  }
}

const [given, wanted] = process.argv.slice(2);
const folder = resolve(given ?? join(import.meta.dirname, "../../docs/images"));
/** What the documentation shows. */
const SHOWN = new Set(["now", "approval", "history"]);
mkdirSync(folder, { recursive: true });
await using browser = await launchChromium();
await using dashboard = await Dashboard.serve({ agents });
const subject = await dashboard.subjectKey("ada");
const operator = await dashboard.operatorKey();
const tasks = await fill(dashboard, subject);
fillMonth(dashboard.runtime.home);

const at = (agent: string, { id }: { readonly id: string | undefined }) => `#/tasks/${agent}/${id}`;
const VIEWS: readonly (readonly [name: string, hash: string, ready?: (person: Person) => Promise<void>])[] = [
  ["now", "#/"],
  ["approval", at("refunds", tasks.approval)],
  ["connection", at("meetings", tasks.connection)],
  ["question", at("meetings", tasks.question)],
  ["form", at("travel", tasks.form)],
  ["running", at("research", tasks.running)],
  ["done", at("refunds", tasks.done)],
  ["uncertain", at("refunds", tasks.lost)],
  ["context", "#/contexts/research/sleep-and-memory"],
  ["agent", "#/agents/refunds"],
  ["history", "#/history"],
  ["operator", "#/operator"],
  ["report", "#/reports/claude%3Amigrate-tests"],
];

for (const { name, width, height, colorScheme } of LOOKS) {
  const isNarrow = width < 500;
  if (given === undefined && isNarrow && colorScheme === "light") continue;
  await using person = await dashboard.open(
    browser,
    { subject, operator },
    { viewport: { width, height }, colorScheme, deviceScaleFactor: isNarrow ? 2 : 1.5 },
  );
  for (const [view, hash] of VIEWS) {
    const isShown = isNarrow ? view === "approval" : SHOWN.has(view);
    if (given === undefined ? !isShown : wanted !== undefined && !wanted.split(",").includes(view)) continue;
    await person.go(hash);
    await delay(1_500);
    if (given === undefined) await writeFile(join(folder, `dashboard-${view}-${name}.webp`), await small(person));
    else await person.page.screenshot({ path: join(folder, `${view}-${name}.png`), fullPage: view !== "now" });
  }
}

/** A quarter of what a PNG takes. */
async function small(person: Person): Promise<Buffer> {
  const session = await person.context.newCDPSession(person.page);
  const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: 84 });
  await session.detach();
  return Buffer.from(data, "base64");
}
