/**
 * When a delivery that failed is tried again: soon at first, then every few hours, until a day after it came to be. Pure.
 *
 * The steps are those of its config: what comes after a delivery that was given up does not begin anew with a host that is still down.
 * Every delivery is tried once, however late it comes to be its turn.
 */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** How long a delivery is tried for, in milliseconds from when it came to be. */
export const TRIED_FOR_MS = 24 * HOUR;
/** After the first failure in a row, the second, … */
const DELAYS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR];
/** After all others: between the two. */
const LATER = [2 * HOUR, 4 * HOUR] as const;
/** How far a delay may be off, either way, so that those who failed together do not come back together. */
const JITTER = 0.2;

export interface Failed {
  /** When the delivery came to be, in milliseconds since 1970. */
  readonly createdAt: number;
  /** Failures in a row before this one. */
  readonly failures: number;
  readonly now: number;
  /** How long the receiver asked to be left alone, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** From 0 up to 1. */
  readonly chance: number;
}

/** When to try again, in milliseconds since 1970; undefined: the delivery is given up. */
export function retryAt({ createdAt, failures, now, retryAfterMs = 0, chance }: Failed): number | undefined {
  const end = createdAt + TRIED_FOR_MS;
  if (now >= end) return undefined;
  const delay = DELAYS[failures];
  const ms =
    delay === undefined ? LATER[0] + chance * (LATER[1] - LATER[0]) : delay * (1 - JITTER + 2 * JITTER * chance);
  // The last attempt is at the very end.
  return Math.min(Math.round(now + Math.max(ms, retryAfterMs)), end);
}

/** `Retry-After` (RFC 9110, section 10.2.3): seconds, or a date. Undefined: none that makes sense. */
export function readRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * SECOND;
  const at = Date.parse(text);
  return Number.isNaN(at) || !/[a-z]/i.test(text) ? undefined : Math.max(0, at - now);
}
