/**
 * The Ed25519 keys that deliveries are signed with (`v1a`): made by the Runtime, kept in the store, the same on every node. A new one
 * signs beside the one that it replaces for as long as a receiver may take to learn of it.
 */
import { createPrivateKey, createPublicKey, randomBytes } from "node:crypto";
import type { KeyObject } from "node:crypto";

import type { Store } from "../store/store.ts";

export interface WebhookKey {
  readonly privateKey: KeyObject;
  /** `whpk_…` as Standard Webhooks writes it. */
  readonly text: string;
  /** The public half (RFC 8037). */
  readonly jwk: Readonly<Record<string, string>>;
  /** In milliseconds since 1970. */
  readonly createdAt: number;
}

export interface WebhookKeys {
  /** Those that sign now, the newest first. */
  current(): Promise<readonly WebhookKey[]>;
  /** Makes another one, which signs from now on. */
  rotate(): Promise<void>;
}

/** Where the public keys are. */
export const WEBHOOK_KEYS = "/.well-known/nylorun-webhook-keys.json";

/** How long a key signs on after another has come, in milliseconds: two days. */
const KEPT = 48 * 3_600_000;
/** How long what was read from the store stands, in milliseconds: another node may have made a key. */
const FRESH = 10_000;
const PREFIX = "webhook-key.";
/** PKCS #8 of an Ed25519 key, up to its 32 bytes (RFC 8410). */
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");

export function createWebhookKeys(store: Pick<Store, "secret" | "secrets" | "now">): WebhookKeys {
  let read: { readonly keys: readonly WebhookKey[]; readonly at: number } | undefined;
  const add = (name: string) => store.secret(PREFIX + name, () => randomBytes(32));
  const load = async (): Promise<readonly WebhookKey[]> => {
    const secrets = await store.secrets(PREFIX);
    return secrets.map(keyOf).toReversed();
  };
  return {
    async current() {
      const now = store.now();
      if (read === undefined || Math.abs(now - read.at) > FRESH) {
        let keys = await load();
        if (keys.length === 0) {
          // Nodes that start together make the same one.
          await add("first");
          keys = await load();
        }
        read = { keys, at: now };
      }
      const { keys } = read;
      return keys.filter((_, place) => place === 0 || now - keys[place - 1]!.createdAt < KEPT);
    },

    async rotate() {
      await this.current();
      await add(String(store.now()));
      read = undefined;
    },
  };
}

/** As {@link WEBHOOK_KEYS} has them: a JWK set, whose members also say what Standard Webhooks calls them. */
export function publicKeysOf(keys: readonly WebhookKey[]): {
  readonly keys: readonly Readonly<Record<string, string>>[];
} {
  return {
    keys: keys.map(({ jwk, text }) => ({ ...jwk, alg: "EdDSA", use: "sig", kid: text.slice(5, 21), whpk: text })),
  };
}

function keyOf({ value, createdAt }: { readonly value: Uint8Array; readonly createdAt: number }): WebhookKey {
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8, value]), format: "der", type: "pkcs8" });
  const { kty, crv, x } = createPublicKey(privateKey).export({ format: "jwk" }) as Record<"kty" | "crv" | "x", string>;
  return {
    privateKey,
    jwk: { kty, crv, x },
    text: `whpk_${Buffer.from(x, "base64url").toString("base64")}`,
    createdAt,
  };
}
