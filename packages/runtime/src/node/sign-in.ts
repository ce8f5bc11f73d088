/** As whom a command calls the agents of a Runtime, and where: with a subject's key, as any caller does. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { findServing } from "./control-client.ts";
import { RuntimeError } from "./errors.ts";
import { readOwner } from "./home.ts";

export interface SignIn {
  /** Without a trailing slash. */
  readonly url: string;
  readonly key: string;
}

/** The key of the person at this machine, as `npm start` leaves it in the home. */
const LOCAL_KEY = "local.key";
/** A key file holds one key; whatever is larger is none. In bytes. */
const LARGEST = 16 * 1024;

/**
 * @param options.url Default: the process that serves the home.
 * @param options.keyFile Default: the environment's `NYLORUN_KEY`, else the home's own key. That one is shown to the process that
 *   serves the home, and to no other address.
 * @throws RuntimeError `home.notServed`, `key.missing`, `key.unusable`, `setting.invalid`.
 */
export async function signIn(options: {
  readonly home: string;
  readonly url?: string | undefined;
  readonly keyFile?: string | undefined;
}): Promise<SignIn> {
  const { home, url, keyFile } = options;
  const fromEnvironment = process.env["NYLORUN_KEY"]?.trim();
  if (keyFile !== undefined) return { url: await urlOf(home, url), key: readKey(keyFile) };
  if (fromEnvironment) return { url: await urlOf(home, url), key: fromEnvironment };
  if (url !== undefined) throw missing("Which key is for that address?");
  return { url: await urlOf(home, url), key: readKey(join(home, LOCAL_KEY), "Which key?") };
}

/**
 * Where the agent is that a command names, and what opens it.
 *
 * @param agent The address of any A2A agent; or the id of one that the home's own process serves.
 * @returns `key` is undefined for an address elsewhere that nobody named a key for.
 * @throws RuntimeError as {@link signIn}.
 */
export async function signInAt(
  agent: string,
  { home, keyFile }: { readonly home: string; readonly keyFile?: string | undefined },
): Promise<{ readonly url: string; readonly key: string | undefined }> {
  if (/^[a-z0-9][a-z0-9-]{0,63}$/.test(agent)) {
    const { url, key } = await signIn({ home, keyFile });
    return { url: `${url}/v1/a2a/agents/${agent}/`, key };
  }
  const url = URL.parse(agent);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
    const message = `An agent is named by its address, such as "https://example.com/agent/", or by its id, if it is served here; "${agent.slice(0, 80)}" is neither.`;
    throw new RuntimeError("request.invalid", message);
  }
  const fromEnvironment = process.env["NYLORUN_KEY"]?.trim();
  if (keyFile !== undefined) return { url: agent, key: readKey(keyFile) };
  if (fromEnvironment) return { url: agent, key: fromEnvironment };
  // The home's own key is for the process that serves the home alone.
  const own = await signIn({ home }).catch(() => undefined);
  return { url: agent, key: own !== undefined && new URL(own.url).origin === url.origin ? own.key : undefined };
}

async function urlOf(home: string, given: string | undefined): Promise<string> {
  if (given !== undefined) {
    const url = URL.parse(given);
    if (url !== null && /^https?:$/.test(url.protocol) && !url.username && !url.password) {
      return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
    }
    const message = `--url must be an http or https address, such as "https://agents.example.com"; it is ${given.slice(0, 80)}`;
    throw new RuntimeError("setting.invalid", message);
  }
  const control = readOwner(home)?.control;
  const serving = control === undefined ? undefined : await findServing(control);
  // Where it listens on any address, it listens on this machine's.
  if (serving !== undefined) return serving.url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");
  const message = `No process serves the home ${home}. Start one with "nylorun serve", or say where to call with --url.`;
  throw new RuntimeError("home.notServed", message);
}

/** @param hint Asked when there is no such file. */
function readKey(file: string, hint?: string): string {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && hint !== undefined) throw missing(hint);
    const why = code === "ENOENT" ? "there is no such file" : code === "EISDIR" ? "it is a folder" : String(code);
    throw new RuntimeError("key.unusable", `The key file ${file} cannot be read: ${why}.`, { cause: error });
  }
  const key = text.trim();
  if (/^[!-~]+$/.test(key) && text.length <= LARGEST) return key;
  throw new RuntimeError("key.unusable", `The file ${file} must hold one key and nothing else; it does not.`);
}

function missing(question: string): RuntimeError {
  const message = `${question} Name its file with --key-file, or put it into NYLORUN_KEY. "nylorun keys add --subject NAME" makes one.`;
  return new RuntimeError("key.missing", message);
}
