/**
 * A clock for receipts: milliseconds since 1970 that never go back, so that timestamps are in the order of receipt whatever
 * happens to the machine's clock. After a step back it stands still until the machine's clock has caught up.
 */
export function receiptClock(now: () => number = Date.now): () => number {
  let last = -Infinity;
  return () => (last = Math.max(last, now()));
}
