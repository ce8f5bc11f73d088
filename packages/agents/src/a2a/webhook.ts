/**
 * What a webhook is told of a task (A2A 1.0, sections 4.3.3 and 13.2), checked as Standard Webhooks has it: who sent it, when, and
 * whether it has been here before.
 *
 * The order of checks: size, headers, time, signature, token, body. Only bytes that somebody signed are parsed.
 */
import { isTerminal } from "@nylorun/protocol";
import type { StreamResponse } from "@nylorun/protocol";
import { Webhook } from "standardwebhooks";

import { decodeBase64 } from "./base64.ts";
import { readUpTo } from "./bounded.ts";
import { A2aClientError, invalidCall } from "./errors.ts";
import { SeenInMemory } from "./seen-ids.ts";
import type { SeenIds } from "./seen-ids.ts";
import { checkStreamResponse } from "./stream-response.ts";

export interface WebhookOptions {
  /** The secrets that are shared with the sender (`whsec_…`): while one replaces another, both. */
  readonly secrets?: readonly string[];
  /** The sender's public keys (`whpk_…`): who has them can check, and not sign. At least one secret or key. */
  readonly publicKeys?: readonly string[];
  /** The token that the config was made with; or a function that knows it by the task. Default: not checked. */
  readonly token?: string | ((taskId: string) => string | undefined | Promise<string | undefined>);
  /** How far the sender's clock may be off, either way, in milliseconds. Default: 5 minutes. */
  readonly toleranceMs?: number;
  /** What has been handled. Default: a memory of this process, shared by all calls without one. */
  readonly seen?: SeenIds;
  /** The longest body, in bytes. Default: 8 MiB. */
  readonly maxBytes?: number;
}

/** A request as a framework that is not of the web's kind has it: Express, say, behind `express.raw({ type: () => true })`. */
export interface RawRequest {
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The bytes as they came. */
  readonly body: Uint8Array | string;
}

export interface VerifiedWebhook {
  /** What has happened: exactly one of `task`, `message`, `statusUpdate`, `artifactUpdate` is there. */
  readonly update: StreamResponse;
  /** Whose task it is about; undefined: a message that belongs to none. */
  readonly taskId: string | undefined;
  /** Whether nothing more will come of the task. */
  readonly ended: boolean;
  /** The delivery's id, the same however often it is tried. */
  readonly id: string;
  /** When this attempt was signed, in milliseconds since 1970. */
  readonly timestamp: number;
  /** Whether it has been handled, or is being. Answer it with a 2xx all the same, or it comes again. */
  readonly duplicate: boolean;
  /**
   * Handles it, unless it is a duplicate. What throws has not handled it: it is forgotten, and the error passed on, so that the sender
   * is answered with a failure and tries again.
   */
  once(handle: (update: StreamResponse) => unknown): Promise<void>;
}

const MINUTE = 60_000;
/** A sender tries for a day, and its operator may then have it try for another one. */
const KEEP_MS = 48 * 60 * MINUTE;
const MOST_BYTES = 8 * 1024 * 1024;
const seenHere = new SeenInMemory();

/**
 * Checks a request to a webhook.
 *
 * ```ts
 * const hook = await verifyWebhook(request, { secrets: [process.env.PUSH_SECRET], token });
 * await hook.once((update) => save(update));
 * return new Response(null, { status: 204 });
 * ```
 *
 * @throws A2aClientError `webhook.invalid`, `webhook.forged`, `webhook.stale`, `webhook.token`, `webhook.tooLarge`; each has the `status` to
 *   answer with. `call.invalid`: neither secrets nor public keys.
 */
export async function verifyWebhook(request: Request | RawRequest, options: WebhookOptions): Promise<VerifiedWebhook> {
  const { secrets = [], publicKeys = [], token, toleranceMs = 5 * MINUTE, seen = seenHere } = options;
  const keys = [...secrets.map(secretKey), ...publicKeys.map(publicKey)];
  if (keys.length === 0) throw invalidCall("verifyWebhook() needs at least one of secrets and publicKeys.");
  const body = await bodyOf(request, options.maxBytes ?? MOST_BYTES);
  const header = headerOf(request);
  const id = header("webhook-id");
  const stamp = header("webhook-timestamp");
  const signatures = header("webhook-signature");
  if (!id || !stamp || !signatures) {
    throw refused(
      "webhook.invalid",
      400,
      "The request is not signed: webhook-id, webhook-timestamp or webhook-signature is missing.",
    );
  }
  if (!/^\d{1,12}$/.test(stamp)) throw refused("webhook.invalid", 400, "webhook-timestamp must be seconds since 1970.");
  const timestamp = Number(stamp) * 1000;
  const off = Math.abs(Date.now() - timestamp);
  if (off > toleranceMs) {
    throw refused(
      "webhook.stale",
      401,
      `It was signed ${Math.round(off / 1000)} s ${timestamp > Date.now() ? "in the future" : "ago"}.`,
    );
  }
  const signed: Signed = { id, timestamp, body, text: textOf(body) };
  if (!(await isSigned(signed, signatures, keys))) {
    throw refused("webhook.forged", 401, "No signature fits. Is the secret this sender's, and the body as it came?");
  }
  const update = updateOf(signed.text);
  const taskId = taskIdOf(update);
  if (token !== undefined) {
    const expected = typeof token === "string" ? token : await token(taskId ?? "");
    const given = header("x-a2a-notification-token");
    if (expected === undefined || given === undefined || !isSame(given, expected)) {
      throw refused("webhook.token", 401, "It does not carry the token of its config.");
    }
  }
  const duplicate = !(await seen.add(id, KEEP_MS));
  return {
    update,
    taskId,
    ended: isLast(update),
    id,
    timestamp,
    duplicate,
    async once(handle) {
      if (duplicate) return;
      try {
        await handle(update);
      } catch (error) {
        await seen.delete(id);
        throw error;
      }
    },
  };
}

