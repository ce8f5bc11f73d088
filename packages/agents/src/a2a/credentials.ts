/** What a request proves itself with. */
import type { Auth, AuthValue } from "../auth.ts";
import { invalidCall } from "./errors.ts";

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
