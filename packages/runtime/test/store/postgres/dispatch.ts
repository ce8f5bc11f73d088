/** How quickly one node learns that another one has something for it. */
import { randomUUID } from "node:crypto";

import type { Postgres } from "../../../../../test/postgres/server.ts";
import { openPostgresSignal } from "../../../src/store/postgres/signal.ts";
import { openPostgresStore } from "../../../src/store/postgres/store.ts";

/** From when a message is stored on one node to when another one has claimed its context, in milliseconds, ascending. */
export async function timeDispatch(postgres: Postgres, contexts: number, times: number): Promise<Float64Array> {
  const schema = "dispatch";
  const { url } = postgres;
  const query = (text: string) => postgres.query(text);
  await using speaker = await openPostgresSignal({ url, schema });
  await using listener = await openPostgresSignal({ url, schema });
  await using one = await openPostgresStore({ url, schema, signal: speaker });
  await using other = await openPostgresStore({ url, schema, signal: listener });
  const accept = (contextId: string) =>
    one.accept({
      key: { subject: "bench", agent: "answer", contextId, messageId: randomUUID() },
      contentHash: "h",
      message: { messageId: "m", parts: [{ text: "Hello" }] },
      agentVersion: "1",
      traceparent: "00",
      whenBusy: "queue",
      queueDepth: 10,
      dedupeMs: 60_000,
      claim: undefined,
    });
  await accept("first");
  // Those that are there wait for a moment of their own: each is in the index of what is due.
  await query(`
    INSERT INTO ${schema}.contexts (context, scope, subject, name, created_at, active, due_at)
    SELECT 1000000 + n, 1, 1, 'c-' || n, 0, 1000000 + n, 4000000000000 + n FROM generate_series(1, ${contexts}) n`);
  await query(`
    INSERT INTO ${schema}.turns (context, turn, scope, state, status, status_at, created_at, agent_version, traceparent, message)
    SELECT 1000000 + n, 1000000 + n, 1, 'waiting', 2, n, n, '1', '00', '{}' FROM generate_series(1, ${contexts}) n`);
  await query("ANALYZE");
  const leaseMs = 15_000;
  await other.claimDue({ limit: 10, leaseMs });
  const taken: number[] = [];
  for (let n = 0; n < times; n++) {
    const claimed = Promise.withResolvers<number>();
    const stop = listener.onDue(() => {
      void other.claimDue({ limit: 10, leaseMs }).then((claims) => {
        if (claims.length > 0) claimed.resolve(performance.now());
      });
    });
    await accept(`d-${n}`);
    const stored = performance.now();
    taken.push((await claimed.promise) - stored);
    stop();
  }
  return Float64Array.from(taken).toSorted();
}
