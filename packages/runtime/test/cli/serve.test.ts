import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { Place } from "./nylorun.ts";
import type { Ended, Serving } from "./nylorun.ts";

/** One sentence on stderr, nothing on stdout, exit code 1. */
function assertRefused({ code, stdout, stderr }: Ended, sentence: RegExp): void {
  assert.match(stderr, sentence);
  assert.deepEqual([code, stdout], [1, ""]);
  assert.equal(stderr.trimEnd().split("\n").length, 1, stderr);
  assert.ok(stderr.startsWith("nylorun: "), stderr);
}

/** Waits until it holds. */
async function holds(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt++) {
    if (await condition()) return;
    await delay(20);
  }
  throw new Error(`This never held: ${condition.toString()}`);
}

describe("nylorun serve, given something wrong, says it in a sentence and exits with 1:", () => {
  it("a flag that there is not, one without its value, no file", async () => {
    await using place = new Place();
    assertRefused(
      await place.run(["serve", "--prot", "1", "a.ts"]),
      /unknown option '--prot' \(Did you mean --port\?\)/,
    );
    assertRefused(await place.run(["serve", "a.ts", "--port"]), /option '--port <number>' argument missing/);
    assertRefused(await place.run(["serve"]), /missing required argument 'file'/);
    assertRefused(await place.run(["sevre"]), /unknown command 'sevre' \(Did you mean serve\?\)/);
  });

  it("a setting out of range, wherever it stands", async () => {
    await using place = new Place();
    const agent = place.agent("echo");
    const must = "must be a whole number from 0 to 65535; it is";
    assertRefused(
      await place.run(["serve", agent, "--port", "eighty"]),
      new RegExp(`^nylorun: --port ${must} "eighty"\\.$`, "m"),
    );
    assertRefused(
      await place.run(["serve", agent], { NYLORUN_PORT: "-1" }),
      new RegExp(`^nylorun: NYLORUN_PORT in the environment ${must} "-1"\\.$`, "m"),
    );
    place.write("nylorun.config.json", '{"port": 1e9}');
    assertRefused(
      await place.run(["serve", agent]),
      new RegExp(`^nylorun: "port" in ${place.folder}/nylorun\\.config\\.json ${must} 1000000000\\.$`, "m"),
    );
    assert.ok(!existsSync(place.home));
  });

  it("a config file that is broken, or has a key that is no setting", async () => {
    await using place = new Place();
    const agent = place.agent("echo");
    assertRefused(
      await place.run(["serve", agent, "--config", "gone.json"]),
      /The config file .*gone\.json cannot be read: there is no such file\.$/m,
    );
    place.write("nylorun.config.json", "{port: 1}");
    assertRefused(await place.run(["serve", agent]), /nylorun\.config\.json is not JSON: .*line 1 column 2/);
    place.write("nylorun.config.json", '{"turnTimeout": 1}');
    assertRefused(
      await place.run(["serve", agent]),
      /"turnTimeout" in .* is no setting\. Did you mean "turnTimeoutMs"\?$/m,
    );
  });

  it("an address that callers could not use", async () => {
    await using place = new Place();
    assertRefused(
      await place.run(["serve", place.agent("echo"), "--host", "0.0.0.0"]),
      /say under which address: --public-url/,
    );
    assertRefused(
      await place.run(["serve", place.agent("echo"), "--host", "192.0.2.1"]),
      /192\.0\.2\.1 is no address of this machine/,
    );
  });

  it("a file that is not there, does not load or exports no agent", async () => {
    await using place = new Place();
    assertRefused(await place.run(["serve", "gone.ts"]), /^nylorun: gone\.ts: there is no such file\.$/m);
    assertRefused(
      await place.run(["serve", place.write("bad.ts", "\nthrow new Error('boo');")]),
      /^nylorun: bad\.ts does not load: boo \(line 2\)\.$/m,
    );
    assertRefused(
      await place.run(["serve", place.write("syntax.ts", "enum A { B }")]),
      /^nylorun: syntax\.ts does not load: SyntaxError: .* \(line 1\)\.$/m,
    );
    assertRefused(
      await place.run(["serve", place.write("none.ts", "export default 7;")]),
      /^nylorun: none\.ts exports no agent\./m,
    );
  });

  it("two agents with one id, or a default agent that there is not", async () => {
    await using place = new Place();
    const echo = place.agent("echo");
    const again = place.write("again.ts", readFileSync(join(place.folder, echo), "utf8"));
    assertRefused(
      await place.run(["serve", echo, again]),
      /^nylorun: echo\.ts and again\.ts export two agents with the id "echo"\. Rename one\.$/m,
    );
    assertRefused(await place.run(["serve", echo, "--default-agent", "ehco"]), /"ehco".*Did you mean "echo"\?$/m);
  });

  it("a database of a newer version, or what is none", async () => {
    await using place = new Place();
    const agent = place.agent("echo");
    await place.addKey("--subject", "ada");
    {
      using database = new DatabaseSync(join(place.home, "nylorun.db"));
      database.exec("PRAGMA user_version = 1000");
    }
    assertRefused(
      await place.run(["serve", agent, "--port", "0"]),
      /nylorun\.db was written by a newer version of Nylorun/,
    );
    assertRefused(await place.run(["keys", "list"]), /nylorun\.db was written by a newer version of Nylorun/);
    place.write(".nylorun/nylorun.db", "This is no database.".repeat(1000));
    assertRefused(await place.run(["serve", agent, "--port", "0"]), /nylorun\.db cannot be .* a database/);
  });

  it("a home that another process serves", async () => {
    await using place = new Place();
    const agent = place.agent("echo");
    const first = await place.serve([agent]);
    assertRefused(
      await place.run(["serve", agent, "--port", "0"]),
      new RegExp(
        `^nylorun: Process ${first.pid} serves the home ${place.home}\\. Stop it, or choose another home with --home\\.$`,
        "m",
      ),
    );
  });

  it("a folder that is no home", async () => {
    await using place = new Place();
    assertRefused(
      await place.run(["serve", place.agent("echo"), "--home", "."]),
      /is no home: it holds other things \(echo\.ts\)/,
    );
  });

  it("a port that is taken, and has run nothing then", async () => {
    await using place = new Place();
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    try {
      assertRefused(
        await place.run(["serve", place.agent("echo"), "--port", String(port)]),
        new RegExp(`^nylorun: Port ${port} on 127\\.0\\.0\\.1 is taken by another program\\.`, "m"),
      );
    } finally {
      other.close();
    }
  });
});

