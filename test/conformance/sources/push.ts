/** Push notifications: A2A 1.0, sections 3.1.7 to 3.1.10, 4.3 and 13.2, and the profile's own rules. */
import { must, section, should } from "../requirement.ts";
import type { Document } from "../requirement.ts";
import { A2A } from "./a2a-operations.ts";

const PUSH_RULES: Document = { prefix: "push", name: "Push", at: "docs/a2a/push.md" };

export const PUSH = [
  section(A2A, ["3.1.7", "CreateTaskPushNotificationConfig"], {
    created: must("A webhook is configured for a task, and the answer has the config's id.", {
      tck: ["PUSH-CREATE-001"],
    }),
    persists: must("The config is kept until it is deleted.", {
      how: "And as long as its task.",
      tck: ["PUSH-CREATE-002"],
    }),
    "not-found": must(
      "Of a task that is not there, or not the caller's: TaskNotFoundError. So for all four operations.",
    ),
  }),
  section(A2A, ["3.1.8", "GetTaskPushNotificationConfig"], {
    details: must("The answer has the webhook's URL and its settings.", {
      how: "Never its token or credentials.",
      tck: ["PUSH-GET-001"],
    }),
    missing: must("A config that is not there is an error.", { how: "TaskNotFoundError.", tck: ["PUSH-GET-002"] }),
  }),
  section(A2A, ["3.1.9", "ListTaskPushNotificationConfigs"], {
    all: must("All configs of the task are listed.", { how: "In pages, if wanted.", tck: ["PUSH-LIST-001"] }),
  }),
  section(A2A, ["3.1.10", "DeleteTaskPushNotificationConfig"], {
    removed: must("The config is gone for good, and nothing more is sent there.", { tck: ["PUSH-DEL-001"] }),
    again: must("Deleting again is the same.", { tck: ["PUSH-DEL-002"] }),
  }),
  section(A2A, ["4.3.3", "Deliveries"], {
    credentials: must("A request to a webhook carries the credentials of its config.", { tck: ["PUSH-DELIVER-001"] }),
    "at-least-once": must("Each update is tried to be delivered at least once.", { tck: ["PUSH-DELIVER-002"] }),
    payload: must("The body is one StreamResponse.", {
      how: "`application/a2a+json`: exactly one of task, message, statusUpdate, artifactUpdate.",
      tck: ["PUSH-DELIVER-003"],
    }),
  }),
  section(A2A, ["13.2", "Security of push"], {
    ssrf: should("Addresses are checked: no private, loopback or link-local ones; lists of hosts where they help.", {
      how: "Only hosts that the operator lists; the address is checked when it is dialled.",
    }),
    timeout: should("A request to a webhook has a time limit of 10 to 30 seconds.", { how: "15 seconds." }),
    retries: should("What fails is tried again, with growing pauses.", { how: "For a day." }),
    https: should("Webhooks are https addresses.", {
      how: "Unless the operator lists one that is not.",
    }),
  }),

  section(PUSH_RULES, ["configs", "Configs"], {
    off: must(
      "Without a push secret the card says `pushNotifications: false`, and every call and every inline config is -32003; nothing runs.",
    ),
    limit: must("A task has 16 at most; then -32602, PUSH_CONFIG_LIMIT."),
    ids: must("Ids are a task's own: without one a new one is made, and the same one again changes that config."),
    redacted: must("`token` and `credentials` are never returned."),
    clean: must("CR, LF and NUL in them are refused, and what would hide in a URL."),
    hosts: must("A host that is not allowed is -32602, PUSH_HOST_NOT_ALLOWED, without asking a name server."),
    inline: must("A config may come with a message, and counts once however often that is sent."),
    owner: must("They are their task's subject's alone, on every operation."),
  }),
  section(PUSH_RULES, ["sent", "What is sent"], {
    signed: must(
      "Each attempt is signed as Standard Webhooks has it, over the very bytes: v1 with the secret, v1a with a key whose public half is published.",
    ),
    ordered: must("What is sent to one config is in the order in which it happened."),
    snapshot: must("A config for a task that has ended, or waits, is told so at once."),
    extensions: must(
      "It carries data of those extensions that the request which made its config activated, and of no others.",
    ),
  }),
  section(PUSH_RULES, ["attempts", "Attempts"], {
    id: must("`webhook-id` is the same on each attempt of a delivery; the time and the signature are that attempt's."),
    taken: must("2xx takes a delivery, and nothing else does; the answer's body is not looked at."),
    retried: must(
      "What fails is tried again after 5 s, 30 s, 2 min, 10 min, 30 min, 1 h, then every 2 to 4 h, with jitter.",
    ),
    day: must(
      "It is tried for a day after it came to be, and once at least; then it is given up, kept, and can be sent again.",
    ),
    "retry-after": must("`Retry-After` is honoured within that day."),
    gone: must("410 ends the config."),
    drained: must("When a webhook is back it is told at once all that waited."),
    restart: must("What waited when the process ended is told by the next one."),
    apart: must("A webhook that is slow or down delays nobody else's, and no answer to a caller."),
    address: must("The address is checked at every attempt, when it is dialled."),
    rotation: must(
      "Secrets and the key of v1a change without a restart; while one replaces another, both sign, and both keys are published.",
    ),
    forgery: must("Who has the secret cannot pose as the Runtime to one that checks v1a."),
  }),
];
