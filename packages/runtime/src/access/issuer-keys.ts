/** The public keys of an issuer, from its address or from the settings. What an address answers is read up to a limit. */
import { createLocalJWKSet, createRemoteJWKSet, customFetch } from "jose";
import type { JSONWebKeySet, JWK, JWTVerifyGetKey } from "jose";

import { AccessError } from "./errors.ts";
import { usableKeys } from "./key-set.ts";

export interface IssuerKeysOptions {
  /** Told when the keys cannot be had, once for each try. */
  readonly onTrouble?: ((error: AccessError) => void) | undefined;
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Milliseconds. */
  readonly now?: () => number;
}

/** How long their address may take to answer, in milliseconds. */
const PATIENCE = 5_000;
/** How long it is not asked again after it did not, in milliseconds: whoever sends tokens decides how often it would be. */
const PAUSE = 5_000;
/** Of an answer, in bytes. */
const LONGEST = 1024 * 1024;
/** @throws AccessError `issuer.unreachable`, when a key is asked for. */
export function keysAt(url: string, options: IssuerKeysOptions = {}): JWTVerifyGetKey {
  const { onTrouble, fetch = globalThis.fetch, now = Date.now } = options;
  let failed: { readonly at: number; readonly error: AccessError } | undefined;
  return createRemoteJWKSet(new URL(url), {
    timeoutDuration: PATIENCE,
    async [customFetch](address, init) {
      if (failed !== undefined && now() - failed.at < PAUSE) throw failed.error;
      try {
        const keys = await read(await fetch(address, init));
        failed = undefined;
        return Response.json({ keys });
      } catch (cause) {
        const message = `The keys of an issuer cannot be had at ${url}: ${(cause as Error).message}`;
        failed = { at: now(), error: new AccessError("issuer.unreachable", message, { cause }) };
        onTrouble?.(failed.error);
        throw failed.error;
      }
    },
  });
}

export function keysIn(set: JSONWebKeySet): JWTVerifyGetKey {
  return createLocalJWKSet({ keys: usableKeys(set) ?? [] });
}

async function read(response: Response): Promise<JWK[]> {
  if (response.status !== 200) {
    response.body?.cancel().catch(() => undefined);
    // Redirects are not followed: who may tell the keys is who the operator has named.
    throw new Error(`it answers ${response.status === 0 ? "with a redirect" : response.status}.`);
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  // Leaving the loop ends the answer.
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > LONGEST) throw new Error(`the answer is longer than ${LONGEST} bytes.`);
    chunks.push(chunk);
  }
  let set: unknown;
  try {
    set = JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    throw new Error("the answer is not JSON.");
  }
  const keys = usableKeys(set);
  if (keys === undefined) throw new Error("the answer is no JWK set.");
  return keys;
}
