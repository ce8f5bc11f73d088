/** Makes the pages of `docs/reference/`: the settings out of their table, errors and limits out of the code. See `scripts/generate.ts` at the root. */
import { join } from "node:path";

import { CONFIG_FILE } from "../src/node/setting-sources.ts";
import type { Setting } from "../src/node/setting.ts";
import { flagOf, SETTING_NAMES, SETTINGS, variableOf } from "../src/node/settings.ts";
import type { SettingName } from "../src/node/settings.ts";
import { hasLargerUnit, inLargestUnit } from "./reference/amount.ts";
import { errorsPage } from "./reference/errors.ts";
import { limitsPage } from "./reference/limits.ts";

const REFERENCE = join(import.meta.dirname, "../../../docs/reference");

const HEAD = `<!-- Made by packages/runtime/scripts/generate.ts from packages/runtime/src/node/settings.ts. Do not edit. -->

# Settings

Every setting of the Runtime. Each has a default that works.

\`nylorun serve\` looks for a setting in this order, and takes the first it finds:

1. the flag,
2. the environment variable (an empty one counts as none),
3. the config file: \`${CONFIG_FILE}\` in the current folder, or the one that \`--config\` names. It holds one JSON object whose keys are
   the names below, such as \`{"port": 7000}\`; relative paths in it are relative to the file,
4. the default.

A value that is not allowed, and a key that is no setting, end the start with a sentence that says where it stands and what is
allowed. \`startRuntime()\` takes the same names as options, and reads neither the environment nor the config file.
`;

/** What the generated files should hold: absolute path to content. */
export async function generate(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    [join(REFERENCE, "settings.md"), [HEAD, ...SETTING_NAMES.map(section)].join("\n")],
    [join(REFERENCE, "errors.md"), errorsPage()],
    [join(REFERENCE, "limits.md"), limitsPage()],
  ]);
}

function section(name: SettingName): string {
  const setting: Setting<unknown> = SETTINGS[name];
  const rows = [
    ["flag", setting.isSecret ? "none: others could read it" : `\`${flagOf(name)} <${setting.placeholder}>\``],
    ["environment", `\`${variableOf(name)}\``],
    ["allowed", setting.allowed],
    ...(setting.defaultText === undefined ? [] : [["default", `\`${setting.defaultText}\`${inWords(name, setting)}`]]),
  ];
  return `## ${name}\n\n${setting.doc}\n\n| | |\n|---|---|\n${rows.map((row) => `| ${row.join(" | ")} |\n`).join("")}`;
}

/** The default in the largest unit in which it is a whole number. */
function inWords(name: SettingName, { placeholder }: Setting<unknown>): string {
  const value: unknown = SETTINGS[name].default;
  if (typeof value !== "number" || value === 0 || !(placeholder === "ms" || placeholder === "bytes")) return "";
  return hasLargerUnit(value, placeholder) ? ` (${inLargestUnit(value, placeholder)})` : "";
}
