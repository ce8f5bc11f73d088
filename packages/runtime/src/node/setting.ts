/**
 * The kinds of setting: how a text of the command line or the environment, and a JSON value of the config file, become a
 * value, and in which words either is refused.
 */
import { isIP } from "node:net";
import { homedir } from "node:os";
import { resolve } from "node:path";

import type { JwtIssuer } from "../access/jwt.ts";
import { usableKeys } from "../access/key-set.ts";
import { HostList } from "../dial/host-list.ts";

/** One setting. `T` is what the program works with. */
export interface Setting<T> {
  /** What it does, in a sentence. */
  readonly doc: string;
  /** How `--help` and the docs write its value. */
  readonly placeholder: string;
  /** Its value is for nobody's eyes: no flag, which other users of the machine could read, and no word of it in what is said. */
  readonly isSecret?: true;
  /** Completes "must be …". */
  readonly allowed: string;
  readonly default: T;
  /** How the docs write the default; undefined where {@link doc} says what happens without one. */
  readonly defaultText: string | undefined;
  /** The value that `text` stands for, or undefined when it is not allowed. A relative path is relative to `folder`. */
  fromText(text: string, folder: string): T | undefined;
  /** The same of a JSON value. */
  fromJson(value: unknown, folder: string): T | undefined;
}

interface About {
  readonly doc: string;
}

/** A whole number within a range. `unit` follows numbers in the docs. */
export function whole(
  options: About & {
    readonly unit?: "ms" | "bytes";
    readonly min: number;
    readonly max: number;
    readonly default: number;
  },
): Setting<number> {
  const { unit, min, max } = options;
  const check = (value: number) => (Number.isInteger(value) && value >= min && value <= max ? value : undefined);
  return {
    doc: options.doc,
    placeholder: unit ?? "number",
    allowed: `a whole number${unit === undefined ? "" : unit === "ms" ? " of milliseconds" : " of bytes"} from ${min} to ${max}`,
    default: options.default,
    defaultText: String(options.default),
    fromText: (text) => (/^\d{1,15}$/.test(text) ? check(Number(text)) : undefined),
    fromJson: (value) => (typeof value === "number" ? check(value) : undefined),
  };
}

/** A folder, absolute once it is read. `~/` is the user's own folder, which shells leave alone in some places. */
export function folder(options: About & { readonly default: string }): Setting<string> {
  const fromText = (text: string, base: string) =>
    text === "" || text.includes("\0") ? undefined : resolve(base, text.replace(/^~(?=$|[/\\])/, homedir()));
  return {
    ...textual(options, "folder", "the path of a folder", fromText),
    default: options.default,
    defaultText: options.default,
  };
}

/** An IP address or a host name to listen on. */
export function host(options: About & { readonly default: string }): Setting<string> {
  const fromText = (text: string) => {
    const bare = text.replace(/^\[(.*)\]$/, "$1");
    return isIP(bare) !== 0 || HOST_NAME.test(bare) ? bare.toLowerCase() : undefined;
  };
  return {
    ...textual(options, "address", 'an IP address or a host name, such as "127.0.0.1"', fromText),
    default: options.default,
    defaultText: options.default,
  };
}

