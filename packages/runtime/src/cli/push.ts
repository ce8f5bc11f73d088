import type { Command } from "commander";

import type { DeliveryState, PushDelivery } from "../http/operations.ts";
import { onHome } from "./on-home.ts";
import { addSettingFlags } from "./setting-flags.ts";
import { formatTime } from "./table.ts";

const MORE = `
A delivery tells one webhook of one change of a task. It is tried for a day, and
then given up: kept, and shown here, so that it can be sent again when its
receiver is there. Those that wait are tried by themselves.`;

export function addPushCommand(program: Command): void {
  const push = program
    .command("push")
    .description("See what did not reach its webhook, and send it again.")
    .helpCommand(false)
    .addHelpText("after", MORE);

  const list = push
    .command("list")
    .description("List the deliveries that were given up, and why.")
    .option("--waiting", "Those that wait instead.")
    .option("--json", "Print JSON.")
    .addHelpText("after", MORE)
    .action(async ({ waiting, json }: { waiting?: true; json?: true }) => {
      const state: DeliveryState = waiting ? "waiting" : "given-up";
      const found = await onHome(list, (operations) => operations.deliveries(state));
      if (json) process.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
      else if (found.length === 0)
        process.stdout.write(waiting ? "No delivery waits.\n" : "No delivery was given up.\n");
      else process.stdout.write(found.map(deliveryText).join(""));
    });

  const resend = push
    .command("resend")
    .description("Try deliveries that were given up as if they were new.")
    .argument("<delivery...>", "Their ids, as list shows them.")
    .action(async (ids: string[]) => {
      await onHome(resend, async (operations) => {
        for (const id of ids) await operations.resendDelivery(id);
      });
      process.stderr.write(`${ids.length === 1 ? "It is" : "They are"} tried again.\n`);
    });

  const rotate = push
    .command("rotate-key")
    .description("Sign with a new key from now on. The one before signs beside it for two days.")
    .action(async () => {
      await onHome(rotate, (operations) => operations.rotateWebhookKey());
      process.stderr.write("There is a new key; receivers find it at /.well-known/nylorun-webhook-keys.json.\n");
    });

  for (const command of [list, resend, rotate]) addSettingFlags(command, ["home"]);
}

function deliveryText(delivery: PushDelivery): string {
  const { id, webhookId, url, kind, agent, taskId, subject, createdAt, attempts, error, givenUpAt } = delivery;
  const since = givenUpAt === null ? `since ${formatTime(createdAt)}` : `given up ${formatTime(givenUpAt)}`;
  const tried = attempts === 1 ? "tried once" : `tried ${attempts} times`;
  return `${id}  ${url}  ${since}, ${tried}${error === null ? "" : `: ${error}`}\n  ${kind} of ${taskId} of ${agent}, for ${subject}\n  ${webhookId}\n`;
}
