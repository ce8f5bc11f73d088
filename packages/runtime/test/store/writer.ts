/** A process that writes without pause, and tells on stdout what it was told to be stored. Its test kills it. */
import { writeSync } from "node:fs";

import { createLocalSignal } from "../../src/store/local-signal.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";

export interface Kept {
  readonly context: number;
  readonly turn: number;
  readonly messageId: string;
  /** Entries of its journal. */
  readonly length: number;
}

if (import.meta.main) {
  const store = await openSqliteStore({ file: process.argv[2]!, signal: createLocalSignal() });
  const tell = (kept: Kept) => writeSync(1, `${JSON.stringify(kept)}\n`);
  const write = async (n: number) => {
    for (let m = 0; ; m++) {
      const messageId = `m-${process.pid}-${n}-${m}`;
      const accepted = await store.accept({
        key: { subject: "ada", agent: "echo", contextId: "talk", messageId },
        contentHash: "a hash",
        message: { messageId, parts: [{ text: "Hello" }] },
        agentVersion: "1.0.0",
        traceparent: "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01",
        whenBusy: "queue",
        queueDepth: 1_000_000,
        dedupeMs: 86_400_000,
        claim: undefined,
      });
      if (accepted.kind !== "accepted") throw new Error(accepted.kind);
      const { context, turn } = accepted.turn;
      tell({ context, turn, messageId, length: 0 });
      for (let length = 0; length < 3; length++) {
        const entries = [{ kind: "heard" as const, at: length }];
        const committed = await store.commit({ key: accepted.turn, length, entries });
        if (committed.kind !== "committed") throw new Error(committed.kind);
        tell({ context, turn, messageId, length: committed.length });
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, n) => write(n)));
}
