import { defineAgent } from "@nylorun/agents";

/** Does something, waits for an approval, does something else: a turn of the usual kind, without the time that its work takes. */
export default defineAgent({
  id: "approval",
  name: "Approval",
  description: "Asks before it acts.",
  version: "1.0.0",
  skills: [{ id: "act", name: "Act", description: "Acts.", tags: ["bench"] }],

  async run(turn) {
    const order = await turn.effect("find order", () => ({ id: turn.text, amount: 42, currency: "EUR" }));
    const approved = await turn.approve({
      prompt: `Refund ${order.amount} ${order.currency}?`,
      detail: { action: "refund", ...order },
    });
    if (!approved) return "Not refunded.";
    return await turn.effect("refund", () => "Refunded.");
  },
});
