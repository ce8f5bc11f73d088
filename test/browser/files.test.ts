/** What a browser does with a link to something that could run: it runs nothing of it where the Runtime is. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { createA2aClient } from "@nylorun/agents/a2a";
import type { RemoteFile } from "@nylorun/agents/a2a";

import { makeAgent, serve } from "../e2e/callers.ts";
import { launchChromium } from "./chromium.ts";

const browser = await launchChromium();

/** Tells everybody whom it can reach that it runs. */
const script = 'try { document.title = "ran"; fetch("/ran"); new Image().src = "/ran.png"; } catch {}';
const evil: Readonly<Record<string, readonly [content: string, mediaType?: string]>> = {
  "page.html": [`<!doctype html><title>still</title><script>${script}</script><img src=x onerror='${script}'>`],
  "picture.svg": [`<svg xmlns="http://www.w3.org/2000/svg" onload='${script}'><script>${script}</script></svg>`],
  "page.xhtml": [`<html xmlns="http://www.w3.org/1999/xhtml"><script>${script}</script></html>`],
  "feed.xml": [`<?xml version="1.0"?><a:script xmlns:a="http://www.w3.org/1999/xhtml">${script}</a:script>`],
  // Each says that it is something else than it is.
  "text.txt": [`<!doctype html><script>${script}</script>`, "text/plain"],
  "data.json": [`<!doctype html><script>${script}</script>`, "application/json"],
  "nothing.bin": [`<!doctype html><script>${script}</script>`, "application/octet-stream"],
  "odd.png": [`<!doctype html><script>${script}</script>`, "image/png"],
};

describe("a file that could run", { timeout: 120_000 }, () => {
  const resources = new AsyncDisposableStack();
  resources.defer(() => browser.close());
  let files: readonly RemoteFile[];
  let url: string;

  before(async () => {
    const maker = makeAgent("maker", async (turn) => {
      for (const [path, [content, mediaType]] of Object.entries(evil)) {
        await turn.file(path, content, mediaType === undefined ? {} : { mediaType });
      }
    });
    const { runtime } = resources.use(await serve({ agents: [maker] }));
    ({ url } = runtime);
    const auth = await runtime.addKey({ role: "subject", subject: "ada" });
    const agent = await createA2aClient({ url: `${url}/v1/a2a/agents/maker/`, auth });
    ({ files } = await (await agent.send("go")).done());
  });

  after(() => resources.disposeAsync());

  for (const name of Object.keys(evil)) {
    test(`${name} runs nothing, opened or framed, and is saved or shown as what it says it is`, async () => {
      await using context = await browser.newContext();
      const page = await context.newPage();
      const asked: string[] = [];
      page.on("request", (request) => asked.push(new URL(request.url()).pathname));
      const link = files.find((file) => file.name === name)!.url!;

      // Framed in a page of the Runtime's own origin, which is where it would do most harm.
      await page.goto(`${url}/health`);
      const titled = await page.title();
      await page.evaluate((src) => {
        const frame = document.createElement("iframe");
        frame.src = src;
        document.body.append(frame);
        return new Promise((resolve) => {
          frame.addEventListener("load", resolve);
          setTimeout(resolve, 500);
        });
      }, link);
      assert.equal(await page.title(), titled);

      // Opened in a tab: what is an attachment is saved instead.
      const saved = page.waitForEvent("download", { timeout: 1500 }).catch(() => undefined);
      const opened = await page.goto(link).catch(() => undefined);
      const download = opened === undefined ? await saved : undefined;
      if (download === undefined) {
        assert.notEqual(await page.title(), "ran");
        const type = await page.evaluate(() => document.contentType);
        assert.doesNotMatch(type, /html|xml|svg/);
      } else assert.equal(download.suggestedFilename(), name);
      assert.deepEqual(
        asked.filter((path) => path.startsWith("/ran")),
        [],
      );
    });
  }

  test("is found out by this test: the same page without the Runtime's headers does run", async () => {
    await using context = await browser.newContext();
    const page = await context.newPage();
    await page.route("**/bare", (route) => route.fulfill({ contentType: "text/html", body: evil["page.html"]![0] }));
    await page.goto(`${url}/bare`);
    assert.equal(await page.title(), "ran");
  });
});
