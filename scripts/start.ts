/**
 * `npm start`: serves the example agents, and shows a first call that works as pasted. The same as `nylorun serve` with
 * these files, and takes the same flags after `--`; what it adds is a key for the person at this machine.
 */
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { join, relative } from "node:path";
import { styleText } from "node:util";

import type { Runtime } from "@nylorun/runtime";

// As packages/runtime/bin/nylorun.js does.
const { directory } = enableCompileCache();
if (directory !== undefined) process.env["NODE_COMPILE_CACHE"] ??= directory;

process.chdir(join(import.meta.dirname, ".."));
const { run } = await import("../packages/runtime/src/cli/program.ts");
await run(["serve", ...process.argv.slice(2), ...globSync("examples/agents/*.ts").toSorted()], { announce });

async function announce(runtime: Runtime): Promise<void> {
  const file = join(runtime.home, "local.key");
  const subject = await keyIn(runtime, file, { role: "subject", subject: "local" });
  const operator = await keyIn(runtime, join(runtime.home, "operator.key"), { role: "operator" });
  // Where `npm start` was typed is where the call will be pasted.
  const near = relative(process.env["INIT_CWD"] ?? process.cwd(), file);
  const shown = near.startsWith("..") ? file : near;
  const bold = (text: string) => styleText("bold", text);
  process.stdout.write(`
  Nylorun serves ${runtime.agents.map(({ id }) => bold(id)).join(", ")}
  at ${bold(runtime.url)}
  Your key is in ${bold(shown)}

  See and steer them (this link signs you in, once):

${runtime.dashboardLink({ subject, operator })}

  Try it:

curl -s ${runtime.url}/v1/a2a/agents/echo/ \\
  -H "Authorization: Bearer $(cat '${shown}')" \\
  -H 'Content-Type: application/json' -H 'A2A-Version: 1.0' \\
  -d '{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message":
       {"messageId": "'$(date +%s)'", "role": "ROLE_USER",
        "parts": [{"text": "Hello"}]}}}'

  Ctrl-C stops it.
`);
  // So that it is there when the link is clicked on.
  void fetch(`${runtime.url}/dashboard/`).catch(() => undefined);
}

/** The key of an earlier start, if it still opens this Runtime; else a new one, left there. */
async function keyIn(runtime: Runtime, file: string, holder: Parameters<Runtime["addKey"]>[0]): Promise<string> {
  const before = existsSync(file) ? readFileSync(file, "utf8").trim() : "";
  const path = holder.role === "operator" ? "/v1/operator/turns/held" : "/v1/agents";
  if (/^[!-~]+$/.test(before)) {
    const { ok } = await fetch(`${runtime.url}${path}`, { headers: { authorization: `Bearer ${before}` } });
    if (ok) return before;
  }
  const key = await runtime.addKey(holder);
  writeFileSync(file, `${key}\n`, { mode: 0o600 });
  return key;
}
