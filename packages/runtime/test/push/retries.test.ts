import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { readRetryAfter, retryAt, TRIED_FOR_MS } from "../../src/push/retries.ts";

const HOUR = 3_600_000;
const born = Date.UTC(2026, 9, 14);

function delays(chance: number): number[] {
  return Array.from({ length: 9 }, (_, failures) => {
    const at = retryAt({ createdAt: born, failures, now: born, retryAfterMs: undefined, chance });
    return (at! - born) / 1000;
  });
}

describe("a delivery that failed", () => {
  // keeps: push-attempts-retried
  it("is tried again after 5 s, 30 s, 2 min, 10 min, 30 min, 1 h, then every 2 to 4 h, with jitter", () => {
    assert.deepEqual(delays(0.5), [5, 30, 120, 600, 1800, 3600, 10_800, 10_800, 10_800]);
    assert.deepEqual(delays(0), [4, 24, 96, 480, 1440, 2880, 7200, 7200, 7200]);
    assert.deepEqual(delays(1), [6, 36, 144, 720, 2160, 4320, 14_400, 14_400, 14_400]);
  });

  // keeps: push-attempts-day
  it("is tried a last time a day after it came to be, and then given up, whatever its receiver asks for", () => {
    fc.assert(
      fc.property(
        fc.nat(100),
        fc.nat(2 * TRIED_FOR_MS),
        fc.option(fc.nat(10 * TRIED_FOR_MS), { nil: undefined }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (failures, age, retryAfterMs, chance) => {
          const now = born + age;
          const at = retryAt({ createdAt: born, failures, now, retryAfterMs, chance });
          if (age >= TRIED_FOR_MS) return assert.equal(at, undefined);
          assert.ok(at! > now && at! <= born + TRIED_FOR_MS && Number.isInteger(at));
          assert.ok(at! >= Math.min(now + (retryAfterMs ?? 0), born + TRIED_FOR_MS));
          assert.ok(at! - now <= Math.max(4 * HOUR, retryAfterMs ?? 0));
        },
      ),
    );
  });
});

describe("Retry-After", () => {
  const now = Date.UTC(2026, 9, 14, 12);

  it("is seconds, or a date", () => {
    assert.equal(readRetryAfter("120", now), 120_000);
    assert.equal(readRetryAfter(" 0 ", now), 0);
    assert.equal(readRetryAfter("Wed, 14 Oct 2026 12:01:00 GMT", now), 60_000);
    assert.equal(readRetryAfter("Wed, 14 Oct 2026 11:00:00 GMT", now), 0);
  });

  it("is passed over when it makes no sense", () => {
    for (const text of [undefined, "", "soon", "-5", "1.5", "1e9", "9999999999", "\0"])
      assert.equal(readRetryAfter(text, now), undefined, String(text));
  });
});
