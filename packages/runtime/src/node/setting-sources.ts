/** Where the values of settings come from, in this order: flag, environment, config file, default. */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";

import { RuntimeError } from "./errors.ts";
import type { Setting } from "./setting.ts";
import { flagOf, SETTING_NAMES, SETTINGS, variableOf } from "./settings.ts";
import type { SettingName, Settings, SomeSettings } from "./settings.ts";
import { nearest } from "./spelling.ts";

/** The config file that is read when it is there and no other is named. */
export const CONFIG_FILE = "nylorun.config.json";

export interface SettingsSources {
  /** Values of flags, as typed. */
  readonly flags: { readonly [Name in SettingName]?: string | undefined };
  /** Default: this process's. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The config file that `--config` names. */
  readonly config?: string | undefined;
  /** What relative paths are relative to; those of the config file are relative to its own folder. Default: the current folder. */
  readonly cwd?: string;
}

/**
 * Reads all settings.
 *
 * @throws RuntimeError `setting.invalid`, `config.invalid`: which value, where it stands, what is allowed.
 */
export function resolveSettings({ flags, env = process.env, config, cwd = process.cwd() }: SettingsSources): Settings {
  const file = readConfigFile(cwd, config);
  return fill((name, setting) => {
    const flag = flags[name];
    if (flag !== undefined) return setting.fromText(flag, cwd) ?? refuse(flagOf(name), setting, flag);
    const variable = env[variableOf(name)];
    if (variable !== undefined && variable !== "") {
      return setting.fromText(variable, cwd) ?? refuse(`${variableOf(name)} in the environment`, setting, variable);
    }
    if (file === undefined || !Object.hasOwn(file.values, name)) return undefined;
    const value = file.values[name];
    return setting.fromJson(value, dirname(file.path)) ?? refuse(`"${name}" in ${file.path}`, setting, value);
  }, cwd);
}

/**
 * Checks settings that a program gives, and fills in the defaults. Neither environment nor config file is read.
 *
 * @throws RuntimeError `setting.invalid`.
 */
export function checkSettings(given: SomeSettings, cwd: string): Settings {
  return fill((name, setting) => {
    const value = given[name];
    return value === undefined
      ? undefined
      : (setting.fromJson(value, cwd) ?? refuse(`The option ${name}`, setting, value));
  }, cwd);
}

type AnySetting = Setting<Settings[SettingName]>;

function fill(find: (name: SettingName, setting: AnySetting) => unknown, cwd: string): Settings {
  const values = SETTING_NAMES.map((name) => {
    const setting: AnySetting = SETTINGS[name];
    return [name, find(name, setting) ?? setting.fromJson(setting.default, cwd)];
  });
  // The table's own types say what each setting's value is.
  return Object.fromEntries(values) as Settings;
}

function refuse(where: string, setting: AnySetting, value: unknown): never {
  if (setting.isSecret) throw new RuntimeError("setting.invalid", `${where} must be ${setting.allowed}.`);
  throw new RuntimeError("setting.invalid", `${where} must be ${setting.allowed}; it is ${shown(value)}.`);
}

/** Characters of what came, as it is told. */
const LONGEST_SHOWN = 80;

/** As JSON, in which nothing steers a terminal. */
function shown(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    // It is no JSON: a program has given it.
  }
  const safe = (text ?? typeof value).replaceAll(
    /[\u007F-\u009F\u2028-\u202E\u2066-\u2069]/g,
    (letter) => `\\u${letter.codePointAt(0)!.toString(16).padStart(4, "0")}`,
  );
  return safe.length > LONGEST_SHOWN ? `${safe.slice(0, LONGEST_SHOWN).toWellFormed()}…` : safe;
}

interface ConfigFile {
  readonly path: string;
  readonly values: Readonly<Record<string, unknown>>;
}

function readConfigFile(cwd: string, named: string | undefined): ConfigFile | undefined {
  const path = resolve(cwd, named ?? CONFIG_FILE);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && named === undefined) return undefined;
    const why = code === "ENOENT" ? "there is no such file" : code === "EISDIR" ? "it is a folder" : String(code);
    throw new RuntimeError("config.invalid", `The config file ${path} cannot be read: ${why}.`, { cause: error });
  }
  let values: unknown;
  try {
    values = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    // Where, and not what stands there: it may be a secret.
    const [where] = /line \d+ column \d+/.exec((error as Error).message) ?? ["look at its beginning and its end"];
    throw new RuntimeError("config.invalid", `The config file ${path} is not JSON: ${where}.`, { cause: error });
  }
  if (typeof values !== "object" || values === null || Array.isArray(values)) {
    throw new RuntimeError(
      "config.invalid",
      `The config file ${path} must hold one JSON object, such as {"port": 7000}.`,
    );
  }
  for (const key of Object.keys(values)) {
    if (Object.hasOwn(SETTINGS, key)) continue;
    const near = nearest(key, SETTING_NAMES);
    const hint = near === undefined ? `The settings are ${SETTING_NAMES.join(", ")}.` : `Did you mean "${near}"?`;
    throw new RuntimeError("config.invalid", `${shown(key)} in ${path} is no setting. ${hint}`);
  }
  return { path, values: values as Record<string, unknown> };
}
