import assert from "node:assert/strict";
import { after, test } from "node:test";

import type { ProgressEvent } from "@nylorun/protocol";

import { accessibilityTree, axeFindings } from "./accessibility.ts";
import { Bar, event } from "./bar.ts";
import { launchChromium } from "./chromium.ts";

// As if a screen reader were there: the tree is then kept for what is out of sight as well.
const browser = await launchChromium({ args: ["--force-renderer-accessibility"] });
after(async () => await browser.close());

const ID = "claude:summarize-report";

/** The tree of each state, the heading of the page left out. */
const TREES: readonly (readonly [name: string, fields: Partial<ProgressEvent>, tree: string])[] = [
  [
    "started",
    { status: "started", percent: 0, stage: "", eta_seconds: null },
    `StaticText "Starting"
alert [assertive]
progressbar "${ID}" = 0 (Starting, 0%, estimating…)
StaticText "claude · reading section 3 of 7"
status [polite]`,
  ],
  [
    "running",
    {},
    `StaticText "Reasoning"
alert [assertive]
progressbar "${ID}" = 42 (Reasoning, 42%, 30 seconds left)
StaticText "claude · reading section 3 of 7"
status [polite]`,
  ],
  [
    "running, nothing known",
    { percent: NaN, eta_seconds: null },
    `StaticText "Reasoning"
alert [assertive]
progressbar "${ID}" (Reasoning, estimating…)
StaticText "claude · reading section 3 of 7"
status [polite]`,
  ],
  [
    "paused",
    { status: "paused" },
    `StaticText "Paused — Reasoning"
alert [assertive]
progressbar "${ID}" = 42 (Paused — Reasoning, 42%, paused)
StaticText "claude · reading section 3 of 7"
status [polite]`,
  ],
  [
    "done",
    { status: "done" },
    `StaticText "Reasoning"
alert [assertive]
progressbar "${ID}" = 100 (Reasoning, 100%, done)
StaticText "claude · reading section 3 of 7"
status [polite]`,
  ],
  [
    "error",
    { status: "error", message: "The disk is full" },
    `alert [assertive]
  StaticText "${ID}:"
  StaticText "The disk is full"
progressbar "${ID}" = 42 (The disk is full, 42%, failed)
StaticText "claude · Reasoning"
status [polite]`,
  ],
];

test("assistive technology gets the same of each state, whichever way it is drawn", async () => {
  for (const [name, fields, tree] of TREES) {
    for (const forcedColors of ["none", "active"] as const) {
      await using bar = await Bar.open(browser, { forcedColors });
      await bar.show(event(fields));
      const lines = await accessibilityTree(bar.page);
      const [, ...rest] = lines.split('heading "Bar"\n    StaticText "Bar"\n');
      assert.equal(rest.join("").replaceAll(/^ {2}/gm, ""), tree, name);
    }
  }
});

test("axe finds nothing in any state, size, scheme or direction", async () => {
  for (const colorScheme of ["light", "dark"] as const) {
    for (const [size, dir] of [
      ["full", "ltr"],
      ["compact", "rtl"],
    ] as const) {
      await using bar = await Bar.open(browser, { colorScheme, dir, attributes: { size } });
      for (const [name, fields] of TREES) {
        await bar.show(event({ task_id: `test:${name.replaceAll(/\W+/g, "-")}`, ...fields }));
        await bar.seen();
        assert.deepEqual(await axeFindings(bar.page), [], `${name}, ${size}, ${colorScheme}`);
      }
    }
  }
});

// keeps: progress-widget-screen-readers
test("P6: hundreds of updates are a few words, in regions that were already there", async () => {
  await using bar = await Bar.open(browser);
  await bar.page.clock.install();
  await bar.show(event({ status: "started", percent: 0 }));
  const said = await bar.listen();
  // A minute: ten updates a second, one quarter every 15 seconds.
  for (let tenth = 1; tenth < 600; tenth += 1) {
    await bar.page.evaluate(
      (one) => {
        document.querySelector("agent-progress")!.event = one;
      },
      event({ percent: tenth / 6, eta_seconds: 60 - tenth / 10 }),
    );
    await bar.page.clock.runFor(100);
  }
  await bar.page.evaluate(
    (one) => {
      document.querySelector("agent-progress")!.event = one;
    },
    event({ status: "done", percent: 100 }),
  );
  assert.deepEqual(await said(), [
    `polite: ${ID}: Reasoning, 25%, 45 seconds left`,
    `polite: ${ID}: Reasoning, 50%, 30 seconds left`,
    `polite: ${ID}: Reasoning, 75%, 15 seconds left`,
    `polite: ${ID}: Reasoning, 100%, done`,
  ]);
});

