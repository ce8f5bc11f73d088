/** The client in a page, as it is published, against a Runtime of another origin. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { bundleProgram, EXPECTED } from "../e2e/built-client.ts";
import type { Found } from "../e2e/built-client.ts";
import { serve } from "../e2e/callers.ts";
import { everyWord, signedDelivery, signingKey } from "../e2e/every-word.ts";
import { installPacked } from "../e2e/packed.ts";
import { launchChromium } from "./chromium.ts";
import { Site, TEST_HOSTS } from "./site.ts";

const browser = await launchChromium({ args: TEST_HOSTS });

describe("a page of another origin", { timeout: 180_000 }, () => {
  const resources = new AsyncDisposableStack();
  resources.defer(() => browser.close());
  let site: Site;
  let handed: { url: string; key: string };

  before(async () => {
    const folder = mkdtempSync(join(tmpdir(), "nylorun-built-"));
    resources.defer(() => rmSync(folder, { recursive: true }));
    const program = await bundleProgram(installPacked(folder, "agents").project);
    site = resources.use(await Site.open({ "/": "<!doctype html><title>Page</title>", "/program.js": program }));
    const served = resources.use(
      await serve({ agents: [everyWord], corsOrigins: [site.origin(), site.origin("app.test")] }),
    );
    const key = await served.runtime.addKey({ role: "subject", subject: "ada" });
    handed = { url: `${served.runtime.url}/v1/a2a/agents/every-word/`, key };
  });

  after(() => resources.disposeAsync());

  /** Runs the program in a page of a host of the site. */
  async function run(host: string): Promise<Found | { readonly error: string }> {
    await using context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${site.origin(host)}/`);
    const options = { ...handed, delivery: signedDelivery(), privateKey: signingKey() };
    return await page.evaluate(async (given) => {
      try {
        const program: string = "/program.js";
        const { check } = await import(program);
        return await check(given);
      } catch (error) {
        return { error: (error as { code?: string }).code ?? String(error) };
      }
    }, options);
  }

  test("that the operator lists calls, follows, approves and checks as any program does", async () => {
    const { states, ...found } = (await run("127.0.0.1")) as Found;
    assert.deepEqual(found, { ...EXPECTED, hasBuffer: false });
    assert.ok(states.includes("TASK_STATE_AUTH_REQUIRED"), states.join());
    assert.equal(states.at(-1), "TASK_STATE_COMPLETED");
  });

  test("without TLS calls too, where there is no Web Crypto", async () => {
    const { output, bytes, unknown } = (await run("app.test")) as Found;
    assert.deepEqual(
      { output, bytes, unknown },
      { output: "Approved.", bytes: EXPECTED.bytes, unknown: EXPECTED.unknown },
    );
  });

  test("that the operator does not list is not let in", async () => {
    assert.deepEqual(await run("localhost"), { error: "agent.unreachable" });
  });
});
