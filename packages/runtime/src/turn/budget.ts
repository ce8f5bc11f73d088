/**
 * What one turn may ask for, and be given (E6). Counted from its entries alone, so that a replay finds the same.
 */
import { AgentError } from "@nylorun/agents";

import type { EffectResult, Entry } from "./journal.ts";
import { bytesOf } from "./json.ts";

const entryLimit = 10_000;
/** Of all entries as JSON, in bytes of UTF-8. */
const byteLimit = 64 * 1024 * 1024;

export class Budget {
  #entries = 0;
  #bytes = 0;

  spend(entry: Entry): void {
    this.#entries++;
    this.#bytes += bytesOf(entry);
  }

  /** @throws AgentError `turn.tooLarge`: nothing more may be asked for. */
  check(): void {
    if (this.#entries >= entryLimit) {
      throw new AgentError(
        "turn.tooLarge",
        `A turn may ask for ${entryLimit} things; this is one more. Do more in one effect, or end the turn and go on in another.`,
      );
    }
    if (this.#bytes >= byteLimit) {
      throw new AgentError(
        "turn.tooLarge",
        "A turn may be given 64 MiB in all, and was. Keep what is large elsewhere, and return where.",
      );
    }
  }

  /** The result of an effect; or, when it is more than what is left, why it cannot be kept. */
  fit(result: EffectResult): EffectResult {
    if (this.#bytes + bytesOf(result) + overhead <= byteLimit) return result;
    const message = "With this result, the turn's results are more than 64 MiB; keep it elsewhere, and return where.";
    return { error: { name: "RangeError", code: "effect.tooLarge", message } };
  }
}

/** What an entry has beside its result, at most, in bytes. */
const overhead = 200;
