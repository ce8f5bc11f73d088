/**
 * A bearer token; headers, for an agent that wants another scheme (`{"X-API-Key": …}`); or a function that gives either, called
 * for each request, and once more after a 401.
 */
export type Auth = string | Readonly<Record<string, string>> | (() => AuthValue | Promise<AuthValue>);

/** undefined: the request goes without. */
export type AuthValue = string | Readonly<Record<string, string>> | undefined;
