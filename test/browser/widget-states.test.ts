import assert from "node:assert/strict";
import { after, test } from "node:test";

import type { ProgressEvent } from "@nylorun/protocol";

import { Bar, event } from "./bar.ts";
import type { Seen } from "./bar.ts";
import { launchChromium } from "./chromium.ts";

const browser = await launchChromium();
after(async () => await browser.close());

/** What the seed's rendering guidance asks for, and what it leaves open, state by state. */
const SEEN: readonly (readonly [name: string, fields: Partial<ProgressEvent>, seen: Partial<Seen>])[] = [
  ["started", { status: "started", percent: 0 }, { stage: "Reasoning", percent: "0%", time: "30 s left", filled: 0 }],
  ["started without a stage", { status: "started", percent: 0, stage: "" }, { stage: "Starting" }],
  ["running", {}, { stage: "Reasoning", alert: "", percent: "42%", time: "30 s left", filled: 42 }],
  ["running without a stage", { stage: "" }, { stage: "Working" }],
  ["running, ETA unknown", { eta_seconds: null }, { percent: "42%", time: "estimating…" }],
  ["paused", { status: "paused" }, { stage: "Paused — Reasoning", percent: "42%", time: "paused", filled: 42 }],
  ["paused without a stage", { status: "paused", stage: "" }, { stage: "Paused" }],
  ["done", { status: "done", percent: 97 }, { stage: "Reasoning", percent: "100%", time: "done", filled: 100 }],
  ["done without a stage", { status: "done", stage: "" }, { stage: "Done" }],
  [
    "error",
    { status: "error", message: "The disk is full" },
    { stage: "", alert: "The disk is full", percent: "42%", note: "claude · Reasoning", time: "failed", filled: 42 },
  ],
  ["error without a message", { status: "error", message: "" }, { stage: "", alert: "Something went wrong" }],
];

// keeps: progress-widget-paused, progress-widget-error, progress-widget-unknown-eta, progress-widget-done
test("each state is drawn as the guidance says", async () => {
  await using bar = await Bar.open(browser);
  for (const [name, fields, expected] of SEEN) {
    await bar.show(event({ task_id: `test:${name.replaceAll(/\W+/g, "-")}`, ...fields }));
    const seen = await bar.seen();
    assert.deepEqual({ ...seen, ...expected }, seen, name);
  }
});

test("states are told apart by shape and words alone", async () => {
  await using bar = await Bar.open(browser);
  const icons = new Set<string>();
  const words = new Set<string>();
  for (const status of ["started", "running", "paused", "done", "error"] as const) {
    await bar.show(event({ task_id: `test:${status}`, status, eta_seconds: status === "started" ? null : 30 }));
    const { icon, time } = await bar.seen();
    icons.add(icon);
    words.add(time);
  }
  assert.equal(icons.size, 5);
  assert.equal(words.size, 5);
});

test("a paused bar has no colour", async () => {
  await using bar = await Bar.open(browser, { background: "white" });
  assert.ok((await saturation(bar, event())) > 0.3);
  assert.ok((await saturation(bar, event({ status: "paused" }))) < 0.02);
});

test("every change of state shows the new one, but after an end only started opens the task again", async () => {
  const statuses = ["started", "running", "paused", "done", "error"] as const;
  await using bar = await Bar.open(browser);
  for (const from of statuses) {
    for (const to of statuses) {
      const task_id = `test:${from}-${to}`;
      await bar.show(event({ task_id, status: from, stage: "before", message: "before" }));
      await bar.show(event({ task_id, status: to, stage: "after", message: "after" }));
      const { stage, alert } = await bar.seen();
      const ended = from === "done" || from === "error";
      const shown = ended && to !== "started" ? "before" : "after";
      assert.match(stage + alert, new RegExp(`${shown}$`), `${from} -> ${to}`);
    }
  }
});

test("P8: a late finish does not cover an error, and a retry takes the error away", async () => {
  await using bar = await Bar.open(browser);
  await bar.show(event({ status: "error", message: "No connection", percent: 30 }));
  await bar.show(event({ status: "done", percent: 100 }));
  assert.deepEqual(pick(await bar.seen()), { alert: "No connection", percent: "30%" });
  await bar.show(event({ status: "started", percent: 0 }));
  assert.deepEqual(pick(await bar.seen()), { alert: "", percent: "0%" });
  await bar.show(event({ status: "done", percent: 100 }));
  assert.deepEqual(pick(await bar.seen()), { alert: "", percent: "100%" });
});

