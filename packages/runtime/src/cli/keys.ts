import { Option } from "commander";
import type { Command } from "commander";

import { RuntimeError } from "../node/errors.ts";
import type { KeyRecord } from "../store/store.ts";
import { onHome } from "./on-home.ts";
import { addSettingFlags } from "./setting-flags.ts";
import { formatTable, formatTime } from "./table.ts";

const MORE_ABOUT_ADD = `
A caller sends the key with each request: "Authorization: Bearer <key>".
The key alone goes to stdout, so that a script can keep it:

  nylorun keys add --subject ada > ada.key`;

export function addKeysCommand(program: Command): void {
  const keys = program
    .command("keys")
    .description("Make, list and revoke the API keys of callers and operators.")
    .helpCommand(false);

  const add = keys
    .command("add")
    .description("Make a key, and show it: once, as only its hash is kept.")
    .option("--subject <name>", "For a caller: who it acts as. 1-200 visible ASCII characters.")
    .addOption(
      new Option("--operator", "For an operator: sees how the Runtime does, sends no messages.").conflicts("subject"),
    )
    .addHelpText("after", MORE_ABOUT_ADD)
    .action(async ({ subject, operator }: { subject?: string; operator?: true }) => {
      if (subject === undefined && operator === undefined) {
        throw new RuntimeError("request.invalid", "Say whom the key is for: --subject NAME, or --operator.");
      }
      const holder = subject === undefined ? ({ role: "operator" } as const) : ({ role: "subject", subject } as const);
      const { key, record } = await onHome(add, (operations) => operations.addKey(holder), { make: true });
      process.stdout.write(`${key}\n`);
      process.stderr.write(`Key ${record.id}, of ${holderText(record)}. It is not shown again.\n`);
    });

  const list = keys
    .command("list")
    .description("List the keys: whose they are, never the keys themselves.")
    .option("--json", "Print JSON.")
    .action(async ({ json }: { json?: true }) => {
      const records = await onHome(list, (operations) => operations.listKeys());
      if (json) process.stdout.write(`${JSON.stringify(records, null, 2)}\n`);
      else if (records.length === 0) process.stdout.write("There are no keys yet. Make one: nylorun keys add\n");
      else process.stdout.write(keysTable(records));
    });

  const revoke = keys
    .command("revoke")
    .description("Refuse a key from its next request on.")
    .argument("<id>", 'Its id, as "nylorun keys list" shows it.')
    .action(async (id: string) => {
      await onHome(revoke, (operations) => operations.revokeKey(id));
      process.stderr.write(`Key ${id} is revoked.\n`);
    });

  for (const command of [add, list, revoke]) addSettingFlags(command, ["home"]);
}

function keysTable(records: readonly KeyRecord[]): string {
  return formatTable(
    ["ID", "HOLDER", "MADE", "REVOKED"],
    records.map((record) => [
      record.id,
      holderText(record),
      formatTime(record.createdAt),
      record.revokedAt === undefined ? "-" : formatTime(record.revokedAt),
    ]),
  );
}

function holderText({ holder }: KeyRecord): string {
  return holder.role === "operator" ? "an operator" : holder.subject;
}
