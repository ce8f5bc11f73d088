/** Profile v2: each row of its tables, and each choice that it leaves to us. */
import { must, section } from "../requirement.ts";
import type { Document } from "../requirement.ts";

export const PROFILE: Document = { prefix: "profile", name: "Profile v2", at: "docs/a2a/profile/v2.md" };

export const PROFILE_RULES = [
  section(PROFILE, ["rules", "The rules"], {
    "approval-state": must(
      "An approval is AUTH_REQUIRED, a question INPUT_REQUIRED, a missing connection AUTH_REQUIRED.",
    ),
    "text-never-approves": must("An approval is data of `interactions/v1`. Text never approves."),
    "lost-outcome": must(
      "A task whose effect has lost its outcome stays WORKING, with `uncertain` under `effects/v1`.",
    ),
    "busy-queued": must("A new message to a busy context is queued, and answered with the task that will take it."),
    "busy-rejected": must(
      'With `delivery: "reject"` in its metadata it is UnsupportedOperationError, reason CONTEXT_BUSY.',
    ),
    "task-id": must("A task's id is one for each turn, made from the context and the turn, and opaque."),
    visible: must(
      "While a task works its state, its step text and its plan are visible: never tool calls, arguments, results, delegations.",
    ),
    subject: must("The caller acts for the subject that it authenticated as. Nothing in a message names another."),
  }),

  section(PROFILE, ["extensions", "Extensions"], {
    "not-required": must("The card declares each that is served, with `required: false`."),
    activated: must("A request activates those that `A2A-Extensions` lists, separated by commas, by their exact URI."),
    echoed: must("Every response names those that were activated, errors too."),
    "unknown-ignored": must("URIs that are not known are ignored."),
    metadata: must(
      "Data lies in `metadata` under the URI, and the message that carries it lists the URI in `extensions`.",
    ),
    unlisted: must("Data of an active extension that the message does not list is -32602 on `message.extensions`."),
    "none-unasked": must("No data goes out that the request did not activate, the history included."),
    "inactive-ignored": must("Data that comes in for an extension that is not active is ignored."),
  }),

  section(PROFILE, ["serves", "What is served"], {
    binding: must("JSON-RPC of A2A 1.0, listed in `supportedInterfaces`, and no other binding or version."),
    operations: must("SendMessage, GetTask, CancelTask and ListTasks are served."),
    "blocking-wait": must(
      "A blocking SendMessage waits `a2aWaitMs` at most, 5 minutes by default, then answers with the task as it is.",
    ),
    "no-streams": must("SendStreamingMessage and SubscribeToTask are not served: the card says `streaming: false`."),
    list: must(
      "ListTasks has the caller's tasks with this agent, by `contextId`, state and `statusTimestampAfter`, the latest change first.",
    ),
    "no-extended-card": must("GetExtendedAgentCard is not served."),
    "plain-client": must(
      "A client that activates nothing is served, too: states, messages, artifacts, and prompts as text.",
    ),
    "v1-client": must("A client that activates v1's two extensions gets those two, and nothing of the others."),
    "the-0.3-client": must("A client that speaks 0.3 is refused with -32009, and told what is served."),
  }),

  section(PROFILE, ["checks", "The order of checks"], {
    order: must(
      "Credentials, rate, agent, content type, size, JSON, envelope, version, method, parameters: the first that is wrong is answered.",
    ),
    "nothing-runs": must("What is refused changes nothing."),
    unauthenticated: must("Without credentials: 401 with `WWW-Authenticate`; 403 for an operator's key."),
    "unknown-agent": must("An agent that is not there: 404, one body for all."),
    restricted: must(
      "An agent that is for some subjects alone is not there for others: not its card, its tasks, nor its line in the list.",
    ),
    size: must("A body that is too large: 413, with the limit."),
    json: must("A body that is no JSON: -32700, with the id null."),
    envelope: must("What is no single request with an id that is a string or a number: -32600, with the id null."),
    "id-echoed": must('The id is echoed exactly, `0` and `""` too.'),
    "http-200": must("What is answered in JSON-RPC is HTTP 200."),
    slash: must("An agent's address works with and without a slash at its end, and redirects nobody."),
    "snake-case": must(
      "Parameters may be in snake_case; unknown fields are ignored; answers have no nulls and no empty optional fields.",
    ),
    "without-effect": must("`tenant` and `acceptedOutputModes` are taken, and have no effect."),
    references: must("`referenceTaskIds` may name tasks of the caller's own; another one is -32001."),
    "internal-error": must("An internal error tells its trace id, and nothing else."),
  }),

  section(PROFILE, ["contexts", "Contexts and turns"], {
    "own-id": must("`contextId` may be the client's own, 1 to 200 visible ASCII characters."),
    "one-turn": must("A context has one turn at a time; the others wait in order."),
    "queue-limit": must("When `contextQueueDepth` messages wait: -32004, reason CONTEXT_QUEUE_FULL."),
    "subject-limits": must(
      "When a subject has too much that waits, or that is kept: SUBJECT_QUEUE_FULL, SUBJECT_STORAGE_FULL.",
    ),
    "not-waiting": must("A message with the id of a task that runs, is queued or has ended: -32004."),
    "one-answer": must("What is foreign, malformed or never was is the same -32001."),
    again: must("A message that is sent again under its id is answered as the first would be now, and runs once."),
    "again-other": must("With other content: -32602, reason MESSAGE_ID_REUSED."),
    "again-first": must("That is looked at before the task's state."),
    "again-scope": must("Ids of messages are a subject's own, in one agent and one context."),
    "again-off": must("`messageDedupeMs` 0 turns it off."),
    "keep-alive": must("While a call waits, a space goes out every 15 seconds."),
    "hang-up": must("A caller that hangs up ends its wait, and nothing else."),
  }),

  section(PROFILE, ["tasks", "Tasks"], {
    states: must(
      "Queued is SUBMITTED; running, held or uncertain WORKING; returned COMPLETED; threw FAILED; refused REJECTED; cancelled CANCELED.",
    ),
    failed: must("A task that failed says so in words that tell nothing of the inside."),
    cancel: must("CancelTask cancels at once, from any state that is not final, and again with the same answer."),
    final: must("A final state stays."),
    next: must("The context's next turn starts, whatever the last one came to."),
    "status-message": must(
      "The status message is the step text while it works, the prompt while it asks, the reason when it failed or refused.",
    ),
    output: must(
      "A text that is returned is the artifact `output` with a text part; any other JSON value one with a data part.",
    ),
    message: must("An agent may answer with a message, which carries the ids of its task; the task is there, too."),
  }),

  section(PROFILE, ["list", "ListTasks"], {
    stable: must("A task that does not change while a client pages is neither left out nor repeated."),
    token: must("A page token is good for the same filters of the same caller only: else -32602."),
    total: must("`totalSize` counts what the filters let through."),
  }),

  section(PROFILE, ["client", "The client"], {
    "activates-all": must("`createA2aClient` activates all five extensions by default."),
    core: must(
      "Of an agent outside the profile it gives states, messages and artifacts: no plan, no cost, and none made up.",
    ),
    "core-approval": must("There an approval is a question in words, and words do not approve."),
    "one-task": must("An answer carries the id of its task, so that it begins no second one."),
    retry: must("A message is sent again under its own id to an agent that takes it once, and not to others."),
    tolerant: must("What servers may do is taken: `result: null` for a deletion, no echo, unknown fields."),
  }),
];
