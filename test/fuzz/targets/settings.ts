/**
 * Settings, wherever they stand: a config file, the environment, flags. Each is taken as what it says, or refused in one sentence that names it,
 * and that tells no secret.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import * as fc from "fast-check";

import { checkSettings, resolveSettings } from "../../../packages/runtime/src/node/setting-sources.ts";
import { latin1, near, nearBytes } from "../edit.ts";
import type { Input, StartTarget } from "../target.ts";

interface Given {
  /** Of the config file; one character a byte. */
  readonly config: string;
  readonly env: Readonly<Record<string, string>>;
  readonly flags: Readonly<Record<string, string>>;
}

/** What must not be told of. */
const SECRET = "hush-hush";

const GOOD = {
  home: "data",
  port: 7000,
  host: "127.0.0.1",
  publicUrl: "https://agents.example.com",
  allowedHosts: ["a.example"],
  corsOrigins: ["https://app.example.com"],
  jwtIssuers: [
    { name: "app", issuer: "x", audience: "y", jwksUrl: "https://id.example.com/keys", subject: "{tenant}/{sub}" },
  ],
  defaultAgent: "echo",
  providerName: "x",
  providerUrl: "https://example.com/{agent}",
  traceUrl: "https://example.com/{traceId}",
  pushSecret: [`whsec_${Buffer.alloc(32, 1).toString("base64")}`],
  pushHosts: ["*.example.com", "http://localhost:*"],
  databaseUrl: `postgres://nylorun:${SECRET}@db.example.com/nylorun`,
  databaseSchema: "nylorun",
  leaseMs: 15_000,
  s3SecretAccessKey: SECRET,
  logLevel: "warn",
};
const NAMES = Object.keys(GOOD);

const texts = fc.oneof(
  fc.constantFrom(...Object.values(GOOD).map((value) => (typeof value === "string" ? value : JSON.stringify(value)))),
  fc.constantFrom("0", "-1", "1e3", "99999999999999999999", " ", "~", "a\0b", "\u001B[2J", "\n", "[", "{}", "null"),
  fc.string({ unit: "binary", maxLength: 30 }),
);
const configs = fc.oneof(
  { weight: 4, arbitrary: near(fc.subarray(NAMES).map(chosen)).map((value) => latin1(JSON.stringify(value) ?? "")) },
  { weight: 2, arbitrary: nearBytes(fc.subarray(NAMES).map((names) => latin1(JSON.stringify(chosen(names))))) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "",
      "\xEF\xBB\xBF{}",
      `{"port":${"[".repeat(5_000)}${"]".repeat(5_000)}}`,
      `{"${"x".repeat(20_000)}":1}`,
    ),
  },
);

function chosen(names: readonly string[]): object {
  return Object.fromEntries(Object.entries(GOOD).filter(([name]) => names.includes(name)));
}

const variable = (name: string): string => `NYLORUN_${name.replaceAll(/[A-Z]/g, "_$&").toUpperCase()}`;

export const startSettings: StartTarget = async () => {
  const cwd = mkdtempSync(join(tmpdir(), "nylorun-fuzz-settings-"));
  const file = join(cwd, "nylorun.config.json");
  return {
    inputs: fc.record({
      config: configs,
      env: fc.dictionary(fc.constantFrom(...NAMES.map(variable)), texts, { maxKeys: 2 }),
      flags: fc.dictionary(fc.constantFrom(...NAMES), texts, { maxKeys: 2 }),
    }),
    async check(input: Input) {
      const { config, env, flags } = input as Given;
      writeFileSync(file, Buffer.from(config, "latin1"));
      const begun = performance.now();
      try {
        const settings = resolveSettings({ flags, env, cwd });
        // What was taken is taken again as it is.
        const again = checkSettings(settings, cwd);
        if (JSON.stringify(again) !== JSON.stringify(settings)) throw new Error("is read as what is read otherwise");
      } catch (error) {
        checkRefusal(error as Error & { code?: string });
      }
      const took = performance.now() - begun;
      if (took > 5_000) throw new Error(`takes ${Math.round(took)} ms`);
    },
    async [Symbol.asyncDispose]() {
      rmSync(cwd, { recursive: true });
    },
  };
};

function checkRefusal(error: Error & { code?: string }): void {
  const { name, code = "", message } = error;
  if (name !== "RuntimeError" || !/^(setting|config)\.invalid$/.test(code)) throw error;
  // oxlint-disable-next-line no-control-regex -- what steers a terminal is what is looked for
  if (/[\u0000-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/.test(message))
    throw new Error(`steers a terminal: ${JSON.stringify(message)}`);
  if (message.length > 5_000) throw new Error(`takes ${message.length} characters to say so`);
  // Where it should not stand at all it is told like anything else.
  const isSecrets =
    /^("databaseUrl"|"s3SecretAccessKey"|NYLORUN_DATABASE_URL|NYLORUN_S3_SECRET_ACCESS_KEY|The config file )/.test(
      message,
    );
  if (isSecrets && message.includes(SECRET)) throw new Error(`tells a secret: ${message}`);
}