test("P6: quarters that follow each other fast are not all told, but the end is", async () => {
  await using bar = await Bar.open(browser);
  await bar.page.clock.install();
  await bar.show(event({ status: "started", percent: 0 }));
  const said = await bar.listen();
  for (const percent of [25, 50, 75]) {
    await bar.show(event({ percent }));
    await bar.page.clock.runFor(1000);
  }
  await bar.show(event({ status: "done" }));
  assert.deepEqual(await said(), [
    `polite: ${ID}: Reasoning, 25%, 30 seconds left`,
    `polite: ${ID}: Reasoning, 100%, done`,
  ]);
});

test("pauses and their end are told politely", async () => {
  await using bar = await Bar.open(browser);
  await bar.show(event({ percent: 10 }));
  const said = await bar.listen();
  await bar.show(event({ status: "paused", percent: 10 }));
  await bar.show(event({ status: "paused", percent: 11 }));
  await bar.show(event({ percent: 12 }));
  await bar.show(event({ percent: 13 }));
  assert.deepEqual(await said(), [
    `polite: ${ID}: Paused — Reasoning, 10%, paused`,
    `polite: ${ID}: Resumed, Reasoning, 12%, 30 seconds left`,
  ]);
});

test("each error is told once, assertively, and again when a retry ends with the same one", async () => {
  await using bar = await Bar.open(browser);
  await bar.show(event());
  const said = await bar.listen();
  const failed = event({ status: "error", message: "The disk is full" });
  await bar.show(failed);
  await bar.show(failed);
  await bar.show(event({ status: "done" }));
  assert.deepEqual(await said(), [`assertive: ${ID}: The disk is full`]);
  await bar.show(event({ status: "started", percent: 0, eta_seconds: null }));
  await bar.show(failed);
  assert.deepEqual(await said(), [`polite: ${ID}: Reasoning, 0%, estimating…`, `assertive: ${ID}: The disk is full`]);
});

test("what is there from the beginning interrupts nobody", async () => {
  await using bar = await Bar.open(browser);
  const said = await bar.listen();
  await bar.show(event({ status: "paused" }));
  await bar.show(event({ task_id: "claude:other", percent: 80 }));
  assert.deepEqual(await said(), []);
});

test("a quiet bar says nothing but errors", async () => {
  await using bar = await Bar.open(browser, { attributes: { quiet: "" } });
  await bar.show(event({ percent: 10 }));
  const said = await bar.listen();
  await bar.show(event({ percent: 60 }));
  await bar.show(event({ status: "paused" }));
  await bar.show(event({ status: "error", message: "No connection" }));
  assert.deepEqual(await said(), [`assertive: ${ID}: No connection`]);
});

test("a bar out of sight is there for assistive technology, and speaks", async () => {
  await using bar = await Bar.open(browser);
  await bar.page.evaluate(() => {
    document.querySelector("h1")!.style.marginBlockEnd = "5000px";
  });
  await bar.show(event());
  await bar.show(event({ percent: 50 }));
  await bar.show(event({ status: "error", message: "The disk is full", percent: 51 }));
  const tree = await accessibilityTree(bar.page);
  assert.match(tree, /progressbar "claude:summarize-report" = 51 \(The disk is full, 51%, failed\)/);
  assert.match(tree, /alert \[assertive\]\n.*\n.*StaticText "The disk is full"/);
});

test("without a label or a task id the bar still has a name", async () => {
  await using bar = await Bar.open(browser);
  assert.equal(await bar.bar("aria-label"), "Progress");
  await bar.show(event());
  assert.equal(await bar.bar("aria-label"), ID);
  await bar.page.evaluate(() => document.querySelector("agent-progress")!.setAttribute("label", "Weekly report"));
  assert.equal(await bar.bar("aria-label"), "Weekly report");
});
