/** The profile's extensions: each rule of their pages. */
import { must, section } from "../requirement.ts";
import type { Document } from "../requirement.ts";

const page = (name: string, prefix = name): Document => ({
  prefix,
  name: `${name}/v1`,
  at: `docs/a2a/${name}/v1.md`,
});

const INTERACTIONS = page("interactions");
const EFFECTS = page("effects");
const PLAN = page("progress", "plan");
const TELEMETRY = page("telemetry");

export const EXTENSIONS = [
  section(INTERACTIONS, ["asks", "What a task asks"], {
    data: must(
      "The open interaction is on the status message, under the URI, which the message lists: id, kind, prompt, detail.",
    ),
    text: must("The message's text says the prompt, too."),
    one: must("Of several that are open one is shown, in the order in which they were opened."),
    hidden: must("None is shown while an effect is lost, or the task is held."),
    "words-will-not-do": must(
      "Without the extension, the text of an approval or a connection says that words do not approve, and who can.",
    ),
  }),
  section(INTERACTIONS, ["approval", "Approvals"], {
    boolean: must('`approved` is true or false: `"true"` and 1 are refused.'),
    denied: must("`approved: false` denies, and the agent goes on from there."),
    "plain-reply": must(
      "A plain reply is kept in the history and changes nothing, whatever it says, JSON and data parts included.",
    ),
    "plain-limit": must("20 plain replies are kept; then -32004."),
    inactive: must("The data without the extension active is a plain reply."),
  }),
  section(INTERACTIONS, ["answer", "Answers"], {
    "not-open": must(
      "A stale, foreign or unknown id, or the wrong field for the kind, both or neither: -32602, INTERACTION_NOT_OPEN; nothing changes.",
    ),
    foreign: must("Another subject's answer is -32001."),
    again: must("The same message again is answered as the first time, and counts once."),
    late: must("Another answer to what is answered: -32602, or -32004 when the task waits for nothing any more."),
    once: must("An interaction is answered once, by its own id, also by two answers at the same moment."),
  }),
  section(INTERACTIONS, ["connection", "Connections"], {
    verified: must("The agent's own look decides, not the caller's word."),
    "by-itself": must("The agent looks from time to time by itself: a task may go on without an answer."),
    declined: must("`approved: false` declines."),
  }),
  section(INTERACTIONS, ["question", "Questions"], {
    value: must("A question takes `value`: any JSON."),
    plain: must(
      "It takes a plain reply, too: the single data part, else the text, read as JSON where the schema is of no string.",
    ),
    fits: must("What does not fit the choices or the schema is -32602, and the question stays open."),
  }),
  section(INTERACTIONS, ["person", "A person without A2A"], {
    answers: must("A person who is signed in answers for the task's own subject, and for no other: `nylorun answer`."),
  }),

  section(EFFECTS, ["shown", "What a task shows"], {
    uncertain: must(
      "`uncertain` is the id of an effect whose outcome is lost, on the task's metadata, for as long as it is.",
    ),
    opaque: must("The id is opaque, and nothing else of the effect is told."),
    oldest: must("Of several, the oldest is named first, then the next."),
  }),
  section(EFFECTS, ["settled", "How it is settled"], {
    itself: must("An outcome that comes back after all counts."),
    operator: must(
      "An operator says that it happened, with what result, that it failed, or that it may be tried again.",
    ),
    cancel: must("Cancelling ends the task; the effect stays listed for the operator."),
    once: must("What may have happened is not done again by itself."),
  }),

  section(PLAN, ["shown", "What a task shows"], {
    whole: must("`steps` is the whole plan, each time it is shown, on the task's metadata, also in lists."),
    limits: must(
      "1 to 20 steps, labels of 1 to 120 characters, notes of up to 280; more is refused where the author wrote it.",
    ),
    pace: must("A plan is written four times a second at most, and the last change always."),
  }),
  section(PLAN, ["end", "At the end"], {
    reconciled: must(
      "When the task ends, active steps are done, failed or skipped as it was, and pending ones skipped.",
    ),
  }),

  section(TELEMETRY, ["totals", "Totals"], {
    end: must("The totals are on the task's metadata when it has ended, however it did, and not before."),
    steps: must("`steps` counts the effects that were completed."),
    sums: must(
      "`tokens` and `costUsd` are the sums of what the agent reported; absent when it reported none, and 0 when it reported 0.",
    ),
    "trace-id": must(
      "`traceId` is that of the request's `traceparent`, else a new one: 32 lower-case hexadecimal digits.",
    ),
  }),
];
