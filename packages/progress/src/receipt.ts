/** Back by more than this, in milliseconds, is no skew: the clock had been wrong, and was set right. */
const WRONG = 24 * 60 * 60 * 1000;

/**
 * A clock for receipts: milliseconds since 1970 that do not go back, so that timestamps are in the order of receipt whatever
 * happens to the machine's clock. After a step back it stands still until the machine's clock has caught up; a step of more
 * than a day it follows, as it would not live to see that.
 */
export function receiptClock(now: () => number = Date.now): () => number {
  let last = -Infinity;
  return () => {
    const at = now();
    return (last = last - at > WRONG ? at : Math.max(last, at));
  };
}