describe("nylorun serve", () => {
  it("says where it serves, and keeps its home to its user", async () => {
    await using place = new Place();
    const serving = await place.serve([place.agent("echo"), place.agent("longer-name")]);
    const url = await serving.ready;
    assert.equal(
      serving.stdout,
      `Serving at ${url} (home: ${place.home})\n  echo         ${url}/v1/a2a/agents/echo/\n  longer-name  ${url}/v1/a2a/agents/longer-name/\nDashboard at ${url}/dashboard/\n`,
    );
    assert.equal(serving.stderr, "");
    assert.equal(statSync(place.home).mode & 0o777, 0o700);
    const modes = readdirSync(place.home).map((name) => [name, statSync(join(place.home, name)).mode & 0o777]);
    assert.deepEqual(
      modes,
      ["control.sock", "home.lock", "nylorun.db", "nylorun.db-shm", "nylorun.db-wal", "owner.json"].map((name) => [
        name,
        0o600,
      ]),
    );
    assert.equal((await fetch(`${url}/health`)).status, 200);
    assert.equal((await fetch(`${url}/ready`)).status, 200);
    const card = (await (await fetch(`${url}/v1/a2a/agents/echo/.well-known/agent-card.json`)).json()) as {
      supportedInterfaces: { url: string }[];
    };
    assert.ok(card.supportedInterfaces[0]?.url.startsWith(`${url}/v1/a2a/agents/echo`));
  });

  it("serves a home whose path is too long for a socket, and commands find it", async () => {
    await using place = new Place();
    const home = join(place.folder, "long".repeat(30), "er".repeat(40));
    await place.serve([place.agent("echo")], { NYLORUN_HOME: home });
    assert.equal((await place.run(["keys", "add", "--subject", "ada", "--home", home])).code, 0);
  });

  it("lets running turns end at SIGTERM, answers who waits for them, takes no new ones, and exits with 0", async () => {
    await using place = new Place();
    const key = await place.addKey("--subject", "ada");
    const started = join(place.folder, "started");
    const slow = place.agent("slow", `writeFileSync(${JSON.stringify(started)}, ""); await delay(700); return "done";`);
    const serving = await place.serve([slow]);
    const waiting = serving.send(key, "slow", "Go");
    await holds(() => existsSync(started));
    serving.signal("SIGTERM");
    await delay(100);
    await assert.rejects(async () => {
      const { status } = await serving.send(key, "slow", "One more");
      if (status === 503) throw new Error("refused");
    });
    const { result } = await waiting;
    assert.equal(result?.task.status.state, "TASK_STATE_COMPLETED");
    assert.equal(await serving.ended(), 0);
    const rows = turnStates(place);
    assert.deepEqual(rows, ["completed"]);
  });

  for (const how of ["SIGTERM", "SIGINT", "SIGKILL"] as const) {
    it(`resumes after ${how} what was not done in time`, async () => {
      await using place = new Place();
      const key = await place.addKey("--subject", "ada");
      const healed = join(place.folder, "healed");
      const started = join(place.folder, "started");
      const stuck = place.agent(
        "stuck",
        `
        appendFileSync(${JSON.stringify(started)}, "x");
        while (!existsSync(${JSON.stringify(healed)})) await delay(20);
        return "done";`,
      );
      const env = { NYLORUN_STOP_GRACE_MS: "200", NYLORUN_LEASE_MS: "1000" };
      const first = await place.serve([stuck], env);
      const { result } = await first.send(key, "stuck", "Go", { returnImmediately: true });
      const id = result?.task.id ?? "";
      const waiting =
        how === "SIGKILL" ? undefined : first.send(key, "stuck", "Go on", { message: { contextId: "other" } });
      const runs = waiting === undefined ? "x" : "xx";
      await holds(() => existsSync(started) && readFileSync(started, "utf8") === runs);

      assert.equal(await first.kill(how), how === "SIGKILL" ? "SIGKILL" : 0);
      // Who waits is told how far it is, not cut off.
      if (waiting !== undefined) assert.equal((await waiting).result?.task.status.state, "TASK_STATE_WORKING");

      const second = await place.serve([stuck], env);
      place.write("healed", "");
      await holds(async () => (await second.get(key, "stuck", id)).status.state === "TASK_STATE_COMPLETED");
      const task = await second.get(key, "stuck", id);
      assert.equal(task.artifacts?.[0]?.parts[0]?.text, "done");
    });
  }

  it("ends at once at a second signal", async () => {
    await using place = new Place();
    const key = await place.addKey("--subject", "ada");
    const serving = await place.serve([place.agent("stuck", "await delay(60_000);")]);
    await serving.send(key, "stuck", "Go", { returnImmediately: true });
    serving.signal("SIGINT");
    // npm passes on the Ctrl-C that the terminal sent us as well.
    serving.signal("SIGINT");
    await delay(1_000);
    assert.equal(serving.stderr.match(/Stopping/g)?.length, 1);
    const asked = performance.now();
    assert.equal(await serving.kill("SIGINT"), 130);
    assert.ok(performance.now() - asked < 500);
  });

  it("starts again right after kill -9, time after time", async () => {
    await using place = new Place();
    const agent = place.agent("echo");
    const key = await place.addKey("--subject", "ada");
    for (let round = 0; round < 3; round++) {
      const serving: Serving = await place.serve([agent]);
      assert.equal((await serving.send(key, "echo", "Hello")).result?.task.status.state, "TASK_STATE_COMPLETED");
      assert.equal(await serving.kill("SIGKILL"), "SIGKILL");
      // The dead process's socket and owner are still there; a command is not taken in by them.
      assert.ok(existsSync(join(place.home, "control.sock")));
      assert.match((await place.run(["keys", "list"])).stdout, /^1 {3}ada/m);
    }
  });

  it("fails the turn, and that turn alone, whose code fails where nobody listens", async () => {
    await using place = new Place();
    const key = await place.addKey("--subject", "ada");
    const other = place.agent("other", 'await delay(400); return "done";');
    const rejects = place.agent("rejects", 'void Promise.reject(new Error("boo")); await delay(60_000);');
    const throws = place.agent("throws", 'setTimeout(() => { throw new Error("boo"); }, 10); await delay(60_000);');
    const late = place.agent("late", 'setTimeout(() => { throw new Error("boo"); }, 100); return "done";');
    const serving = await place.serve([other, rejects, throws, late]);
    const states = ["other", "rejects", "throws", "late"].map(async (agent) => {
      const { result } = await serving.send(key, agent, "Go");
      return result?.task.status.state;
    });
    assert.deepEqual(await Promise.all(states), [
      "TASK_STATE_COMPLETED",
      "TASK_STATE_FAILED",
      "TASK_STATE_FAILED",
      "TASK_STATE_COMPLETED",
    ]);
    assert.equal((await fetch(`${await serving.ready}/health`)).status, 200);
    await holds(() => serving.stderr.match(/An agent's code /g)?.length === 3);
  });

  it("says nothing of keys or messages in its log", async () => {
    await using place = new Place();
    const key = await place.addKey("--subject", "ada");
    const serving = await place.serve([place.agent("loud", 'throw new Error("boo");')], { NYLORUN_LOG_LEVEL: "debug" });
    await serving.send(key, "loud", "my secret");
    await serving.send(`${key.slice(0, -1)}x`, "loud", "my secret");
    await serving.kill("SIGTERM");
    assert.ok(!serving.stderr.includes("nyl_") && !serving.stderr.includes("my secret"), serving.stderr);
    for (const line of serving.stderr.trimEnd().split("\n")) JSON.parse(line);
  });
});

function turnStates(place: Place): string[] {
  using database = new DatabaseSync(join(place.home, "nylorun.db"), { readOnly: true });
  return database
    .prepare("SELECT state FROM turns ORDER BY turn")
    .all()
    .map(({ state }) => String(state));
}