test("P2: percents are clamped and floored: what is not all of it is never shown as all", async () => {
  await using bar = await Bar.open(browser);
  const cases: readonly (readonly [percent: number, text: string, filled: number])[] = [
    [107, "100%", 100],
    [130, "100%", 100],
    [-5, "0%", 0],
    [-0, "0%", 0],
    [0.9, "0%", 1],
    [99.6, "99%", 100],
    [100, "100%", 100],
    [42.999, "42%", 43],
  ];
  for (const [percent, text, filled] of cases) {
    await bar.show(event({ percent }));
    const seen = await bar.seen();
    assert.deepEqual([seen.percent, seen.filled], [text, filled], String(percent));
    assert.equal(await bar.bar("aria-valuenow"), text.slice(0, -1), String(percent));
  }
});

test("P3: the last event is shown, however many came at once or frame by frame", async () => {
  await using bar = await Bar.open(browser);
  await bar.show(
    ...Array.from({ length: 500 }, (_, n) => event({ percent: n / 5, stage: `step ${n}` })),
    event({ percent: 100, stage: "last" }),
  );
  assert.deepEqual([(await bar.seen()).stage, (await bar.seen()).percent], ["last", "100%"]);
  await bar.page.evaluate(async (one) => {
    const element = document.querySelector("agent-progress")!;
    for (let n = 0; n <= 30; n += 1) {
      element.event = { ...one, percent: n, stage: `frame ${n}` };
      await new Promise(requestAnimationFrame);
    }
  }, event());
  assert.deepEqual([(await bar.seen()).stage, (await bar.seen()).percent], ["frame 30", "30%"]);
});

// keeps: progress-widget-screen-readers, progress-widget-unknown-eta
test("P5: no number is drawn or told when none is known", async () => {
  await using bar = await Bar.open(browser);
  for (const percent of [NaN, Infinity, "42" as unknown as number, undefined as unknown as number]) {
    await bar.show(event({ percent: 42 }));
    assert.equal(await bar.bar("aria-valuenow"), "42");
    await bar.show(event({ percent }));
    assert.equal(await bar.bar("aria-valuenow"), null);
    assert.equal((await bar.seen()).percent, "");
    assert.equal(await bar.bar("aria-valuetext"), "Reasoning, 30 seconds left");
  }
});

test("fields of other types or lengths than the contract's do no harm", async () => {
  await using bar = await Bar.open(browser);
  await bar.show(
    event({
      stage: { toString: null },
      message: 7,
      agent: null,
      eta_seconds: "soon",
      status: "unheard-of",
      timestamp: [],
    }),
  );
  const { stage, note, time } = await bar.seen();
  assert.deepEqual([stage, note, time], ["Starting", "", "estimating…"]);
  await bar.show(event({ stage: "s".repeat(500), message: "\u202Eevil\u001B[2J\nnext" }));
  const seen = await bar.seen();
  assert.deepEqual([seen.stage.length, seen.note], [120, "claude · evil next"]);
  assert.deepEqual(bar.complaints, []);
});

test("the bar moves for an event and stands still without one", async () => {
  await using bar = await Bar.open(browser);
  const moving = async () =>
    await bar.page.evaluate(
      () =>
        document
          .querySelector("agent-progress")!
          .shadowRoot!.getAnimations()
          .filter(({ playState }) => playState === "running").length,
    );
  const icon = async () =>
    await bar.page.evaluate(() =>
      document.querySelector("agent-progress")!.shadowRoot!.getElementById("shape")!.getAttribute("transform"),
    );
  await bar.show(event({ percent: 10 }));
  await bar.page.waitForTimeout(2100);
  assert.equal(await moving(), 0);
  const turned = await icon();
  await bar.show(event({ percent: 30 }));
  assert.notEqual(await icon(), turned, "the icon turns");
  assert.equal(await moving(), 2, "the bar slides and its tip lights up");
  await bar.page.waitForTimeout(1100);
  assert.equal(await moving(), 0);
  await bar.show(event({ status: "done", percent: 100 }));
  assert.equal(await slides(bar), false, "done is there at once");
});

test("P7: with reduced motion things are slower and nothing is frozen", async () => {
  const durations = async (reducedMotion: "reduce" | "no-preference") => {
    await using bar = await Bar.open(browser, { reducedMotion });
    await bar.show(event({ percent: 10 }));
    await bar.page.waitForTimeout(2100);
    await bar.show(event({ percent: 60, stage: "Writing" }));
    return await bar.page.evaluate(() =>
      document
        .querySelector("agent-progress")!
        .shadowRoot!.getAnimations()
        .map((animation) => Number(animation.effect!.getComputedTiming().duration))
        .toSorted((a, b) => a - b),
    );
  };
  const [usual, reduced] = [await durations("no-preference"), await durations("reduce")];
  assert.equal(reduced.length, usual.length);
  assert.equal(reduced.length, 3, "the bar, its tip and the stage");
  for (const [index, duration] of reduced.entries())
    assert.ok(duration > usual[index]!, `${duration} > ${usual[index]}`);
});

