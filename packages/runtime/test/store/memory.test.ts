import { createMemoryHome } from "../../src/store/memory/store.ts";
import { storeContract } from "./contract.ts";

storeContract(
  "in memory",
  async (options) => {
    const home = createMemoryHome();
    return {
      store: home.open(options),
      join: async () => home.open(options),
      async reopen() {
        home.endLeases(options.now());
        return home.open(options);
      },
      async [Symbol.asyncDispose]() {},
    };
  },
  { runs: 300, turns: 600 },
);
