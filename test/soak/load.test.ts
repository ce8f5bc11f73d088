import assert from "node:assert/strict";
import { test } from "node:test";

import { saturate } from "./saturation.ts";

const skip = process.platform === "linux" ? false : "memory is measured as Linux tells it";

// The same for ten minutes: npm run soak -- load
test(
  "as much load as is taken, for a while, makes no error and leaves no memory or files behind",
  { skip },
  async () => {
    const { figures, problems } = await saturate({ milliseconds: 8_000 });
    assert.deepEqual(problems, []);
    assert.ok(figures["requests"]! > 100);
  },
);
