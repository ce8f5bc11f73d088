/**
 * An agent that finds a time and books it: it needs a calendar to be connected, asks which time suits, and leaves a moment to think
 * better of it.
 */
import { defineAgent, refuse } from "@nylorun/agents";
import type { Agent } from "@nylorun/agents";

import { Calendars } from "./meetings/calendars.ts";

export default meetings(new Calendars());

/** @param calendars Handed in, so that a test can bring its own. */
export function meetings(calendars: Calendars): Agent {
  return defineAgent({
    id: "meetings",
    name: "Meetings",
    description: "Finds a time for a meeting in your calendar, and books it.",
    version: "1.0.0",
    skills: [
      {
        id: "book",
        name: "Book a meeting",
        description: "Needs to know whom you want to meet.",
        tags: ["calendar"],
        examples: ["Meet Grace"],
      },
    ],

    async run(turn) {
      const owner = turn.subject;
      const guest = /\bmeet(?:ing)?(?: with)? (.{1,100})/i.exec(turn.text)?.[1] ?? refuse('Say whom: "Meet Grace".');
      const plan = turn.plan(["Connect the calendar", "Choose a time", "Book"]);

      plan.start("Connect the calendar");
      const verify = () => calendars.isConnected(owner);
      const connected =
        (await turn.effect("look for the calendar", verify, { idempotent: true })) ||
        (await turn.connect({
          prompt: "Connect your calendar, so that I can see when you are free.",
          provider: "example-calendar",
          detail: { command: `node examples/agents/meetings/connect.ts ${owner}` },
          verify,
          pollMs: 5_000,
        }));
      if (!connected) refuse("Without your calendar I cannot find a time.");

      for (;;) {
        plan.start("Choose a time");
        const now = turn.now();
        const free = await turn.effect("find free times", () => calendars.free(owner, now), { idempotent: true });
        const slot = await turn.ask({ prompt: `When do you want to meet ${guest}?`, choices: free });

        plan.start("Book", { note: slot });
        turn.say(`Booking ${slot} in two seconds. Cancel the task if that is wrong.`);
        await turn.sleep(2_000);
        // The key is the same however often this is tried, and the calendar knows a booking by it: so it can be done again.
        const meeting = await turn.effect("book", ({ key }) => calendars.book({ key, owner, slot, guest }), {
          idempotent: true,
        });
        if (meeting !== undefined) return `You meet ${guest} at ${slot}.`;
        plan.fail("Book", { note: "taken meanwhile" });
      }
    },
  });
}
