/**
 * What every Store promises (store.ts), run against each kind that there is. A kind passes it whole: what it adds of its own, it
 * tests beside this.
 */
import { describe } from "node:test";

import { acceptContract } from "./contract/accept.ts";
import { claimContract } from "./contract/claim.ts";
import { commitContract } from "./contract/commit.ts";
import { crowdContract } from "./contract/crowd.ts";
import { fileContract } from "./contract/files.ts";
import { forgettingContract } from "./contract/forgetting.ts";
import { keyContract } from "./contract/keys.ts";
import { listContract } from "./contract/lists.ts";
import { messageContract } from "./contract/messages.ts";
import { pushContract } from "./contract/push.ts";
import { queueContract } from "./contract/queues.ts";
import { reopenContract } from "./contract/reopen.ts";
import { sequenceContract } from "./contract/sequences.ts";
import { shareContract } from "./contract/shares.ts";
import { thenContract } from "./contract/then.ts";
import { totalContract } from "./contract/totals.ts";
import { usageContract } from "./contract/usage.ts";
import type { Open } from "./place.ts";

export interface ContractOptions {
  /** Of each property: `STORE_RUNS` in the environment comes before it. */
  readonly runs: number;
  /** So many, about, that the store counts them in each way that it has. */
  readonly turns: number;
}

export function storeContract(name: string, open: Open, { runs: given, turns }: ContractOptions): void {
  const runs = Number(process.env["STORE_RUNS"] ?? given);
  describe(`the store ${name}`, () => {
    acceptContract(open);
    messageContract(open);
    claimContract(open);
    commitContract(open);
    thenContract(open);
    listContract(open, runs);
    queueContract(open);
    keyContract(open);
    usageContract(open);
    pushContract(open);
    reopenContract(open);
    crowdContract(open);
    sequenceContract(open, runs);
    shareContract(open);
    forgettingContract(open);
    fileContract(open);
    totalContract(open, { runs: Math.ceil(runs / 100), turns });
  });
}
