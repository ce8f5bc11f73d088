import { Option } from "commander";
import type { Command } from "commander";

import type { LostEffect } from "../http/operations.ts";
import { RuntimeError } from "../node/errors.ts";
import type { Resolution } from "../turn/engine.ts";
import { onHome } from "./on-home.ts";
import { askLine, canAsk } from "./prompt.ts";
import { addSettingFlags } from "./setting-flags.ts";
import { formatTime } from "./table.ts";

const MORE = `
An effect is lost when nobody knows what became of it: its process died while it
ran, or it took too long. If it must not be done twice, its turn stops there, and
its caller sees it as working. Look where the effect would show (at the payment
provider, say), then say what became of it:

  nylorun effects resolve ID --completed '{"id": 7}'   it was done, and gave this
  nylorun effects resolve ID --failed "Card refused"   it was not done
  nylorun effects resolve ID --retry                   try it once more`;

const WHY: { readonly [Why in LostEffect["why"]]: string } = {
  died: "its process died while it ran",
  timeout: "it took longer than it may",
  aborted: "it was told to stop, and did not say how far it came",
  unknown: "its code does not know what became of it",
};

interface Verdict {
  readonly completed?: true | string;
  readonly failed?: string;
  readonly retry?: true;
  readonly yes?: true;
}

export function addEffectsCommand(program: Command): void {
  const effects = program
    .command("effects")
    .description("See and resolve the effects whose outcome is lost.")
    .helpCommand(false)
    .addHelpText("after", MORE);

  const list = effects
    .command("list")
    .description("List the effects whose outcome is lost, and why.")
    .option("--json", "Print JSON.")
    .addHelpText("after", MORE)
    .action(async ({ json }: { json?: true }) => {
      const found = await onHome(list, (operations) => operations.lostEffects());
      if (json) process.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
      else if (found.length === 0) process.stdout.write("No effect is lost.\n");
      else process.stdout.write((await effectTexts(found)).join(""));
    });

  const resolve = effects
    .command("resolve")
    .description("Say what became of a lost effect; its turn goes on accordingly.")
    .argument("<effect>", 'Its id, as "nylorun effects list" shows it.')
    .addOption(
      new Option("--completed [json]", "It was done. JSON: what it gave; without, nothing.").conflicts("failed"),
    )
    .addOption(new Option("--failed <text>", "It was not done: the error that the agent gets.").conflicts("retry"))
    .addOption(new Option("--retry", "Try it once more, with the same key.").conflicts("completed"))
    .option("--yes", "With --retry: do not ask whether that is all right.")
    .addHelpText("after", MORE)
    .action(async (id: string, verdict: Verdict) => {
      const resolution = resolutionOf(verdict);
      if (resolution.outcome === "retry" && verdict.yes !== true && !(await confirmRetry(id))) {
        process.stderr.write("Nothing was done.\n");
        process.exitCode = 1;
        return;
      }
      await onHome(resolve, (operations) => operations.resolveEffect(id, resolution));
      process.stderr.write(
        `Effect ${id} ${{ completed: "is completed", failed: "has failed", retry: "is tried once more" }[resolution.outcome]}.\n`,
      );
    });

  for (const command of [list, resolve]) addSettingFlags(command, ["home"]);
}

async function effectTexts(effects: readonly LostEffect[]): Promise<readonly string[]> {
  const { plainText } = await import("@nylorun/protocol");
  return effects.map(
    ({ effectId, name, why, lostAt, subject, agent, agentVersion, state, taskId }) => `${effectId}  ${plainText(name)}
  since ${formatTime(lostAt)}: ${WHY[why]}
  of ${subject}, ${agent} ${agentVersion}, ${state}
  task ${taskId}
`,
  );
}

function resolutionOf({ completed, failed, retry }: Verdict): Resolution {
  if (failed !== undefined) return { outcome: "failed", message: failed };
  if (retry === true) return { outcome: "retry" };
  if (completed === true) return { outcome: "completed", value: undefined };
  if (completed !== undefined) return { outcome: "completed", value: parse(completed) };
  throw new RuntimeError("request.invalid", "Say what became of it: --completed [JSON], --failed TEXT, or --retry.");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    const came = text.length > 80 ? `${text.slice(0, 80)}…` : text;
    throw new RuntimeError(
      "request.invalid",
      `--completed takes JSON, such as '{"id": 7}' or '"done"'; it got ${came}`,
    );
  }
}

async function confirmRetry(id: string): Promise<boolean> {
  const warning = "The old attempt may still be running, or be done already; then a retry does it twice";
  if (!canAsk()) throw new RuntimeError("request.invalid", `${warning}. If that is all right, say --yes.`);
  process.stderr.write(`${warning},\nunless whoever does it knows it by its key, which stays the same.\n`);
  return /^y(es)?$/i.test((await askLine(`Try ${id} once more? [y/N] `)) ?? "");
}
