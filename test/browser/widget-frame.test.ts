import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";

import { frameHtml } from "@nylorun/widget/frame";
import type { Frame, Page } from "playwright-core";

import { event } from "./bar.ts";
import { launchChromium } from "./chromium.ts";
import { Site, TEST_HOSTS } from "./site.ts";

const read = async (path: string) => await readFile(new URL(path, import.meta.url), "utf8");
const HOST = await read("../../packages/widget/src/generated/frame-host.js");

const browser = await launchChromium({ args: TEST_HOSTS });
after(async () => await browser.close());

/** A page that embeds the frame, sends it hello and an event by hand, and keeps what it is answered. */
function embedding(frame: string): string {
  return `<!doctype html><title>Embeds</title><iframe src="${frame}"></iframe><script>
    const answers = [];
    addEventListener("message", ({ data, origin }) => answers.push({ ...data, origin }));
    const iframe = document.querySelector("iframe");
    const send = (message) => iframe.contentWindow.postMessage(message, "*");
    iframe.onload = () => {
      send({ type: "agent-progress:hello", look: {} });
      send({ type: "agent-progress:event", event: ${JSON.stringify(event({ stage: "Sent by the page" }))} });
    };
  </script>`;
}

/** The bars that a frame shows: their stages. */
async function stages(frame: Frame): Promise<string[]> {
  return await frame.evaluate(() =>
    [...document.querySelectorAll("agent-progress")].map(
      ({ shadowRoot }) =>
        shadowRoot!.getElementById("stage")!.textContent + shadowRoot!.getElementById("what")!.textContent,
    ),
  );
}

/** The frame at a path, once it is loaded. */
async function frameAt(page: Page, path: string): Promise<Frame> {
  const frame = page.frames().find((one) => one.url().endsWith(path));
  assert.ok(frame, `no frame at ${path}`);
  await frame.waitForLoadState();
  return frame;
}

/** Lets messages go to and fro: each of these takes a turn of the loop in every frame. */
async function settle(page: Page): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) {
    for (const frame of page.frames()) {
      await frame.evaluate(async () => await new Promise((resolve) => setTimeout(resolve, 10)));
    }
  }
}

async function answersOf(page: Page): Promise<Record<string, unknown>[]> {
  return await page.evaluate("answers");
}

/** One server that is every origin: pages that embed the frame at `frame.test`, which listens to those listed. */
async function openFrame(list: (port: number) => readonly string[]): Promise<Site> {
  const site = await Site.open();
  const frame = site.origin("frame.test");
  site.serve({
    "/frame.html": frameHtml(list(site.port)),
    "/": embedding(`${frame}/frame.html`),
    "/frame-host.js": HOST,
    "/sandboxed": `<!doctype html><iframe sandbox="allow-scripts" src="/"></iframe>`,
  });
  return site;
}

// keeps: progress-widget-origins
test("P20: only listed origins are listened to and answered, compared as wholes", async () => {
  await using other = await Site.open();
  // With a slash at the end and in capitals: it is the origin that counts.
  await using site = await openFrame((port) => [`HTTP://App.test:${port}/`, "http://second.test"]);
  other.serve({ "/": embedding(`${site.origin("frame.test")}/frame.html`) });
  const origins: readonly (readonly [origin: string, listened: boolean])[] = [
    [site.origin("app.test"), true],
    [site.origin("xapp.test"), false],
    [site.origin("app.test.evil.test"), false],
    [site.origin("evil-app.test"), false],
    [site.origin("sub.app.test"), false],
    [site.origin("second.test"), false],
    [site.origin("frame.test"), false],
    [other.origin("app.test"), false],
  ];
  for (const [origin, listened] of origins) {
    const page = await browser.newPage();
    await page.goto(origin);
    const frame = await frameAt(page, "/frame.html");
    await settle(page);
    const answers = await answersOf(page);
    assert.deepEqual(await stages(frame), listened ? ["Sent by the page"] : [], origin);
    assert.deepEqual(
      new Set(answers.map(({ type }) => type)),
      new Set(listened ? ["agent-progress:ready", "agent-progress:height"] : []),
      origin,
    );
    assert.ok(answers.every((answer) => answer["origin"] === site.origin("frame.test")));
    await page.close();
  }
});

// keeps: progress-widget-origins
test("P20: a sandboxed page, whose origin is null, is nobody, whatever is listed", async () => {
  assert.throws(() => frameHtml(["null"]), { code: "frame.origins", message: /got "null"/ });
  await using site = await openFrame((port) => [`http://app.test:${port}`]);
  const page = await browser.newPage();
  await page.goto(`${site.origin("app.test")}/sandboxed`);
  const frame = await frameAt(page, "/frame.html");
  await settle(page);
  assert.equal(await frame.parentFrame()!.evaluate("origin"), "null");
  assert.deepEqual(await stages(frame), []);
  assert.deepEqual(await frame.parentFrame()!.evaluate("answers"), []);
  await page.close();
});

