import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";

import { checkSettings, resolveSettings } from "../../src/node/setting-sources.ts";
import type { SettingsSources } from "../../src/node/setting-sources.ts";
import type { Setting } from "../../src/node/setting.ts";
import { flagOf, SETTING_NAMES, SETTINGS, variableOf } from "../../src/node/settings.ts";
import type { SettingName } from "../../src/node/settings.ts";

const folder = mkdtempSync(join(tmpdir(), "nylorun-settings-"));
after(() => rmSync(folder, { recursive: true }));

let files = 0;
function configFile(content: unknown): string {
  const path = join(folder, `${++files}.json`);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

function settings(sources: Partial<SettingsSources> = {}) {
  return resolveSettings({ flags: {}, env: {}, cwd: folder, ...sources });
}

function refusal(sources: Partial<SettingsSources>): { code: string; message: string } {
  try {
    settings(sources);
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    assert.ok(!message.includes("\n"), "one sentence is one line");
    return { code, message };
  }
  return assert.fail(`${JSON.stringify(sources)} was taken`);
}

describe("settings", () => {
  it("have these names, flags, variables and defaults", () => {
    const listed = SETTING_NAMES.map((name) => {
      const { isSecret, defaultText }: Setting<unknown> = SETTINGS[name];
      return [name, isSecret ? "-" : flagOf(name), variableOf(name), defaultText ?? "-"];
    });
    assert.deepEqual(listed, [
      ["home", "--home", "NYLORUN_HOME", ".nylorun"],
      ["databaseUrl", "-", "NYLORUN_DATABASE_URL", "-"],
      ["databaseSchema", "--database-schema", "NYLORUN_DATABASE_SCHEMA", "nylorun"],
      ["databaseConnections", "--database-connections", "NYLORUN_DATABASE_CONNECTIONS", "10"],
      ["host", "--host", "NYLORUN_HOST", "127.0.0.1"],
      ["port", "--port", "NYLORUN_PORT", "6956"],
      ["publicUrl", "--public-url", "NYLORUN_PUBLIC_URL", "-"],
      ["allowedHosts", "--allowed-hosts", "NYLORUN_ALLOWED_HOSTS", "-"],
      ["corsOrigins", "--cors-origins", "NYLORUN_CORS_ORIGINS", "-"],
      ["jwtIssuers", "--jwt-issuers", "NYLORUN_JWT_ISSUERS", "-"],
      ["defaultAgent", "--default-agent", "NYLORUN_DEFAULT_AGENT", "-"],
      ["providerName", "--provider-name", "NYLORUN_PROVIDER_NAME", "-"],
      ["providerUrl", "--provider-url", "NYLORUN_PROVIDER_URL", "-"],
      ["documentationUrl", "--documentation-url", "NYLORUN_DOCUMENTATION_URL", "-"],
      ["traceUrl", "--trace-url", "NYLORUN_TRACE_URL", "-"],
      ["iconUrl", "--icon-url", "NYLORUN_ICON_URL", "-"],
      ["cardKey", "--card-key", "NYLORUN_CARD_KEY", "-"],
      ["pushSecret", "-", "NYLORUN_PUSH_SECRET", "-"],
      ["pushSecretFile", "--push-secret-file", "NYLORUN_PUSH_SECRET_FILE", "-"],
      ["pushHosts", "--push-hosts", "NYLORUN_PUSH_HOSTS", "-"],
      ["a2aWaitMs", "--a2a-wait-ms", "NYLORUN_A2A_WAIT_MS", "300000"],
      ["messageDedupeMs", "--message-dedupe-ms", "NYLORUN_MESSAGE_DEDUPE_MS", "86400000"],
      ["contextQueueDepth", "--context-queue-depth", "NYLORUN_CONTEXT_QUEUE_DEPTH", "100"],
      ["bodyBytes", "--body-bytes", "NYLORUN_BODY_BYTES", "8388608"],
      ["maxRunningTurns", "--max-running-turns", "NYLORUN_MAX_RUNNING_TURNS", "256"],
      ["maxConnections", "--max-connections", "NYLORUN_MAX_CONNECTIONS", "10000"],
      ["requestTimeoutMs", "--request-timeout-ms", "NYLORUN_REQUEST_TIMEOUT_MS", "120000"],
      ["subjectRequestsPerSecond", "--subject-requests-per-second", "NYLORUN_SUBJECT_REQUESTS_PER_SECOND", "0"],
      ["subjectOpenWaits", "--subject-open-waits", "NYLORUN_SUBJECT_OPEN_WAITS", "1000"],
      ["subjectRunningTurns", "--subject-running-turns", "NYLORUN_SUBJECT_RUNNING_TURNS", "100000"],
      ["subjectQueuedTurns", "--subject-queued-turns", "NYLORUN_SUBJECT_QUEUED_TURNS", "10000"],
      ["subjectStoredBytes", "--subject-stored-bytes", "NYLORUN_SUBJECT_STORED_BYTES", "10737418240"],
      ["fileBytes", "--file-bytes", "NYLORUN_FILE_BYTES", "104857600"],
      ["totalBytes", "--total-bytes", "NYLORUN_TOTAL_BYTES", "10737418240"],
      ["fileHosts", "--file-hosts", "NYLORUN_FILE_HOSTS", "-"],
      ["fileFetchMs", "--file-fetch-ms", "NYLORUN_FILE_FETCH_MS", "120000"],
      ["fileLinkMs", "--file-link-ms", "NYLORUN_FILE_LINK_MS", "300000"],
      ["fileFolder", "--file-folder", "NYLORUN_FILE_FOLDER", "-"],
      ["s3Url", "--s3-url", "NYLORUN_S3_URL", "-"],
      ["s3Region", "--s3-region", "NYLORUN_S3_REGION", "-"],
      ["s3AccessKeyId", "--s3-access-key-id", "NYLORUN_S3_ACCESS_KEY_ID", "-"],
      ["s3SecretAccessKey", "-", "NYLORUN_S3_SECRET_ACCESS_KEY", "-"],
      ["turnRetentionMs", "--turn-retention-ms", "NYLORUN_TURN_RETENTION_MS", "2592000000"],
      ["journalRetentionMs", "--journal-retention-ms", "NYLORUN_JOURNAL_RETENTION_MS", "604800000"],
      ["usageRetentionMs", "--usage-retention-ms", "NYLORUN_USAGE_RETENTION_MS", "34560000000"],
      ["giveUpRetentionMs", "--give-up-retention-ms", "NYLORUN_GIVE_UP_RETENTION_MS", "604800000"],
      ["minFreeBytes", "--min-free-bytes", "NYLORUN_MIN_FREE_BYTES", "67108864"],
      ["turnTimeoutMs", "--turn-timeout-ms", "NYLORUN_TURN_TIMEOUT_MS", "3600000"],
      ["cancelGraceMs", "--cancel-grace-ms", "NYLORUN_CANCEL_GRACE_MS", "10000"],
      ["leaseMs", "--lease-ms", "NYLORUN_LEASE_MS", "15000"],
      ["replayStallMs", "--replay-stall-ms", "NYLORUN_REPLAY_STALL_MS", "30000"],
      ["stopGraceMs", "--stop-grace-ms", "NYLORUN_STOP_GRACE_MS", "10000"],
      ["logLevel", "--log-level", "NYLORUN_LOG_LEVEL", "info"],
    ]);
  });

  it("have defaults that are allowed", () => {
    assert.deepEqual(settings(), checkSettings({}, folder));
    assert.equal(settings().home, join(folder, ".nylorun"));
    assert.equal(settings().publicUrl, undefined);
    assert.deepEqual(settings().allowedHosts, []);
  });

  it("come from the flag, else the environment, else the config file, else the default", () => {
    const config = configFile({ port: 3 });
    assert.equal(settings({ flags: { port: "1" }, env: { NYLORUN_PORT: "2" }, config }).port, 1);
    assert.equal(settings({ env: { NYLORUN_PORT: "2" }, config }).port, 2);
    assert.equal(settings({ env: { NYLORUN_PORT: "" }, config }).port, 3, "an empty variable counts as none");
    assert.equal(settings({ config }).port, 3);
    assert.equal(settings().port, 6956);
  });

  it("are read from nylorun.config.json when it is there", () => {
    const cwd = join(folder, "project");
    mkdirSync(cwd);
    writeFileSync(join(cwd, "nylorun.config.json"), '\uFEFF{"allowedHosts": ["Agents.Example.com"], "home": "data"}');
    const read = settings({ cwd });
    assert.deepEqual(read.allowedHosts, ["agents.example.com"]);
    assert.equal(read.home, join(cwd, "data"));
  });

  it("resolve paths against where they were written", () => {
    mkdirSync(join(folder, "elsewhere"));
    const config = join(folder, "elsewhere", "config.json");
    writeFileSync(config, '{"home": "data"}');
    assert.equal(settings({ config: "elsewhere/config.json" }).home, join(folder, "elsewhere", "data"));
    assert.equal(settings({ flags: { home: "data" }, config }).home, join(folder, "data"));
    assert.equal(settings({ env: { NYLORUN_HOME: "~/n" } }).home, join(homedir(), "n"));
  });

  it("normalise addresses", () => {
    const flags = {
      publicUrl: "HTTPS://Agents.Example.com:443/team/",
      host: "[::1]",
      allowedHosts: "a.example, B.example",
      corsOrigins: "HTTPS://App.Example.com:443/, http://127.0.0.1:5173",
    };
    const read = settings({ flags });
    assert.equal(read.publicUrl, "https://agents.example.com/team");
    assert.equal(read.host, "::1");
    assert.deepEqual(read.allowedHosts, ["a.example", "b.example"]);
    assert.deepEqual(read.corsOrigins, ["https://app.example.com", "http://127.0.0.1:5173"]);
  });

  it("name issuers in JSON, on the command line too", () => {
    const issuer = {
      name: "app",
      issuer: "https://id.example.com",
      audience: "nylorun",
      jwksUrl: "https://id.example.com/keys",
    };
    assert.deepEqual(settings({ flags: { jwtIssuers: JSON.stringify([issuer]) } }).jwtIssuers, [issuer]);
    assert.deepEqual(settings({ config: configFile({ jwtIssuers: [issuer] }) }).jwtIssuers, [issuer]);
    const pair = generateKeyPairSync("ed25519");
    const [publicKey, privateKey] = [pair.publicKey, pair.privateKey].map((key) => key.export({ format: "jwk" }));
    const local = {
      name: "local",
      issuer: "x",
      audience: "y",
      subject: "a-{tenant}/{sub}-",
      jwks: { keys: [publicKey] },
    };
    assert.deepEqual(settings({ config: configFile({ jwtIssuers: [local] }) }).jwtIssuers, [local]);
    const wrong = [
      { ...issuer, name: "App" },
      { ...issuer, audience: "" },
      { ...issuer, jwksUrl: "http://id.example.com/keys" },
      { ...issuer, jwks: { keys: [] } },
      { ...issuer, jwksUrl: undefined },
      { ...issuer, secret: "x" },
      { ...issuer, subject: "{tenant}{sub}" },
      { ...issuer, subject: "{sub" },
      { ...issuer, subject: "" },
      { ...issuer, jwksUrl: undefined, jwks: { keys: [] } },
      { ...issuer, jwksUrl: undefined, jwks: { keys: [null] } },
      { ...issuer, jwksUrl: undefined, jwks: { keys: [{ kty: "RSA" }] } },
      { ...issuer, jwksUrl: undefined, jwks: { keys: [publicKey, privateKey] } },
    ];
    for (const one of wrong)
      assert.equal(refusal({ config: configFile({ jwtIssuers: [one] }) })?.code, "setting.invalid");
    assert.equal(refusal({ config: configFile({ jwtIssuers: [issuer, issuer] }) })?.code, "setting.invalid");
  });

  const refused: readonly [SettingName, string][] = [
    ["port", "65536"],
    ["port", "-1"],
    ["port", "80.5"],
    ["port", "0x50"],
    ["port", "1e3"],
    ["port", " 80"],
    ["port", "eighty"],
    ["bodyBytes", "8MB"],
    ["leaseMs", "999"],
    ["turnTimeoutMs", "0"],
    ["maxRunningTurns", "99999999999999999999"],
    ["host", "http://localhost"],
    ["host", "local host"],
    ["host", "127.0.0.1:80"],
    ["publicUrl", "agents.example.com"],
    ["publicUrl", "ftp://agents.example.com"],
    ["publicUrl", "https://user:word@agents.example.com"],
    ["publicUrl", "https://agents.example.com/?a"],
    ["publicUrl", "https://agents.example.com/#"],
    ["allowedHosts", "a.example,,b.example"],
    ["allowedHosts", "a.example:80"],
    ["allowedHosts", "*"],
    ["corsOrigins", "*"],
    ["corsOrigins", "app.example.com"],
    ["corsOrigins", "null"],
    ["corsOrigins", "https://app.example.com/path"],
    ["jwtIssuers", "{}"],
    ["jwtIssuers", "app"],
    ["defaultAgent", "Echo"],
    ["logLevel", "trace"],
    ["logLevel", "INFO"],
    ["home", "a\0b"],
  ];

  it("are refused outside of their range, saying where they came from, what is allowed and what came", () => {
    for (const [name, value] of refused) {
      const { allowed } = SETTINGS[name];
      const came = `must be ${allowed}; it is ${JSON.stringify(value)}.`;
      assert.deepEqual(refusal({ flags: { [name]: value } }), {
        code: "setting.invalid",
        message: `${flagOf(name)} ${came}`,
      });
      assert.deepEqual(refusal({ env: { [variableOf(name)]: value } }), {
        code: "setting.invalid",
        message: `${variableOf(name)} in the environment ${came}`,
      });
      if (name === "allowedHosts") continue;
      const config = configFile({ [name]: value });
      assert.deepEqual(refusal({ config }), { code: "setting.invalid", message: `"${name}" in ${config} ${came}` });
    }
  });

  it("are refused in a config file when they have another type", () => {
    for (const [name, value] of Object.entries({
      port: "80",
      host: 7,
      allowedHosts: "a.example",
      home: null,
      bodyBytes: 2048.5,
    })) {
      const config = configFile({ [name]: value });
      const { code, message } = refusal({ config });
      assert.equal(code, "setting.invalid");
      assert.ok(message.startsWith(`"${name}" in ${config} must be `), message);
      assert.ok(message.endsWith(`it is ${JSON.stringify(value)}.`), message);
    }
  });

  it("are refused when a program gives one that is not allowed", () => {
    assert.throws(() => checkSettings({ port: 70_000 }, folder), {
      code: "setting.invalid",
      message: "The option port must be a whole number from 0 to 65535; it is 70000.",
    });
    assert.throws(() => checkSettings({ leaseMs: NaN }, folder), { code: "setting.invalid" });
  });
});

describe("a config file", () => {
  it("with an unknown key is refused, naming the nearest one", () => {
    const near = configFile({ a2aWaitMS: 1 });
    assert.deepEqual(refusal({ config: near }), {
      code: "config.invalid",
      message: `"a2aWaitMS" in ${near} is no setting. Did you mean "a2aWaitMs"?`,
    });
    const prot = configFile({ prot: 1 });
    assert.match(refusal({ config: prot }).message, /Did you mean "port"\?$/);
    const far = configFile({ colour: "red" });
    assert.match(
      refusal({ config: far }).message,
      /"colour" in .* is no setting\. The settings are home, databaseUrl, /,
    );
    const inherited = configFile('{"__proto__": {"port": 1}}');
    assert.match(refusal({ config: inherited }).message, /"__proto__" in .* is no setting/);
  });

  it("that is not there, no file, not JSON or no object is refused, saying so", () => {
    const named = join(folder, "nowhere.json");
    assert.deepEqual(refusal({ config: "nowhere.json" }), {
      code: "config.invalid",
      message: `The config file ${named} cannot be read: there is no such file.`,
    });
    assert.match(refusal({ config: folder }).message, /cannot be read: it is a folder\.$/);
    const broken = configFile('{\n  "port": 80,\n}');
    assert.match(refusal({ config: broken }).message, /is not JSON: .*line 3 column 1/);
    const secret = configFile('{"s3SecretAccessKey": hush-hush}');
    assert.doesNotMatch(refusal({ config: secret }).message, /hush/);
    const steering = configFile({ "\u001B[2J\u009B\u202E": 1 });
    assert.match(refusal({ config: steering }).message, /^"\\u001b\[2J\\u009b\\u202e" in /);
    const long = configFile({ ["x".repeat(100_000)]: 1 });
    assert.ok(refusal({ config: long }).message.length < 5_000);
    assert.throws(() => checkSettings({ port: 5n } as never, folder), { code: "setting.invalid" });
    for (const value of ["[]", "null", "7"]) {
      assert.match(refusal({ config: configFile(value) }).message, /must hold one JSON object/);
    }
  });
});
