/**
 * An agent that lets another one do the work, and asks its own caller what that one asks: who talks to the concierge approves the refund, and never
 * hears of `refunds`.
 */
import { CallError, defineAgent, refuse } from "@nylorun/agents";

export default defineAgent({
  id: "concierge",
  name: "Concierge",
  description: "Sees to complaints about orders.",
  version: "1.0.0",
  skills: [
    {
      id: "complaint",
      name: "See to a complaint",
      description: "Needs to know what is wrong, and with which order.",
      tags: ["orders", "support"],
      examples: ["The teapot of order 1001 came in pieces"],
    },
  ],

  async run(turn) {
    const plan = turn.plan(["Find out which order", "See to it"]);
    plan.start("Find out which order");
    const told = /\b\d{4}\b/.exec(turn.text)?.[0];
    const order = told ?? (await turn.ask({ prompt: "I am sorry to hear that. Which order is it about?" }));

    plan.start("See to it");
    try {
      const { output } = await turn.call("refunds", `Refund order ${order}`);
      return `Thank you for telling us. ${String(output)}`;
    } catch (error) {
      // What another agent says is for me; what of it my caller reads, I decide.
      if (error instanceof CallError && error.code === "callee.rejected") {
        refuse(`I cannot refund order ${order}: it is not there, or refunded already.`);
      }
      throw error;
    }
  },
});
