/** The element in pages that are strict, hostile, slow, or made on a server. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";

import { markup } from "@nylorun/widget/markup";
import type { Page } from "playwright-core";

import { Bar, event, WIDGET } from "./bar.ts";
import { bundle } from "./bundle.ts";
import { launchChromium } from "./chromium.ts";
import { Site } from "./site.ts";

const browser = await launchChromium();
after(async () => await browser.close());

const STRICT = {
  "content-security-policy": "default-src 'none'; script-src 'self'; require-trusted-types-for 'script'",
};

const ALL = [
  event({ status: "started", percent: 0, stage: "", eta_seconds: null }),
  event({ percent: 10, stage: "Reading" }),
  event({ percent: 60, stage: "Writing" }),
  event({ status: "paused" }),
  event({ percent: NaN }),
  event({ status: "error", message: "The disk is full" }),
  event({ status: "started", percent: 0 }),
  event({ status: "done" }),
];

/** Things that texts of agents try in a page. */
const HOSTILE = [
  "<img src=x onerror=alert(1)>",
  "<script>alert(1)</script>",
  "</template><script>alert(1)</script>",
  "<!--<script>",
  '"><svg onload=alert(1)>',
  "javascript:alert(1)",
  "' onmouseover='alert(1)",
  "</style><style>*{display:none}",
  "&lt;img src=x onerror=alert(1)&gt;",
  "{{constructor.constructor('alert(1)')()}}",
  "${alert(1)}",
  "--p:0;background:url(http://evil.test/)",
];

test("under a policy that allows its script alone it is drawn, complains of nothing and loads nothing", async () => {
  await using site = await Site.open({
    "/": {
      body: `<!doctype html><html lang="en"><title>Strict</title><agent-progress percent="25" stage="Reading"></agent-progress><script src="/agent-progress.js"></script>`,
      headers: STRICT,
    },
    "/agent-progress.js": await readFile(
      new URL("../../packages/widget/src/generated/agent-progress.js", import.meta.url),
      "utf8",
    ),
  });
  const page = await browser.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(site.origin());
  for (const one of ALL) await show(page, one);
  await show(page, event({ task_id: "test:half", percent: 50 }));
  const drawn = await page.evaluate(() => {
    const root = document.querySelector("agent-progress")!.shadowRoot!;
    for (const animation of root.getAnimations()) animation.finish();
    const [track, fill] = ["bar", "fill"].map((name) => root.getElementById(name)!.getBoundingClientRect()) as [
      DOMRect,
      DOMRect,
    ];
    return { height: track.height, share: (fill.right - track.left) / track.width };
  });
  assert.deepEqual(drawn, { height: 8, share: 0.5 });
  assert.deepEqual(complaints, []);
  assert.deepEqual(
    site.requests.filter((request) => request !== "GET /favicon.ico"),
    ["GET /", "GET /agent-progress.js"],
  );
  await page.close();
});

// keeps: progress-widget-timer-free
test("it starts no timer, asks no network and writes no markup, whatever it shows", async () => {
  const page = await browser.newPage();
  await page.setContent("<!doctype html><title>Spied on</title>");
  const calls = await page.evaluate(
    async ({ widget, all, globals, markups }) => {
      const called: string[] = [];
      const spy = (owner: object, name: string) => {
        const descriptor = Object.getOwnPropertyDescriptor(owner, name)!;
        const replaced = "value" in descriptor ? "value" : "set";
        const tell = () => called.push(name);
        Object.defineProperty(owner, name, { ...descriptor, [replaced]: tell });
      };
      for (const name of globals) spy(globalThis, name);
      for (const name of markups) spy(Element.prototype, name);
      spy(ShadowRoot.prototype, "innerHTML");
      for (const name of ["write", "writeln"]) spy(Document.prototype, name);
      spy(Navigator.prototype, "sendBeacon");
      spy(Range.prototype, "createContextualFragment");
      const script = document.createElement("script");
      script.textContent = widget;
      document.head.append(script);
      for (const size of ["full", "compact"]) {
        const element = document.createElement("agent-progress");
        element.setAttribute("size", size);
        document.body.append(element);
        for (const one of all) {
          element.event = one;
          element.now = Date.parse(one.timestamp) + 100_000;
          await Promise.resolve();
        }
        called.push(`drew ${element.shadowRoot!.getElementById("percent")!.textContent}`);
      }
      document.body.firstElementChild!.innerHTML = "seen";
      return called;
    },
    {
      widget: WIDGET,
      all: ALL,
      globals: [
        "setTimeout",
        "setInterval",
        "requestAnimationFrame",
        "requestIdleCallback",
        "fetch",
        "XMLHttpRequest",
        "WebSocket",
        "EventSource",
        "Worker",
        "Image",
        "eval",
        "Function",
      ],
      markups: ["innerHTML", "outerHTML", "insertAdjacentHTML", "setHTMLUnsafe"],
    },
  );
  // The last one is the test's own: the spies do see.
  assert.deepEqual(calls, ["drew 100%", "drew 100%", "innerHTML"]);
  await page.close();
});