test("P7: from right to left the bar fills from the right, and texts keep their own direction", async () => {
  for (const size of ["full", "compact"]) {
    await using bar = await Bar.open(browser, { dir: "rtl", attributes: { size } });
    await bar.show(event({ percent: 25 }));
    assert.equal((await bar.seen()).filled, 25);
    const places = await bar.page.evaluate(() => {
      const root = document.querySelector("agent-progress")!.shadowRoot!;
      const box = (name: string) => root.getElementById(name)!.getBoundingClientRect();
      const track = box("bar");
      return {
        fillAtRight: Math.abs(Math.max(box("fill").left, track.left) - (track.right - track.width / 4)) < 1,
        icon: box("icon").left > box("stage").right - 1,
        percent: box("percent").right <= box("stage").left + 1,
        stage: getComputedStyle(root.getElementById("stage")!).direction,
      };
    });
    assert.deepEqual(places, { fillAtRight: true, icon: true, percent: true, stage: "ltr" }, size);
  }
});

test("the bar lights up at its tip, whichever side that is", async () => {
  for (const dir of ["ltr", "rtl"] as const) {
    await using bar = await Bar.open(browser, { dir, background: "black" });
    await bar.show(event({ percent: 50 }));
    await bar.page.evaluate(() => {
      for (const animation of document.querySelector("agent-progress")!.shadowRoot!.getAnimations()) {
        if (animation instanceof CSSTransition) animation.finish();
        else {
          animation.pause();
          animation.currentTime = 0;
        }
      }
    });
    const along = await pixelsNow(bar, 0.05, 0.95);
    const sums = (dir === "ltr" ? along : along.toReversed()).map(([r, g, b]) => r + g + b);
    const half = Math.floor(sums.length / 2);
    const [start, tip] = [sums[5]!, Math.max(...sums.slice(0, half))];
    assert.ok(tip > start + 150, `${dir}: ${start} at the start, ${tip} at most`);
    assert.ok(sums.indexOf(tip) > half - 30, `${dir}: brightest at ${sums.indexOf(tip)} of ${half}`);
  }
});

// keeps: progress-widget-forced-colours
test("P7: with forced colours the filled part stands out from the rest in every state", async () => {
  for (const colorScheme of ["light", "dark"] as const) {
    await using bar = await Bar.open(browser, { forcedColors: "active", colorScheme });
    for (const status of ["running", "paused", "done", "error"] as const) {
      await bar.show(event({ task_id: `test:${status}`, status, percent: 50 }));
      const [filled, rest] = await colors(bar);
      const expected = status === "done" ? filled : rest;
      assert.ok(contrast(filled!, await backdrop(bar)) >= 3, `${status}, ${colorScheme}: ${String(filled)}`);
      if (status !== "done")
        assert.ok(contrast(filled!, expected!) >= 3, `${status}: ${String(filled)} on ${String(rest)}`);
    }
  }
});

test("at 320 pixels long words and long texts break instead of running over, in both sizes and directions", async () => {
  const long = "Donaudampfschifffahrtsgesellschaftskapitänsmützenfabrikationsüberwachungsgesetz";
  for (const dir of ["ltr", "rtl"] as const) {
    for (const size of ["full", "compact"]) {
      await using bar = await Bar.open(browser, { dir, attributes: { size }, viewport: { width: 320, height: 400 } });
      for (const status of ["running", "paused", "error"] as const) {
        await bar.show(
          event({ task_id: `t:${status}`, status, stage: long, message: `${long}${long}`, eta_seconds: 100_000 }),
        );
        const over = await bar.page.evaluate(() => {
          const root = document.querySelector("agent-progress")!.shadowRoot!;
          const outside = [...root.querySelectorAll("#base *")].filter((part) => {
            const { left, right, width } = part.getBoundingClientRect();
            return !["fill", "whose"].includes(part.id) && width > 0 && (left < 0 || right > innerWidth);
          });
          return { outside: outside.map(({ id }) => id), scrolls: document.documentElement.scrollWidth > innerWidth };
        });
        assert.deepEqual(over, { outside: [], scrolls: false }, `${dir} ${size} ${status}`);
      }
    }
  }
});

test("attributes are enough for the simple case, and an event comes before them", async () => {
  await using bar = await Bar.open(browser, {
    attributes: { label: "Backup", percent: "12.5", "eta-seconds": "90", stage: "Copying", status: "running" },
  });
  const simple = await bar.seen();
  assert.deepEqual([simple.stage, simple.percent, simple.time], ["Copying", "12%", "1:30 left"]);
  assert.equal(await bar.bar("aria-label"), "Backup");
  await bar.page.evaluate(() => document.querySelector("agent-progress")!.setAttribute("percent", "70"));
  assert.equal((await bar.seen()).percent, "70%");
  await bar.show(event());
  assert.equal((await bar.seen()).percent, "42%");
  await bar.page.evaluate(() => {
    document.querySelector("agent-progress")!.event = null;
  });
  assert.equal((await bar.seen()).percent, "70%");
});