// keeps: progress-widget-origins
test("P20: an empty list is nobody", async () => {
  await using site = await openFrame(() => []);
  const page = await browser.newPage();
  await page.goto(site.origin("app.test"));
  const frame = await frameAt(page, "/frame.html");
  await settle(page);
  assert.deepEqual([await stages(frame), await answersOf(page)], [[], []]);
  await page.close();
});

test("P20: of a listed origin only the window that embeds the frame is heard, and others hear nothing", async () => {
  await using site = await openFrame((port) => [`http://app.test:${port}`, `http://second.test:${port}`]);
  const page = await browser.newPage();
  // second.test embeds app.test, which embeds the frame: both are listed, one is its parent.
  site.serve({
    "/outer": `<!doctype html><iframe src="${site.origin("app.test")}/"></iframe><script>
      const answers = [];
      addEventListener("message", ({ data }) => answers.push(data));
    </script>`,
  });
  await page.goto(`${site.origin("second.test")}/outer`);
  const frame = await frameAt(page, "/frame.html");
  await settle(page);
  await page.evaluate(
    (one) => {
      const target = document.querySelector("iframe")!.contentWindow![0] as Window;
      target.postMessage({ type: "agent-progress:hello", look: {} }, "*");
      target.postMessage({ type: "agent-progress:event", event: one }, "*");
    },
    event({ task_id: "evil:task", stage: "Sent from afar" }),
  );
  await settle(page);
  assert.deepEqual(await stages(frame), ["Sent by the page"]);
  assert.deepEqual(await answersOf(page), []);
  await page.close();
});

test("what is no origin is refused with the reason", () => {
  for (const entry of [
    "*",
    "https://*.example.com",
    "app.example",
    "https://app.example/path",
    "https://app.example?x",
    "https://u:p@app.example",
    "file:///x",
    "javascript:alert(1)",
    "data:,x",
    "null",
  ]) {
    assert.throws(() => frameHtml([entry]), { name: "FrameError", code: "frame.origins" }, entry);
  }
  assert.match(
    frameHtml(["https://App.example:443/", "http://localhost:3000"]),
    /content="https:\/\/app\.example http:\/\/localhost:3000"/,
  );
});

test("an event that is none is answered with the reason, and shown by nobody", async () => {
  await using site = await openFrame((port) => [`http://app.test:${port}`]);
  const page = await browser.newPage();
  await page.goto(site.origin("app.test"));
  const frame = await frameAt(page, "/frame.html");
  await settle(page);
  for (const wrong of [
    null,
    7,
    [],
    {},
    { ...event(), percent: 130 },
    { ...event(), proto: 2 },
    { ...event(), status: "lost" },
  ]) {
    await page.evaluate((given) => {
      document.querySelector("iframe")!.contentWindow!.postMessage({ type: "agent-progress:event", event: given }, "*");
    }, wrong);
  }
  for (const noise of [null, "agent-progress:event", { type: 7 }, { type: "webpackOk" }]) {
    await page.evaluate((given) => document.querySelector("iframe")!.contentWindow!.postMessage(given, "*"), noise);
  }
  await settle(page);
  const reasons = (await answersOf(page))
    .filter(({ type }) => type === "agent-progress:refused")
    .map(({ reason }) => reason);
  assert.equal(reasons.length, 7);
  assert.match(String(reasons[4]), /Expected a progress event \(proto 1\); \/percent must be <= 100/);
  assert.deepEqual(await stages(frame), ["Sent by the page"]);
  await page.close();
});