// keeps: progress-widget-text, a2a-14.1-sanitized
test("P22: whatever an agent writes is text, in every field, however it gets there", async () => {
  for (const attributes of [{}, { size: "compact" }]) {
    await using bar = await Bar.open(browser, { attributes });
    for (const text of HOSTILE) {
      for (const status of ["running", "paused", "error"] as const) {
        await bar.show(event({ task_id: `test:${status}`, status: "started" }));
        await bar.show(event({ task_id: `test:${status}`, status, stage: text, message: text, agent: text }));
        const { stage, alert, note } = await bar.seen();
        assert.ok((stage + alert).endsWith(text), `${status}: ${stage}${alert}`);
        if (attributes.size === undefined) assert.ok(note.includes(text), note);
      }
      await bar.page.evaluate((given) => {
        const element = document.querySelector("agent-progress")!;
        for (const name of ["stage", "message", "agent", "label", "task-id", "timestamp", "status"])
          element.setAttribute(name, given);
      }, text);
    }
    const foreign = await bar.page.evaluate(() => {
      const root = document.querySelector("agent-progress")!.shadowRoot!;
      return [...root.querySelectorAll("*")].filter(
        ({ localName }) => !["div", "span", "svg", "path"].includes(localName),
      ).length;
    });
    assert.equal(foreign, 0);
    assert.deepEqual(bar.complaints, []);
  }
});

test("P22: in markup made on a server, too", async () => {
  const page = await browser.newPage();
  const complaints: string[] = [];
  page.on("dialog", (dialog) => {
    complaints.push(dialog.message());
    void dialog.dismiss();
  });
  for (const text of HOSTILE) {
    const hostile = event({ task_id: text, status: "error", stage: text, message: text, agent: text, timestamp: text });
    await page.setContent(
      `<!doctype html><title>Hostile</title>${markup(hostile, { label: text, nonce: text })}<p id="after">After</p>`,
    );
    const found = await page.evaluate(() => ({
      alert: document.querySelector("agent-progress")!.shadowRoot!.getElementById("what")!.textContent,
      elements: document.querySelectorAll("script,img,svg,style").length,
      after: document.body.lastElementChild?.id,
    }));
    assert.deepEqual(found, { alert: text, elements: 0, after: "after" });
  }
  assert.deepEqual(complaints, []);
  await page.close();
});

test("markup made on a server is taken over without a flash, a shift, a motion or a word", async () => {
  for (const size of ["full", "compact"] as const) {
    const bars = ALL.map((one) => markup(one, { size, nonce: "abc", label: "Report" })).join("\n");
    await using site = await Site.open({
      "/": {
        body: `<!doctype html><html lang="en"><title>Made on a server</title><style nonce="abc">body{margin:16px;font:15px system-ui;display:grid;gap:1em}</style>${bars}`,
        headers: { "content-security-policy": "default-src 'none'; style-src 'nonce-abc'; script-src 'self'" },
      },
      "/agent-progress.js": WIDGET,
    });
    const page = await browser.newPage({ viewport: { width: 600, height: 800 } });
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    await page.goto(site.origin());
    const drawnByServer = await page.screenshot();
    await page.evaluate(async (src) => {
      const tracks = [...document.querySelectorAll("agent-progress")].map(({ shadowRoot }) =>
        shadowRoot!.getElementById("bar"),
      );
      const seen = { shifts: 0, said: 0, tracks };
      Object.assign(globalThis, { seen });
      new PerformanceObserver((list) => {
        seen.shifts += list.getEntries().length;
      }).observe({ type: "layout-shift" });
      for (const { shadowRoot } of document.querySelectorAll("agent-progress")) {
        for (const region of shadowRoot!.querySelectorAll("[role=status],[role=alert]")) {
          new MutationObserver(() => {
            seen.said += 1;
          }).observe(region, { childList: true, characterData: true, subtree: true });
        }
      }
      const script = document.createElement("script");
      script.src = src;
      const loaded = new Promise((resolve) => script.addEventListener("load", resolve));
      document.head.append(script);
      await loaded;
    }, "/agent-progress.js");
    const moving = await page.evaluate(
      () =>
        [...document.querySelectorAll("agent-progress")].flatMap(({ shadowRoot }) => shadowRoot!.getAnimations())
          .length,
    );
    const { shifts, said, kept, upgraded, styles } = await page.evaluate(async () => {
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      const all = [...document.querySelectorAll("agent-progress")];
      const { seen } = globalThis as unknown as { seen: { shifts: number; said: number; tracks: Element[] } };
      return {
        shifts: seen.shifts,
        said: seen.said,
        kept: all.every(({ shadowRoot }, index) => shadowRoot!.getElementById("bar") === seen.tracks[index]),
        upgraded: all.every((element) => "event" in element),
        styles: all.reduce((sum, { shadowRoot }) => sum + shadowRoot!.querySelectorAll("style").length, 0),
      };
    });
    assert.deepEqual(
      { moving, shifts, said, kept, upgraded, styles },
      { moving: 0, shifts: 0, said: 0, kept: true, upgraded: true, styles: 0 },
    );
    assert.ok(drawnByServer.equals(await page.screenshot()), "the same picture, to the pixel");
    assert.deepEqual(complaints, []);
    await page.close();
  }
});

