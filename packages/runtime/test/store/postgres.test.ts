import { after, before } from "node:test";

import { startPostgres } from "../../../../test/postgres/server.ts";
import type { Postgres } from "../../../../test/postgres/server.ts";
import { openPostgresSignal } from "../../src/store/postgres/signal.ts";
import { openPostgresStore } from "../../src/store/postgres/store.ts";
import { storeContract } from "./contract.ts";
import type { Open } from "./place.ts";
import { lostAnswers } from "./postgres/answers.ts";
import { importing } from "./postgres/import.ts";
import { schemaRules } from "./postgres/schema.ts";
import { signalContract } from "./signal-contract.ts";

let postgres: Postgres;
before(async () => void (postgres = await startPostgres()));
after(() => postgres[Symbol.asyncDispose]());

let schemas = 0;
const open: Open = async (options) => {
  const schema = `store_${++schemas}`;
  const { url } = postgres;
  const nodes = new Set<AsyncDisposable>();
  const node = async () => {
    const store = await openPostgresStore({ url, schema, connections: 4, ...options });
    nodes.add(store);
    return store;
  };
  return {
    store: await node(),
    join: node,
    async reopen() {
      // The processes are no more, and so long ago that their leases have ended.
      for (const table of ["contexts", "push_configs"])
        await postgres.query(`UPDATE ${schema}.${table} SET due_at = $1 WHERE runner IS NOT NULL`, [options.now()]);
      return node();
    },
    async [Symbol.asyncDispose]() {
      for (const one of nodes) await one[Symbol.asyncDispose]();
      await postgres.query(`DROP SCHEMA ${schema} CASCADE`);
    },
  };
};

const openSignals = (nodes: number) =>
  Promise.all(
    Array.from({ length: nodes }, () => openPostgresSignal({ url: postgres.url, schema: `signal_${schemas}` })),
  );

signalContract("of PostgreSQL", openSignals, { nodes: 3 });
storeContract("on PostgreSQL", open, { runs: 5, turns: 1000 });
const database = () => ({
  url: postgres.url,
  schema: () => `own_${++schemas}`,
  query: (text: string, values?: readonly unknown[]) => postgres.query(text, values),
});
lostAnswers(database);
schemaRules(database);
importing(database);
