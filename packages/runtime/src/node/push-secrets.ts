/** The secrets that deliveries are signed with: from a setting, or from a file that may change while the Runtime serves. */
import { readFileSync, statSync } from "node:fs";

import { RuntimeError } from "./errors.ts";
import type { Log } from "./log.ts";
import { secretsOf } from "./setting.ts";
import type { Settings } from "./settings.ts";

/** How often the file is looked at, in milliseconds. */
const LOOK = 1_000;

/**
 * Those of now, the one in use first. Undefined: there are none, and nothing is pushed.
 *
 * @throws RuntimeError `setting.invalid`.
 */
export function openPushSecrets(
  { pushSecret, pushSecretFile: file }: Settings,
  log: Log,
): (() => readonly string[]) | undefined {
  if (file === undefined) return pushSecret.length === 0 ? undefined : () => pushSecret;
  if (pushSecret.length > 0)
    throw new RuntimeError("setting.invalid", "The push secret is either pushSecret's or in pushSecretFile, not both.");
  let seen = stampOf(file);
  let secrets = read(file);
  if (secrets === undefined)
    throw new RuntimeError(
      "setting.invalid",
      `${file} (pushSecretFile) must hold one or more secrets: whsec_ and base64 of 24 to 64 bytes.`,
    );
  let looked = performance.now();
  return () => {
    const now = performance.now();
    if (now - looked < LOOK) return secrets!;
    looked = now;
    const stamp = stampOf(file);
    if (stamp === seen) return secrets!;
    seen = stamp;
    const next = read(file);
    if (next === undefined)
      log.error({ file }, "The push secrets' file has changed, and holds none: the old ones are used on.");
    else {
      secrets = next;
      log.info({ file, count: next.length }, "The push secrets have changed.");
    }
    return secrets!;
  };
}

/** Another text when the file is another one, or was written to. */
function stampOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? "" : [found.ino, found.mtimeMs, found.size].join();
}

function read(file: string): readonly string[] | undefined {
  try {
    return secretsOf(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}
