/** What a request proves itself with. */
import { invalidCall } from "./errors.ts";

/**
 * A bearer token; headers, for an agent that wants another scheme (`{"X-API-Key": …}`); or a function that gives either, called
 * for each request, and once more after a 401.
 */
export type Auth = string | Readonly<Record<string, string>> | (() => AuthValue | Promise<AuthValue>);

/** undefined: the request goes without. */
export type AuthValue = string | Readonly<Record<string, string>> | undefined;

export interface Credentials {
  /** Whether asking again may give others. */
  readonly renewable: boolean;
  headers(): Promise<Readonly<Record<string, string>>>;
}

export function credentialsOf(auth: Auth | undefined): Credentials {
  if (typeof auth === "function") return { renewable: true, headers: async () => headersOf(await auth()) };
  const headers = headersOf(auth);
  return { renewable: false, headers: () => Promise.resolve(headers) };
}

function headersOf(value: AuthValue): Readonly<Record<string, string>> {
  if (value === undefined) return {};
  if (typeof value !== "string") return value;
  // A stray line break at the end of a key file would make an invalid header, whose error would show the key.
  const token = value.trim();
  if (!/^[!-~]+$/.test(token)) {
    throw invalidCall("auth must be a token of visible ASCII characters, or an object of headers.");
  }
  return { Authorization: `Bearer ${token}` };
}
