/**
 * Pays what it is told to, once a person has approved, and writes each payment into a ledger (`PAYER_LEDGER`). As long as there is a
 * file beside that ends in `.stuck`, the bank takes the payment and does not answer.
 */
import { appendFileSync, existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

import { defineAgent } from "@nylorun/agents";

const ledger = process.env["PAYER_LEDGER"] ?? "ledger";

export default defineAgent({
  id: "payer",
  name: "Payer",
  description: "Pays.",
  version: "1.0.0",
  skills: [{ id: "pay", name: "Pay", description: "Pays.", tags: ["money"] }],

  async run(turn) {
    const approved = await turn.approve({ prompt: `Pay ${turn.text}?`, detail: { what: turn.text } });
    if (!approved) return "Not paid.";
    try {
      const receipt = await turn.effect("pay", async ({ key }) => {
        appendFileSync(ledger, `${JSON.stringify({ what: turn.text, key, pid: process.pid })}\n`);
        while (existsSync(`${ledger}.stuck`)) await delay(10);
        return { number: 1 };
      });
      return `Paid ${turn.text}, receipt ${receipt.number}.`;
    } catch (error) {
      return `Not paid: ${(error as Error).message}`;
    }
  },
});