test("an element that was made and set before its definition is taken over", async () => {
  const page = await browser.newPage();
  await page.setContent("<!doctype html><title>Early</title><agent-progress></agent-progress>");
  await page.evaluate((one) => {
    Object.assign(document.querySelector("agent-progress")!, { event: one, now: Date.parse(one.timestamp) + 10_000 });
  }, event());
  await page.addScriptTag({ content: WIDGET });
  await page.addScriptTag({ content: WIDGET }); // A page may have it from two bundles.
  const shown = await page.evaluate(() => {
    const root = document.querySelector("agent-progress")!.shadowRoot!;
    return ["stage", "percent", "time"].map((name) => root.getElementById(name)!.textContent);
  });
  assert.deepEqual(shown, ["Reasoning", "42%", "20 s left"]);
  await page.close();
});

test("the class can be registered under another name, and moved about in the page", async () => {
  const page = await browser.newPage();
  await page.setContent("<!doctype html><title>Other name</title><div></div><p></p>");
  await page.addScriptTag({
    content: await bundle(
      'import { AgentProgress } from "@nylorun/widget"; customElements.define("my-bar", class extends AgentProgress {})',
    ),
  });
  const shown = await page.evaluate((one) => {
    const element = document.createElement("my-bar") as HTMLElementTagNameMap["agent-progress"];
    element.event = one;
    document.querySelector("div")!.append(element);
    document.querySelector("p")!.append(element);
    return [
      customElements.get("agent-progress") === undefined,
      element.shadowRoot!.getElementById("percent")!.textContent,
    ];
  }, event());
  assert.deepEqual(shown, [true, "42%"]);
  await page.close();
});

test("it loads where there is no page, for servers that render", async () => {
  const { AgentProgress } = await import("@nylorun/widget");
  await import("@nylorun/widget/define");
  assert.ok(AgentProgress.observedAttributes.includes("percent"));
});

test("custom-elements.json says what the element has, and nothing else", async () => {
  interface Named {
    readonly name: string;
    readonly attribute?: string;
  }
  const manifest = JSON.parse(
    await readFile(new URL("../../packages/widget/custom-elements.json", import.meta.url), "utf8"),
  ) as { readonly modules: readonly { readonly declarations?: readonly Record<string, readonly Named[]>[] }[] };
  const told = manifest.modules.flatMap(({ declarations = [] }) => declarations).find((one) => "cssParts" in one)!;
  const names = (key: string) => told[key]!.map(({ name }) => name).toSorted();

  await using bar = await Bar.open(browser);
  await bar.show(event());
  const has = await bar.page.evaluate(() => {
    const element = document.querySelector("agent-progress")!;
    const root = element.shadowRoot!;
    const own = Object.getOwnPropertyDescriptors(Object.getPrototypeOf(element) as object);
    const css = root.adoptedStyleSheets
      .flatMap(({ cssRules }) => [...cssRules].map(({ cssText }) => cssText))
      .join("\n");
    return {
      attributes: (element.constructor as unknown as { observedAttributes: string[] }).observedAttributes.toSorted(),
      members: Object.keys(own)
        .filter((name) => own[name]!.get !== undefined)
        .toSorted(),
      cssParts: [...root.querySelectorAll("[part]")].map((part) => part.getAttribute("part")!).toSorted(),
      cssProperties: [...new Set(css.match(/--agent-progress-[a-z]+/g))].toSorted(),
    };
  });
  assert.deepEqual(
    {
      attributes: names("attributes"),
      members: names("members"),
      cssParts: names("cssParts"),
      cssProperties: names("cssProperties"),
    },
    has,
  );
});

test("a page can style it by custom properties and by parts", async () => {
  await using bar = await Bar.open(browser);
  await bar.show(event());
  const styled = await bar.page.evaluate(() => {
    const style = document.createElement("style");
    style.textContent =
      "agent-progress{--agent-progress-accent:rgb(1,2,3);--agent-progress-thickness:20px}agent-progress::part(percent){color:rgb(4,5,6)}";
    document.head.append(style);
    const root = document.querySelector("agent-progress")!.shadowRoot!;
    return [
      getComputedStyle(root.getElementById("fill")!).backgroundColor,
      getComputedStyle(root.getElementById("bar")!).height,
      getComputedStyle(root.getElementById("percent")!).color,
    ];
  });
  assert.deepEqual(styled, ["rgb(1, 2, 3)", "20px", "rgb(4, 5, 6)"]);
});

async function show(page: Page, one: ReturnType<typeof event>): Promise<void> {
  await page.evaluate((given) => {
    document.querySelector("agent-progress")!.event = given;
  }, one);
}
