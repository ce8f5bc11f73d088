/** Reads where a caller wants updates pushed to, and writes a config down without its secrets (A2A 1.0, sections 3.1.7 and 4.3.1). */
import { invalidParams } from "@nylorun/protocol";
import type { FieldViolation, TaskPushNotificationConfig } from "@nylorun/protocol";

import type { HostList } from "../dial/host-list.ts";
import type { PushConfig, PushTarget } from "../store/push.ts";

export interface ReadTarget {
  readonly hosts: HostList;
  /** URIs of the extensions that the request activated: what is pushed carries their data. */
  readonly extensions: readonly string[];
  /** Where it stands in the parameters, with a dot at its end; empty: it is them. */
  readonly field: string;
  /** For a config without an id. */
  readonly newId: () => string;
}

/** Characters of a URL, of a token and of credentials. */
const MOST_URL = 2048;
const MOST_SECRET = 4096;
/** What goes into a header as it is. */
const HEADER = /^[\t\x20-\x7e]*$/;

/**
 * Checks it without asking any name server: which address it is, is looked at when it is dialled.
 *
 * @throws A2aError -32602; reason `PUSH_HOST_NOT_ALLOWED` for a host that the operator has not allowed.
 */
export function readTarget(
  config: TaskPushNotificationConfig,
  { hosts, extensions, field, newId }: ReadTarget,
): PushTarget {
  const { url: text, token, authentication } = config;
  const violations: FieldViolation[] = [];
  const wrong = (name: string, description: string) => void violations.push({ field: field + name, description });
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || text.length > MOST_URL)
    wrong("url", `must be an http or https address of at most ${MOST_URL} characters`);
  else if (url.username !== "" || url.password !== "")
    wrong("url", "must hold no user or password: use authentication");
  for (const [name, secret] of [
    ["token", token],
    ["authentication.credentials", authentication?.credentials],
  ] as const) {
    if (secret !== undefined && (!HEADER.test(secret) || secret.length > MOST_SECRET))
      wrong(name, `must be at most ${MOST_SECRET} ASCII characters without line breaks: it goes into a header`);
  }
  if (violations.length > 0) throw invalidParams(violations);
  if (hosts.trustOf(url!) === undefined) {
    const description = `leads to ${url!.protocol}//${url!.host}, which the operator has not allowed (pushHosts)`;
    throw invalidParams([{ field: `${field}url`, description }], "PUSH_HOST_NOT_ALLOWED");
  }
  return {
    id: config.id ?? newId(),
    url: text,
    origin: url!.origin,
    ...(token !== undefined && { token }),
    ...(authentication && { authentication }),
    extensions,
  };
}

/** As its owner may see it again: token and credentials are for the webhook. */
export function shownConfig(
  taskId: string,
  { id, url, authentication }: PushConfig | PushTarget,
): TaskPushNotificationConfig {
  return { taskId, id, url, ...(authentication && { authentication: { scheme: authentication.scheme } }) };
}