interface Signed {
  readonly id: string;
  readonly timestamp: number;
  readonly body: Uint8Array<ArrayBuffer>;
  /** The body, character for byte sequence: encoding it gives the same bytes. */
  readonly text: string;
}

interface Key {
  readonly version: "v1" | "v1a";
  fits(signature: string, signed: Signed): boolean | Promise<boolean>;
}

/** `webhook-signature` lists several, separated by blanks, while keys change and for those who check one kind only. */
async function isSigned(signed: Signed, signatures: string, keys: readonly Key[]): Promise<boolean> {
  for (const one of signatures.split(" ").slice(0, 20)) {
    const comma = one.indexOf(",");
    const version = one.slice(0, comma);
    for (const key of keys) {
      if (key.version === version && (await key.fits(one.slice(comma + 1), signed))) return true;
    }
  }
  return false;
}

function secretKey(secret: string): Key {
  let webhook: Webhook;
  try {
    webhook = new Webhook(secret);
  } catch (error) {
    throw new A2aClientError("call.invalid", 'A secret must be "whsec_" and base64.', { cause: error });
  }
  return {
    version: "v1",
    fits: (signature, { id, timestamp, text }) =>
      isSame(`v1,${signature}`, webhook.sign(id, new Date(timestamp), text)),
  };
}

function publicKey(text: string): Key {
  let bytes: Uint8Array<ArrayBuffer> | undefined;
  try {
    bytes = decodeBase64(text.replace(/^whpk_/, ""));
  } catch {
    // Not base64: refused below.
  }
  if (bytes?.length !== 32) throw invalidCall('A public key must be "whpk_" and the base64 of 32 bytes.');
  const imported = crypto.subtle.importKey("raw", bytes, "Ed25519", false, ["verify"]);
  imported.catch(() => undefined); // Awaited where it is used, if it is.
  return {
    version: "v1a",
    async fits(signature, { id, timestamp, body }) {
      let bits: Uint8Array<ArrayBuffer>;
      try {
        bits = decodeBase64(signature);
      } catch {
        return false;
      }
      const head = new TextEncoder().encode(`${id}.${timestamp / 1000}.`);
      const content = new Uint8Array(head.length + body.length);
      content.set(head);
      content.set(body, head.length);
      return crypto.subtle.verify("Ed25519", await imported, bits, content);
    },
  };
}

/** Takes as long whatever the texts are, save for their lengths. */
function isSame(one: string, other: string): boolean {
  const [left, right] = [new TextEncoder().encode(one), new TextEncoder().encode(other)];
  let difference = left.length ^ right.length;
  for (let at = 0; at < left.length; at++) difference |= left[at]! ^ (right[at] ?? 0);
  return difference === 0;
}

async function bodyOf(request: Request | RawRequest, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const tooLarge = () => refused("webhook.tooLarge", 413, `The body has more than ${maxBytes} bytes.`);
  if (request instanceof Request) {
    if (request.bodyUsed) throw notRaw();
    const bytes = await readUpTo(request.body, maxBytes);
    if (bytes === undefined) throw tooLarge();
    return bytes;
  }
  const { body } = request;
  if (typeof body !== "string" && !(body instanceof Uint8Array)) throw notRaw();
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : Uint8Array.from(body);
  if (bytes.length > maxBytes) throw tooLarge();
  return bytes;
}

/** A parsed body has lost the bytes that were signed. */
function notRaw(): A2aClientError {
  return refused(
    "webhook.invalid",
    500,
    "verifyWebhook() needs the body as it came, and something has read it: in Express put express.raw({ type: () => true }) before this route, and no express.json().",
  );
}

function headerOf({ headers }: Request | RawRequest): (name: string) => string | undefined {
  if (headers instanceof Headers) return (name) => headers.get(name) ?? undefined;
  const byName = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return (name) => {
    const value = byName.get(name);
    return typeof value === "object" ? value.join(" ") : value;
  };
}

function textOf(body: Uint8Array): string {
  try {
    // A byte order mark stays, as it was signed with the rest.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch (error) {
    throw refused("webhook.invalid", 400, "The body is not UTF-8.", error);
  }
}

function updateOf(text: string): StreamResponse {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw refused("webhook.invalid", 400, "The body is not JSON.", error);
  }
  const update = checkStreamResponse(value);
  if (update === undefined) throw refused("webhook.invalid", 400, "The body is no update of a task.");
  return update;
}

function taskIdOf({ task, message, statusUpdate, artifactUpdate }: StreamResponse): string | undefined {
  return task?.id ?? (statusUpdate ?? artifactUpdate ?? message)?.taskId;
}

function isLast({ task, message, statusUpdate }: StreamResponse): boolean {
  const status = (task ?? statusUpdate)?.status;
  return message !== undefined || (status !== undefined && isTerminal(status.state));
}

type Refused = "webhook.invalid" | "webhook.forged" | "webhook.stale" | "webhook.token" | "webhook.tooLarge";

function refused(code: Refused, status: number, message: string, cause?: unknown): A2aClientError {
  return new A2aClientError(code, message, { status, ...(cause !== undefined && { cause }) });
}