/** The web address of a server, without a trailing slash. */
export function baseUrl(options: About): Setting<string | undefined> {
  const fromText = (text: string) => {
    const url = URL.parse(text);
    if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
    if (url.username !== "" || url.password !== "" || /[?#]/.test(text)) return undefined;
    return url.href.replace(/\/+$/, "");
  };
  const allowed = 'an http or https address without user, query or fragment, such as "https://agents.example.com"';
  return { ...textual(options, "url", allowed, fromText), default: undefined, defaultText: undefined };
}

/** The address of a page or a picture. `{agent}` in it is kept as it is. */
export function webUrl(options: About): Setting<string | undefined> {
  const fromText = (text: string) => {
    const url = URL.parse(text.replaceAll("{agent}", "agent"));
    const isWeb = url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
    return isWeb ? text : undefined;
  };
  const allowed = 'an http or https address, such as "https://example.com/agents/{agent}"';
  return { ...textual(options, "url", allowed, fromText), default: undefined, defaultText: undefined };
}

/** The address of a page for each trace. `{traceId}` in it is kept as it is. */
export function traceUrl(options: About): Setting<string | undefined> {
  const fromText = (text: string) => {
    const url = URL.parse(text.replaceAll("{traceId}", "0"));
    return text.includes("{traceId}") && url !== null && /^https?:$/.test(url.protocol) ? text : undefined;
  };
  const allowed = 'an http or https address with {traceId} in it, such as "https://jaeger.example.com/trace/{traceId}"';
  return { ...textual(options, "url", allowed, fromText), default: undefined, defaultText: undefined };
}

/** A line of text for people. */
export function line(options: About): Setting<string | undefined> {
  const fromText = (text: string) => (/^[^\p{Cc}]{1,200}$/u.test(text) && text.trim() !== "" ? text : undefined);
  return {
    ...textual(options, "text", "1-200 characters on one line", fromText),
    default: undefined,
    defaultText: undefined,
  };
}

/** A line of text that is nobody's business: it has no flag, which others on the machine could see. */
export function secretLine(options: About): Setting<string | undefined> {
  return { ...line(options), isSecret: true };
}

/** A folder that may be named, absolute once it is read. */
export function anotherFolder(options: About): Setting<string | undefined> {
  return { ...keyFile(options), placeholder: "folder", allowed: "the path of a folder" };
}

/** A file, absolute once it is read. */
export function keyFile(options: About): Setting<string | undefined> {
  const fromText = (text: string, base: string) =>
    text === "" || text.includes("\0") ? undefined : resolve(base, text.replace(/^~(?=$|[/\\])/, homedir()));
  return {
    ...textual(options, "file", "the path of a file", fromText),
    default: undefined,
    defaultText: undefined,
  };
}

/** An agent's id. */
export function agentId(options: About): Setting<string | undefined> {
  const fromText = (text: string) => (/^[a-z0-9][a-z0-9-]{0,63}$/.test(text) ? text : undefined);
  const allowed = 'an agent\'s id: 1-64 of a-z, 0-9 and "-", beginning with a letter or a digit';
  return { ...textual(options, "id", allowed, fromText), default: undefined, defaultText: undefined };
}

/** Host names as they stand in a `Host` header, without port. As a text: separated by commas. */
export function hostNames(options: About): Setting<readonly string[]> {
  const check = (names: readonly unknown[]) => {
    const hosts = names.map((name) => (typeof name === "string" ? name.trim().toLowerCase() : ""));
    return hosts.every((name) => HOST_NAME.test(name) || isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0)
      ? hosts
      : undefined;
  };
  return {
    doc: options.doc,
    placeholder: "names",
    allowed: 'host names without port, separated by commas (in a config file: a list), such as "agents.example.com"',
    default: [],
    defaultText: undefined,
    fromText: (text) => check(text.split(",")),
    fromJson: (value) => (Array.isArray(value) ? check(value) : undefined),
  };
}

/** Origins as browsers write them. As a text: separated by commas. */
export function origins(options: About): Setting<readonly string[]> {
  const check = (values: readonly unknown[]) => {
    const found = values.map((value) => {
      const url = typeof value === "string" ? URL.parse(value.trim()) : null;
      // An origin and nothing else: a path would never match, and look as if it limited something.
      const isOrigin = url !== null && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href;
      return isOrigin ? url.origin : undefined;
    });
    return found.every((origin) => origin !== undefined) ? found : undefined;
  };
  return {
    doc: options.doc,
    placeholder: "origins",
    allowed:
      'http or https origins without path, separated by commas (in a config file: a list), such as "https://app.example.com"',
    default: [],
    defaultText: undefined,
    fromText: (text) => check(text.split(",")),
    fromJson: (value) => (Array.isArray(value) ? check(value) : undefined),
  };
}

/** Issuers of tokens. As a text: the same JSON. */
export function jwtIssuers(options: About): Setting<readonly JwtIssuer[]> {
  const fromJson = (value: unknown) => {
    if (!Array.isArray(value) || !value.every(isIssuer)) return undefined;
    return new Set(value.map(({ name }) => name)).size === value.length ? value : undefined;
  };
  return {
    doc: options.doc,
    placeholder: "json",
    allowed:
      'a list of {"name", "issuer", "audience"} with either "jwksUrl" (https, or http on this machine) or "jwks" (public keys, of RSA, P-256 or Ed25519 at least one), and if wanted "subject", such as "{tenant}/{sub}", with some text between two claims; names are 1-60 of a-z, 0-9 and "-", no two alike',
    default: [],
    defaultText: undefined,
    fromText(text) {
      try {
        return fromJson(JSON.parse(text));
      } catch {
        return undefined;
      }
    },
    fromJson,
  };
}

function isIssuer(value: unknown): value is JwtIssuer {
  if (typeof value !== "object" || value === null) return false;
  const { name, issuer, audience, jwksUrl, jwks, subject, ...others } = value as Record<string, unknown>;
  const isText = (one: unknown) => typeof one === "string" && one !== "";
  return (
    Object.keys(others).length === 0 &&
    typeof name === "string" &&
    /^[a-z0-9][a-z0-9-]{0,59}$/.test(name) &&
    isText(issuer) &&
    isText(audience) &&
    (subject === undefined || isTemplate(subject)) &&
    (jwks === undefined) !== (jwksUrl === undefined) &&
    (jwks === undefined || isKeySet(jwks)) &&
    (jwksUrl === undefined || isKeysUrl(jwksUrl))
  );
}

/** Claims in braces, and text between any two: which is which would be anybody's guess otherwise. */
function isTemplate(value: unknown): boolean {
  return typeof value === "string" && /^[^{}]*(?:\{[^{}]+\}(?:$|[^{}]+))*$/.test(value) && value !== "";
}

/** A private key has no place in settings, and a set in which nothing can be used would refuse everybody. */
function isKeySet(value: unknown): boolean {
  const usable = usableKeys(value) ?? [];
  const { keys } = value as { keys: readonly ({ d?: unknown } | null)[] };
  return usable.length > 0 && keys.every((key) => key?.d === undefined);
}

/** Whoever can change the keys on their way can be anybody. */
function isKeysUrl(value: unknown): boolean {
  const url = typeof value === "string" ? URL.parse(value) : null;
  if (url === null || url.username !== "" || url.password !== "") return false;
  return (
    url.protocol === "https:" || (url.protocol === "http:" && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname))
  );
}

/** Hosts that may be called, as dial/host-list.ts reads them. As a text: separated by commas. */
export function dialledHosts(options: About): Setting<readonly string[]> {
  const check = (values: readonly unknown[]) => {
    const entries = values.map((value) => (typeof value === "string" ? value.trim() : ""));
    return HostList.parse(entries) === undefined ? undefined : entries;
  };
  return {
    doc: options.doc,
    placeholder: "hosts",
    allowed:
      'hosts such as "example.com", "*.example.com", "example.com:8443", "http://localhost:*", separated by commas (in a config file: a list)',
    default: [],
    defaultText: undefined,
    fromText: (text) => check(text.split(",")),
    fromJson: (value) => (Array.isArray(value) ? check(value) : undefined),
  };
}

/** Secrets of Standard Webhooks. As a text: separated by blanks. */
export function webhookSecrets(options: About): Setting<readonly string[]> {
  return {
    doc: options.doc,
    placeholder: "secrets",
    isSecret: true,
    allowed:
      '"whsec_" and the base64 of 24 to 64 random bytes; several are separated by blanks (in a config file: a list)',
    default: [],
    defaultText: undefined,
    fromText: secretsOf,
    fromJson(value) {
      if (!Array.isArray(value) || !value.every((one) => typeof one === "string")) return undefined;
      return value.length === 0 ? [] : secretsOf(value.join(" "));
    },
  };
}

/** The secrets in a text, separated by white space; undefined: there is none, or something else. */
export function secretsOf(text: string): readonly string[] | undefined {
  const secrets = text.trim().split(/\s+/);
  const isSecret = (one: string) => {
    const [, base64 = ""] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(one) ?? [];
    const { length } = Buffer.from(base64, "base64");
    return length >= 24 && length <= 64;
  };
  return secrets.every(isSecret) ? secrets : undefined;
}

/** The address of a PostgreSQL database; a password may be in it. */
export function databaseUrl(options: About): Setting<string | undefined> {
  const fromText = (text: string) => {
    const url = URL.parse(text);
    return url !== null && /^postgres(ql)?:$/.test(url.protocol) ? text : undefined;
  };
  const allowed = 'the address of a PostgreSQL database, such as "postgres://nylorun@db.example.com/nylorun"';
  return {
    ...textual(options, "url", allowed, fromText),
    isSecret: true,
    default: undefined,
    defaultText: undefined,
  };
}

/** The name of a schema in a database. */
export function schemaName(options: About & { readonly default: string }): Setting<string> {
  const fromText = (text: string) => (/^[a-z][a-z0-9_]{0,49}$/.test(text) ? text : undefined);
  return {
    ...textual(options, "name", '1-50 of a-z, 0-9 and "_", beginning with a letter', fromText),
    default: options.default,
    defaultText: options.default,
  };
}

/** One of a few words. */
export function oneOf<const Word extends string>(
  options: About & { readonly words: readonly Word[]; readonly default: NoInfer<Word> },
): Setting<Word> {
  const fromText = (text: string) => options.words.find((word) => word === text);
  return {
    ...textual(options, "word", `one of ${options.words.join(", ")}`, fromText),
    default: options.default,
    defaultText: options.default,
  };
}

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*\.?$/i;

function textual<T>(
  { doc }: About,
  placeholder: string,
  allowed: string,
  fromText: (text: string, folder: string) => T | undefined,
): Omit<Setting<T>, "default" | "defaultText"> {
  return {
    doc,
    placeholder,
    allowed,
    fromText,
    fromJson: (value, base) => (typeof value === "string" ? fromText(value, base) : undefined),
  };
}
