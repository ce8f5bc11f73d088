/** A2A 1.0, section 3: the operations, and what they mean. */
import { may, must, section, should } from "../requirement.ts";
import type { Document } from "../requirement.ts";

export const A2A: Document = {
  prefix: "a2a",
  name: "A2A 1.0",
  at: "https://github.com/a2aproject/A2A/blob/main/docs/specification.md",
};

const NO_STREAMS =
  "Nothing is streamed: the card says `streaming: false`, and updates reach callers by polling and push.";

export const OPERATIONS = [
  section(A2A, ["3.1.1", "SendMessage"], {
    answer: must("SendMessage answers with a task or with a message.", {
      how: "A task, unless the agent answers with a message of its own.",
      tck: ["CORE-SEND-001"],
    }),
    ended: must("A message to a task that has ended is refused: UnsupportedOperationError.", {
      tck: ["CORE-SEND-002"],
    }),
    "media-type": must("A part whose media type the agent does not take is refused: ContentTypeNotSupportedError.", {
      how: "What an agent takes are its `inputModes`, wildcards among them; the error lists them.",
      tck: ["CORE-SEND-003"],
    }),
    "not-found": must("A message to a task that is not there, or not the caller's, is refused: TaskNotFoundError."),
  }),

  section(A2A, ["3.1.2", "SendStreamingMessage"], {
    stream: must(
      "The operation opens a stream of updates that begins with the task, or holds one message, and ends with it.",
      {
        deviates: NO_STREAMS,
        tck: ["CORE-STREAM-001", "CORE-STREAM-002", "CORE-STREAM-003"],
      },
    ),
  }),

  section(A2A, ["3.1.3", "GetTask"], {
    current: must("GetTask answers with the task as it is now: state, artifacts, history.", { tck: ["CORE-GET-001"] }),
    "not-found": must("An id that is not there, or not the caller's, is TaskNotFoundError.", {
      how: "One answer for an unknown, a malformed and a foreign id.",
      tck: ["CORE-GET-002"],
    }),
  }),

  section(A2A, ["3.1.4", "ListTasks"], {
    scope: must("Only tasks that the caller may see are listed and counted.", { tck: ["CORE-LIST-001"] }),
    cursor: must("Pages follow a cursor.", {
      how: "The token holds a place in the order, not a number of rows: a task that does not change meanwhile is neither left out nor repeated.",
      tck: ["CORE-LIST-002"],
    }),
    order: must("Tasks come by the time of their status, the latest first.", { tck: ["CORE-LIST-003"] }),
    "last-page": must("`nextPageToken` is always there, and empty on the last page.", { tck: ["CORE-LIST-004"] }),
    "no-artifacts": must("Without `includeArtifacts` there is no `artifacts` field at all, be it empty.", {
      tck: ["CORE-LIST-005"],
    }),
    artifacts: should("With `includeArtifacts` the artifacts are there."),
    filters: must("`contextId`, `status` and `statusTimestampAfter` filter; a task at that very moment is in."),
    "page-size": must("`pageSize` is 1 to 100, and 50 by default; another one is refused."),
  }),

  section(A2A, ["3.1.5", "CancelTask"], {
    answer: must("CancelTask answers with the task as it is then.", {
      how: "CANCELED at once, whatever the agent does.",
      tck: ["CORE-CANCEL-001"],
    }),
    ended: must("A task that has ended otherwise cannot be cancelled: TaskNotCancelableError.", {
      tck: ["CORE-CANCEL-002"],
    }),
    "not-found": must("An id that is not there, or not the caller's, is TaskNotFoundError.", {
      tck: ["CORE-CANCEL-003"],
    }),
  }),

  section(A2A, ["3.1.6", "SubscribeToTask"], {
    stream: must("The operation opens a stream that begins with the task and ends with it.", {
      deviates: NO_STREAMS,
      tck: ["STREAM-SUB-001", "STREAM-SUB-002", "STREAM-SUB-003", "STREAM-SUB-004"],
    }),
  }),

  section(A2A, ["3.1.11", "GetExtendedAgentCard"], {
    "extended-card": must("With the right credentials the operation answers with the extended card.", {
      deviates: "No agent has a second card: the public one says everything, and `extendedAgentCard` is false.",
      tck: ["CARD-EXT-001", "CARD-EXT-002"],
    }),
  }),

  section(A2A, ["3.2.2", "SendMessageConfiguration"], {
    blocking: must(
      "Without `returnImmediately` the operation waits until the task has ended or waits for its caller.",
      {
        deviates:
          "It waits so long, but for `a2aWaitMs` (5 minutes) at most, its time in the queue included; then it answers with the task as it is. Connections that wait for days are cut by everything between here and the caller, and the profile prescribes the limit.",
        tck: ["CORE-EXECUTION-MODE-001"],
      },
    ),
    "blocking-within": must(
      "A task that ends, or asks something, within that time is answered with its latest state, artifacts and all.",
      {
        tck: ["CORE-EXECUTION-MODE-001"],
      },
    ),
    immediate: must("With `returnImmediately` the operation answers as soon as there is a task.", {
      tck: ["CORE-EXECUTION-MODE-002"],
    }),
    "immediate-message": must("`returnImmediately` changes nothing when the answer is a message.", {
      deviates:
        "The message is not there yet when the call is to return at once: the answer is the task, and the message is had by sending again, or as the task's output.",
    }),
  }),

  section(A2A, ["3.2.4", "historyLength"], {
    unset: must("Unset, there is no limit but the server's own.", { how: "All of it." }),
    zero: should("0: there is no `history` field.", { tck: ["CORE-HIST-001", "CORE-HIST-003"] }),
    most: must("Any other number: at most so many of the latest messages.", { tck: ["CORE-HIST-002"] }),
    kept: may("Messages may be kept in the history.", {
      how: "The caller's messages, step texts and prompts once they are replaced, and the agent's replies.",
      tck: ["CORE-HIST-004"],
    }),
    order: should("The history is in the order of time.", { tck: ["CORE-HIST-005"] }),
    content: should("A message in the history is the one that was sent.", { tck: ["CORE-HIST-006"] }),
  }),

  section(A2A, ["3.2.6", "Service parameters"], {
    "case-insensitive": must("The names of service parameters are compared without regard to case."),
  }),

  section(A2A, ["3.3.1", "Idempotency"], {
    get: must("GetTask and ListTasks change nothing."),
    send: may("SendMessage may be idempotent by `messageId`.", {
      how: "It is, for `messageDedupeMs` (a day). With other content, the id is refused.",
    }),
    cancel: must("Cancelling again has the same effect.", { how: "And the same answer." }),
  }),

  section(A2A, ["3.3.2", "Errors"], {
    credentials: must("Credentials that are missing or wrong are refused.", { how: "HTTP 401." }),
    challenge: should("Then the answer says which scheme is required.", { how: "`WWW-Authenticate: Bearer`." }),
    permission: must("A caller that lacks a permission is refused, and told so.", {
      how: "HTTP 403 for an operator's key, which acts for nobody.",
    }),
    "what-is-missing": should("It is told what is missing."),
    hidden: must("That something exists is not shown to who may not see it.", { tck: ["AUTH-SCOPE-003"] }),
    validated: must("Parameters are checked before anything is done.", { tck: ["CORE-ERR-002"] }),
    "which-parameter": should("The error says which parameter is wrong, and why, and what is taken.", {
      how: "A `google.rpc.BadRequest` with the path of each field.",
      tck: ["CORE-ERR-001"],
    }),
    "no-difference": should("'Not there' and 'not yours' are one answer."),
    temporary: should("Errors that pass are told from those that stay.", {
      how: "429 and 503, with `Retry-After`.",
    }),
    logged: should("Errors of the system are logged.", { how: "Under the trace id that the caller is told." }),
    payload: must("An error has a code and a message; each of its details has an `@type`."),
    "well-known": should("Details are of google.rpc's types where there is one."),
  }),

  section(A2A, ["3.3.4", "Capabilities"], {
    push: must("Push operations of an agent that does not declare them are PushNotificationNotSupportedError.", {
      tck: ["CORE-CAP-001"],
    }),
    streaming: must("Streaming operations of an agent that does not declare them are UnsupportedOperationError.", {
      tck: ["CORE-CAP-002"],
    }),
    "extended-card": must("GetExtendedAgentCard of an agent that does not declare one is UnsupportedOperationError.", {
      tck: ["CORE-CAP-003"],
    }),
    "required-extension": must(
      "A request without an extension that the card requires is ExtensionSupportRequiredError.",
      {
        how: "No card requires one.",
        tck: ["CORE-CAP-004"],
      },
    ),
  }),

  section(A2A, ["3.4.1", "Contexts"], {
    generated: must("A `contextId` that the agent generates is in the answer.", {
      tck: ["CORE-MULTI-001", "CORE-MULTI-001a"],
    }),
    own: may("A client's own `contextId` may be taken.", {
      how: "1 to 200 visible ASCII characters.",
      tck: ["CORE-MULTI-002"],
    }),
    "own-refused": must("One that cannot be taken is refused, and none is generated in its place.", {
      tck: ["CORE-MULTI-002a"],
    }),
    together: should("What has the same `contextId` is one conversation.", {
      how: "Of one subject with one agent. One turn at a time; the others wait in order.",
    }),
    policy: should("When contexts are forgotten is documented.", {
      how: "[Operating](../operate.md#deleting) and [Settings](../reference/settings.md): what has ended is kept until its time is over.",
    }),
  }),

  section(A2A, ["3.4.2", "Task ids"], {
    unique: must("Each new task has an id of its own, and it is in the answer.", { tck: ["CORE-MULTI-003"] }),
    unknown: must("A message that names a task which is not there is TaskNotFoundError; it makes none.", {
      tck: ["CORE-MULTI-004"],
    }),
  }),

  section(A2A, ["3.4.3", "Conversations"], {
    infer: must("With a `taskId` alone the context is the task's.", { tck: ["CORE-MULTI-005"] }),
    mismatch: must("A `contextId` that is not the task's is refused.", { tck: ["CORE-MULTI-006"] }),
    references: should("Tasks that a message refers to serve to understand it.", {
      how: "They are the agent's to read, and must be the caller's own.",
    }),
    shared: should("What was said in the context serves to answer.", {
      how: "The agent is given the earlier turns of its context.",
    }),
  }),

  section(A2A, ["3.5.2", "Events"], {
    order: must("Events come in the order in which they happened; each of several streams of a task gets the same.", {
      deviates: NO_STREAMS,
      tck: ["STREAM-ORDER-001", "STREAM-ORDER-002", "STREAM-ORDER-003", "STREAM-ORDER-004"],
    }),
  }),

  section(A2A, ["3.6", "Versions"], {
    patch: must("Of a version, Major.Minor counts, and its patch number does not.", { tck: ["VER-CLIENT-002"] }),
    "no-patch": should("No patch number is in requests, answers and cards."),
    semantics: must("A request has the semantics of the version that it names.", { tck: ["VER-SERVER-001"] }),
    unsupported: must("A version that is not served is VersionNotSupportedError.", {
      how: "On every method; the error lists the one that is.",
      tck: ["VER-SERVER-002"],
    }),
    empty: must("No version, or an empty one, is 0.3.", { how: "Which is refused.", tck: ["VER-SERVER-003"] }),
  }),

  section(A2A, ["3.7", "Messages and artifacts"], {
    artifacts: should("Results are artifacts, not messages.", {
      how: "What an agent returns is the artifact `output`. It can answer with a message by saying so.",
    }),
  }),
];
