/** How docs/a2a/push.md verifies a webhook in other languages: it takes what the Runtime sends, and nothing else. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { makeAgent, serve } from "../e2e/callers.ts";
import { Receiver } from "../e2e/receiver.ts";
import type { Received } from "../e2e/receiver.ts";
import { readPage } from "./page.ts";

interface Sample {
  readonly id: string;
  readonly timestamp: string;
  readonly signatures: string;
  readonly body: string;
}

interface Trust {
  readonly secret: string;
  readonly whpk: string;
}

interface Language {
  readonly command: string;
  /** Makes files of the snippet in a folder; returns what is run there, which ends with 0 when the sample is taken. */
  readonly program: (snippet: string, folder: string, sample: Sample & Trust) => readonly string[];
}

const LANGUAGES: Readonly<Record<string, Language>> = {
  python: {
    command: "python3",
    program(snippet, folder, { id, timestamp, signatures, secret }) {
      const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures };
      const call = `is_ours(${JSON.stringify(headers)}, open("body", "rb").read(), ${JSON.stringify(secret)})`;
      writeFileSync(join(folder, "verify.py"), `${snippet}\nimport sys\nsys.exit(0 if ${call} else 1)\n`);
      return ["verify.py"];
    },
  },
  bash: {
    command: "bash",
    program(snippet, folder, { id, timestamp, signatures, whpk }) {
      const values = { id, timestamp, v1a: v1aOf(signatures), whpk: whpk.slice("whpk_".length) };
      const lines = Object.entries(values).map(([name, value]) => `${name}='${value}'`);
      writeFileSync(join(folder, "verify.sh"), `${lines.join("\n")}\n${snippet}`);
      return ["verify.sh"];
    },
  },
  java: {
    command: "java",
    program(snippet, folder, { id, timestamp, signatures, whpk }) {
      const [one, two, three, four] = [id, timestamp, v1aOf(signatures), whpk].map((value) => JSON.stringify(value));
      const program = `
        import java.nio.charset.StandardCharsets;
        import java.nio.file.*;
        import java.security.*;
        import java.security.spec.*;
        import java.util.*;
        class Verify {
          public static void main(String[] args) throws Exception {
            System.exit(isOurs(${one}, ${two}, ${three}, Files.readAllBytes(Path.of("body")), ${four}) ? 0 : 1);
          }
          ${snippet}
        }`;
      writeFileSync(join(folder, "Verify.java"), program);
      return ["Verify.java"];
    },
  },
};

function v1aOf(signatures: string): string {
  return /v1a,(\S+)/.exec(signatures)![1]!;
}

describe("verifying a webhook, as docs/a2a/push.md does", { timeout: 60_000 }, () => {
  const secret = `whsec_${randomBytes(32).toString("base64")}`;
  const { fences } = readPage("docs/a2a/push.md");
  let received: Received;
  let trust: Trust;

  before(async () => {
    await using receiver = await Receiver.start();
    const agent = makeAgent("echo", (turn) => turn.text);
    await using served = await serve({ agents: [agent], pushSecret: [secret], pushHosts: ["http://127.0.0.1:*"] });
    const ada = await served.as("ada");
    const configuration = { taskPushNotificationConfig: { url: receiver.url("hook") } };
    await ada.send("echo", "Grüße, 👩", { configuration });
    [received] = (await receiver.until("hook", (all) => all.length > 0)) as [Received];
    const keys = await fetch(`${served.runtime.url}/.well-known/nylorun-webhook-keys.json`);
    trust = { secret, whpk: ((await keys.json()) as { keys: { whpk: string }[] }).keys[0]!.whpk };
  });

  for (const [language, { command, program }] of Object.entries(LANGUAGES)) {
    const snippet = fences.find((fence) => fence.language === language && fence.mark === "verify")!;
    // keeps: push-sent-signed
    it(`in ${language} takes what was signed, and neither another body nor another sender's`, (t) => {
      if (spawnSync(command, ["--version"]).error !== undefined) return t.skip(`there is no ${command} here`);
      const folder = mkdtempSync(join(tmpdir(), "nylorun-verify-"));
      after(() => rmSync(folder, { recursive: true, force: true }));
      const { headers, body } = received;
      const sample: Sample & Trust = {
        id: headers["webhook-id"]!,
        timestamp: headers["webhook-timestamp"]!,
        signatures: headers["webhook-signature"]!,
        body,
        ...trust,
      };
      const other: Trust = {
        secret: `whsec_${randomBytes(32).toString("base64")}`,
        whpk: `whpk_${Buffer.from([...Buffer.from(trust.whpk.slice(5), "base64")].map((byte, at) => (at === 3 ? byte ^ 1 : byte))).toString("base64")}`,
      };
      for (const [one, taken] of [
        [sample, true],
        [{ ...sample, body: body.replace("Grüße", "Grusse") }, false],
        [{ ...sample, id: "msg_other" }, false],
        [{ ...sample, ...other }, false],
      ] as const) {
        writeFileSync(join(folder, "body"), one.body);
        const { status, stderr } = spawnSync(command, program(snippet.text, folder, one), {
          cwd: folder,
          encoding: "utf8",
        });
        assert.equal(status === 0, taken, stderr);
      }
    });
  }

  it("is shown in each of them", () => {
    const shown = fences.filter(({ mark }) => mark === "verify").map(({ language }) => language);
    assert.deepEqual(shown, Object.keys(LANGUAGES));
  });
});
