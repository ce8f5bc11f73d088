/**
 * An agent that pays orders back, once a person has approved: however long that takes, whatever crashes meanwhile, no order is
 * paid back twice.
 */
import { defineAgent, refuse } from "@nylorun/agents";
import type { Agent } from "@nylorun/agents";

import { Shop } from "./refunds/shop.ts";
import type { Order } from "./refunds/shop.ts";

export default refunds(new Shop());

/** @param shop Handed in, so that a test can bring its own. */
export function refunds(shop: Shop): Agent {
  return defineAgent({
    id: "refunds",
    name: "Refunds",
    description: "Pays an order back after a person has approved it.",
    version: "1.0.0",
    skills: [
      {
        id: "refund",
        name: "Refund an order",
        description: "Needs the number of the order. The shop has 1001, 1002 and 1003.",
        tags: ["orders", "payments"],
        examples: ["Refund order 1001"],
      },
    ],

    async run(turn) {
      const [id] = /\b\d{4}\b/.exec(turn.text) ?? refuse("Say which order: its number has four digits.");
      // Looking something up can be done again: if the process dies in the middle of it, it is.
      const find = () => turn.effect("find order", () => shop.order(id), { idempotent: true });
      const plan = turn.plan(["Find the order", "Ask for approval", "Refund"]);

      plan.start("Find the order");
      const order = (await find()) ?? refuse(`There is no order ${id}.`);
      if (order.refunded) refuse(`Order ${id} is refunded already.`);

      plan.start("Ask for approval", { note: price(order) });
      const approved = await turn.approve({
        prompt: `Refund ${price(order)} to ${order.customer}?`,
        detail: { action: "refund", order: id, amount: order.cents / 100, currency: order.currency },
      });
      if (!approved) return "Not refunded.";

      plan.start("Refund");
      // The approval may have taken days.
      if ((await find())?.refunded) refuse(`Order ${id} was refunded meanwhile.`);
      // Paying cannot be done again: if its outcome is lost, the turn stops here, and an operator looks into the shop.
      const receipt = await turn.effect("refund", () => shop.refund(id));
      turn.usage({ costUsd: receipt.feeUsd });
      return `Refunded ${price(order)} to ${order.customer}. Receipt ${receipt.id}.`;
    },
  });
}

function price({ cents, currency }: Order): string {
  return `${(cents / 100).toFixed(2)} ${currency}`;
}