test("ages are drawn only by the page's own clock, and never below zero", async () => {
  await using bar = await Bar.open(browser);
  await bar.show(event({ eta_seconds: 30 }));
  const at = async (seconds: number | null) => {
    await bar.page.evaluate(
      (now) => {
        document.querySelector("agent-progress")!.now = now;
      },
      seconds === null ? null : Date.parse("2026-10-14T02:00:00Z") + seconds * 1000,
    );
    return (await bar.seen()).time;
  };
  assert.equal(await at(10), "20 s left");
  assert.equal(await at(30), "0 s left");
  assert.equal(await at(31), "estimating…", "it takes longer than was said");
  assert.equal(await at(250), "no update for 4:10");
  assert.equal(await at(-3600), "30 s left", "the clock is behind");
  assert.equal(await at(null), "30 s left");
  await bar.show(event({ status: "paused" }));
  assert.equal(await at(250), "paused", "waiting for a person is no silence");
});

test("words can be replaced", async () => {
  await using bar = await Bar.open(browser);
  await bar.page.evaluate(() => {
    document.querySelector("agent-progress")!.words = { estimating: "wird geschätzt …", percent: (n) => `${n} %` };
  });
  await bar.show(event({ eta_seconds: null }));
  const { time, percent } = await bar.seen();
  assert.deepEqual([time, percent], ["wird geschätzt …", "42 %"]);
});

function pick({ alert, percent }: Seen): Partial<Seen> {
  return { alert, percent };
}

async function slides(bar: Bar): Promise<boolean> {
  return await bar.page.evaluate(() =>
    document
      .querySelector("agent-progress")!
      .shadowRoot!.getElementById("fill")!
      .getAnimations()
      .some((animation) => animation instanceof CSSTransition),
  );
}

/** The strongest saturation, 0-1, of what is drawn in the bar. */
async function saturation(bar: Bar, shown: ProgressEvent): Promise<number> {
  await bar.show(shown);
  const all = await pixels(bar, 0, 1);
  return Math.max(...all.map(([r, g, b]) => (Math.max(r, g, b) - Math.min(r, g, b)) / 255));
}

type Color = readonly [red: number, green: number, blue: number];

/** Of the filled and of the empty half of a bar at 50%: the colour that stands out most, and the one in the middle. */
async function colors(bar: Bar): Promise<Color[]> {
  const back = await backdrop(bar);
  const filled = (await pixels(bar, 0.1, 0.45)).toSorted((a, b) => contrast(b, back) - contrast(a, back))[0]!;
  const rest = (await pixels(bar, 0.7, 0.9))[0]!;
  return [filled, rest];
}

async function backdrop(bar: Bar): Promise<Color> {
  return (await readPixels(bar, { x: 0, y: 0, width: 2, height: 2 }))[0]!;
}

/** Along the middle of the bar, from one share of its width to another. */
async function pixels(bar: Bar, from: number, to: number): Promise<Color[]> {
  await bar.seen();
  return await pixelsNow(bar, from, to);
}

async function pixelsNow(bar: Bar, from: number, to: number): Promise<Color[]> {
  const box = await bar.page.evaluate(() => {
    const { x, y, width, height } = document
      .querySelector("agent-progress")!
      .shadowRoot!.getElementById("bar")!
      .getBoundingClientRect();
    return { x, y, width, height };
  });
  return await readPixels(bar, {
    x: box.x + box.width * from,
    y: Math.round(box.y + box.height / 2),
    width: box.width * (to - from),
    height: 1,
  });
}

async function readPixels(
  bar: Bar,
  clip: { readonly x: number; readonly y: number; readonly width: number; readonly height: number },
): Promise<Color[]> {
  const png = await bar.page.screenshot({ clip });
  // The browser decodes its own picture.
  return await bar.page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d")!;
    context.drawImage(bitmap, 0, 0);
    const { data } = context.getImageData(0, 0, bitmap.width, bitmap.height);
    return Array.from({ length: data.length / 4 }, (_, n): [number, number, number] => [
      data[n * 4]!,
      data[n * 4 + 1]!,
      data[n * 4 + 2]!,
    ]);
  }, png.toString("base64"));
}

/** WCAG 2's contrast ratio, 1-21. */
function contrast(one: Color, other: Color): number {
  const luminance = (color: Color) => {
    const [r, g, b] = color.map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    }) as [number, number, number];
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [dark, light] = [luminance(one), luminance(other)].toSorted((a, b) => a - b) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}