test("the frame page runs under its own strict policy, and complains of nothing", async () => {
  await using site = await openFrame((port) => [`http://app.test:${port}`]);
  const page = await browser.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(site.origin("app.test"));
  await settle(page);
  assert.deepEqual(complaints, []);
  assert.match(frameHtml([]), /http-equiv="content-security-policy" content="default-src 'none'; script-src 'sha256-/);
  await page.close();
});

/** The page of `examples/embed-snippet.html`, as somebody would serve it: with their own addresses in it. */
async function openSnippet(): Promise<{ readonly site: Site; readonly page: Page; readonly complaints: string[] }> {
  const site = await openFrame((port) => [`http://app.test:${port}`]);
  const snippet = await read("../../examples/embed-snippet.html");
  assert.ok(snippet.includes('src="https://progress.example.com/frame.html"'));
  site.serve({
    "/snippet": snippet
      .replace("https://progress.example.com", site.origin("frame.test"))
      .replace("const frame", "const frame = globalThis.frame"),
  });
  const page = await browser.newPage({ viewport: { width: 700, height: 900 } });
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(`${site.origin("app.test")}/snippet`);
  await settle(page);
  return { site, page, complaints };
}

test("the snippet works as it is written: its event is shown, its clock counts", async () => {
  const { site, page, complaints } = await openSnippet();
  await using _site = site;
  const frame = await frameAt(page, "/frame.html");
  assert.deepEqual(await stages(frame), ["Reasoning"]);
  const time = async () =>
    await frame.evaluate(
      () => document.querySelector("agent-progress")!.shadowRoot!.getElementById("time")!.textContent,
    );
  const deadline = Date.now() + 20_000;
  while ((await time()) === "30 s left" && Date.now() < deadline) await page.waitForTimeout(100);
  assert.match(await time(), /^2\d s left$/);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("a frame that is loaded again gets the latest event of each task", async () => {
  const { site, page } = await openSnippet();
  await using _site = site;
  await page.evaluate(
    (all) => {
      const { frame } = globalThis as unknown as { frame: { send(one: unknown): void } };
      for (const one of all) frame.send(one);
    },
    [
      event({ percent: 50, stage: "Writing" }),
      event({ task_id: "constructor", stage: "Other" }),
      event({ task_id: "10", stage: "Third" }),
    ],
  );
  await settle(page);
  const loaded = page.waitForEvent("framenavigated");
  await page.evaluate(() => {
    const iframe = document.querySelector("iframe")!;
    iframe.src = `${iframe.src}?again`;
  });
  await loaded;
  await settle(page);
  assert.deepEqual(await stages(await frameAt(page, "/frame.html?again")), ["Writing", "Other", "Third"]);
  await page.close();
});

// keeps: progress-widget-height
test("P21: the frame follows its content, and neither messages nor time make it grow", async () => {
  const { site, page } = await openSnippet();
  await using _site = site;
  const heights = async (count: number, tasks: number) =>
    await page.evaluate(
      async ({ all }) => {
        const { frame } = globalThis as unknown as { frame: { send(one: unknown): void } };
        const seen: number[] = [];
        for (const one of all) {
          frame.send(one);
          await new Promise(requestAnimationFrame);
          seen.push(document.querySelector("iframe")!.getBoundingClientRect().height);
        }
        for (let turn = 0; turn < 10; turn += 1) await new Promise(requestAnimationFrame);
        return [...seen, document.querySelector("iframe")!.getBoundingClientRect().height];
      },
      { all: Array.from({ length: count }, (_, n) => event({ task_id: `t:${n % tasks}`, percent: (n * 7) % 100 })) },
    );
  const one = await heights(150, 1);
  const settled = one.slice(20);
  assert.equal(new Set(settled).size, 1, `it settles: ${String([...new Set(one)])}`);
  const content = await (
    await frameAt(page, "/frame.html")
  ).evaluate(() => Math.ceil(document.querySelector("main")!.getBoundingClientRect().height));
  assert.equal(settled[0], content);
  assert.ok(content > 50 && content < 300, String(content));
  const many = await heights(120, 40);
  assert.equal(many.at(-1), 600, "no higher than it may be");
  await page.close();
});

test("the frame looks like the page around it", async () => {
  const { site, page } = await openSnippet();
  await using _site = site;
  await page.evaluate(() => {
    Object.assign(document.documentElement.style, {
      colorScheme: "dark",
      color: "rgb(200, 210, 220)",
      direction: "rtl",
      fontSize: "19px",
    });
    (globalThis as unknown as { frame: { restyle(): void } }).frame.restyle();
  });
  await settle(page);
  const look = await (
    await frameAt(page, "/frame.html")
  ).evaluate(() => {
    const { colorScheme, color, direction, fontSize } = getComputedStyle(document.querySelector("agent-progress")!);
    return { colorScheme, color, direction, fontSize };
  });
  assert.deepEqual(look, { colorScheme: "dark", color: "rgb(200, 210, 220)", direction: "rtl", fontSize: "19px" });
  await page.close();
});

test("the host side refuses a frame that cannot be addressed, and hears no other window", async () => {
  const { site, page } = await openSnippet();
  await using _site = site;
  const codes = await page.evaluate(async () => {
    const address = "./frame-host.js";
    const { ProgressFrame } = (await import(address)) as { ProgressFrame: new (iframe: HTMLIFrameElement) => unknown };
    return ["", "about:blank", "data:text/html,x", "blob:x"].map((src) => {
      const iframe = document.createElement("iframe");
      iframe.src = src;
      if (src === "") iframe.sandbox.add("allow-scripts");
      try {
        return String(new ProgressFrame(iframe));
      } catch (error) {
        return (error as { readonly code: string }).code;
      }
    });
  });
  assert.deepEqual(codes, Array(4).fill("frame.opaque"));
  // A window that is not the frame says that it is 5000 pixels high.
  const height = await page.evaluate(() => document.querySelector("iframe")!.style.height);
  await page.evaluate(() => postMessage({ type: "agent-progress:height", height: 77 }, "*"));
  await settle(page);
  assert.equal(await page.evaluate(() => document.querySelector("iframe")!.style.height), height);
  await page.close();
});
