/** Flags for settings, from the one table that defines them. */
import { Option } from "commander";
import type { Command } from "commander";

import { CONFIG_FILE, resolveSettings } from "../node/setting-sources.ts";
import type { Setting } from "../node/setting.ts";
import { flagOf, SETTING_NAMES, SETTINGS, variableOf } from "../node/settings.ts";
import type { SettingName, Settings } from "../node/settings.ts";

/** Gives a command the flags of some settings, and `--config`. */
export function addSettingFlags(command: Command, names: readonly SettingName[] = SETTING_NAMES): Command {
  command.optionsGroup("Settings:");
  for (const name of names) {
    const { doc, placeholder, defaultText, isSecret }: Setting<unknown> = SETTINGS[name];
    if (isSecret) continue;
    const byDefault = defaultText === undefined ? "" : `default ${defaultText}; `;
    command.addOption(new Option(`${flagOf(name)} <${placeholder}>`, `${doc} (${byDefault}${variableOf(name)})`));
  }
  return command.addOption(
    new Option(
      "--config <file>",
      `A JSON file of settings, named as in ${CONFIG_FILE}. (default ${CONFIG_FILE}, if it is there)`,
    ),
  );
}

/** The settings that a command was called with. @throws RuntimeError `setting.invalid`, `config.invalid`. */
export function settingsOf(command: Command): Settings {
  const { config, ...flags } = command.opts<Record<string, string>>();
  return resolveSettings({ flags, config });
}
