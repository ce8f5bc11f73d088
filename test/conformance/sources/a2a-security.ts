/** A2A 1.0, sections 7, 8, 13 and 14: who may do what, cards, and how they are found. */
import { may, must, section, should } from "../requirement.ts";
import { A2A } from "./a2a-operations.ts";

const TLS = "whoever puts the Runtime on a network: a proxy in front of it ends TLS ([Operating](../operate.md))";

export const SECURITY = [
  section(A2A, ["7.1", "Transport"], {
    tls: must("In production, connections are encrypted.", { left: TLS, tck: ["AUTH-TLS-001"] }),
    "modern-tls": should("They use TLS 1.3, and nothing that is deprecated; HSTS is on.", {
      left: TLS,
      tck: ["AUTH-TLS-002"],
    }),
  }),

  section(A2A, ["7.4", "Authentication"], {
    every: must("Every request is authenticated.", {
      how: "There is no anonymous mode. Public are the cards, their keys, `/health` and `/ready`.",
      tck: ["AUTH-SERVER-002"],
    }),
    codes: should("A request that is not is answered with HTTP's own code, and a challenge."),
  }),

  section(A2A, ["7.6.1", "Authorization in a task"], {
    task: must("What needs an authorization is tracked by a task.", { tck: ["AUTH-INTASK-001"] }),
    state: must("The task becomes AUTH_REQUIRED.", { tck: ["AUTH-INTASK-002"] }),
    explained: must("Its status message explains what is required.", { tck: ["AUTH-INTASK-003"] }),
    "out-of-band": must("It is received out of band, unless an extension says otherwise.", {
      how: "`interactions/v1` says how. Without it: by somebody who is signed in to the Runtime.",
      tck: ["AUTH-INTASK-004"],
    }),
    streams: should("Streams stay open meanwhile.", { deviates: "Nothing is streamed.", tck: ["AUTH-INTASK-005"] }),
    continues: may("The task goes on without a message when it is received."),
    messages: should("Messages to the task are taken meanwhile.", {
      how: "They are kept in its history, 20 at most, and change nothing.",
      tck: ["AUTH-INTASK-006"],
    }),
  }),

  section(A2A, ["7.6.2", "Passing a request for authorization on"], {
    chain: should("An agent whose own call waits for an authorization passes that on, by its own task.", {
      how: "What an agent that `turn.call` called asks, the caller is asked; its answer is passed back.",
    }),
  }),

  section(A2A, ["7.6.4", "What an authorization is worth"], {
    "state-alone": must("The state alone authorizes nothing."),
    "one-only": must("A decision does not authorize what comes later.", {
      how: "It is for one interaction, by its id, once.",
    }),
  }),

  section(A2A, ["8.1", "The card is there"], {
    available: must("There is an Agent Card.", { tck: ["CARD-DISC-001"] }),
  }),

  section(A2A, ["8.3.1", "Interfaces"], {
    protocols: should("All protocols are listed, the preferred one first.", { tck: ["CARD-PROTO-001"] }),
    accurate: must("Each entry has its binding, its version and a URL that works.", { tck: ["CARD-PROTO-002"] }),
  }),

  section(A2A, ["8.4", "Signed cards"], {
    jcs: must("What is signed is canonical JSON (RFC 8785), without fields that have their default.", {
      tck: ["CARD-SIGN-001"],
    }),
    "no-signatures": must("`signatures` is not part of it.", { tck: ["CARD-SIGN-002"] }),
    header: must("The protected header has `alg` and `kid`.", {
      how: "And `typ: JOSE`, and `jku`.",
      tck: ["CARD-SIGN-003"],
    }),
    rotation: may("There may be several signatures, so that keys can change.", { tck: ["CARD-SIGN-004"] }),
  }),

  section(A2A, ["8.6.1", "Caching of cards"], {
    "cache-control": should("The card has `Cache-Control` with a `max-age`.", { tck: ["CARD-CACHE-001"] }),
    etag: should("It has an `ETag`.", { tck: ["CARD-CACHE-002"] }),
    "last-modified": may("It may have `Last-Modified`.", { tck: ["CARD-CACHE-003"] }),
  }),

  section(A2A, ["13.1", "Who sees what"], {
    "every-operation": must("Every operation checks what the caller may do.", { tck: ["AUTH-SCOPE-001"] }),
    scoped: must("Answers hold what is the caller's, whether it filters or not.", { tck: ["AUTH-SCOPE-002"] }),
    "before-anything": must("This is checked before anything could leak that something exists."),
    documented: should("How is documented.", {
      how: "[Profile v2](profile/v2.md#contexts-and-turns), [SECURITY.md](../../SECURITY.md).",
    }),
  }),

  section(A2A, ["13.4", "Security practice"], {
    limits: should("The size of messages and files, and how complex a request is, have limits.", {
      how: "[Limits](../reference/limits.md).",
    }),
    "media-types": should("Media types that are not expected are refused."),
    secrets: must("Keys and credentials are treated as secrets.", {
      how: "Keys are stored as hashes, and shown once.",
    }),
    revocation: should("They can be revoked.", { how: "From the next request on." }),
    "log-failures": should("Failures to authenticate are logged.", {
      deviates:
        "They are counted at `/metrics`, on every path. One by one they are not logged: whoever has no key could fill the disk.",
    }),
    monitoring: should("Unusual patterns can be seen.", {
      how: "Calls are counted by method and by how they were answered, at `/metrics`, with what waits and how long.",
    }),
    audit: should("Sensitive operations leave a trail.", {
      how: "What operators do is in the log, with ids and verdicts; what a person answered is in the task's history, and in its journal.",
    }),
    "no-secrets-in-logs": must("Logs hold no credentials and nobody's data."),
    "rate-limits": should("Requests have a rate limit, and an answer that says so.", {
      how: "429 with `Retry-After`.",
    }),
    deletion: should("Data can be deleted on request.", { how: "`nylorun delete` a task, a context, or a subject." }),
    retention: should("Data is kept for a time that is known.", { how: "[Settings](../reference/settings.md)." }),
    "data-protection": must("Data protection law is kept.", {
      left: "whoever runs it for people; `nylorun delete` and the retention settings serve that",
    }),
    rotation: should("Credentials are changed from time to time.", {
      left: "whoever holds them; several keys of a subject overlap",
    }),
  }),

  section(A2A, ["14.1", "Media types"], {
    validated: must("What comes in is checked against the schema before it is used."),
    sanitized: must("What callers and agents write cannot be run where it is shown.", {
      how: "Text is set as text in pages, under a policy that runs no other script; what steers a terminal is taken out.",
    }),
    "file-references": must("References to files in messages are checked, so that they reach no inner network."),
  }),

  section(A2A, ["14.3", "The well-known address"], {
    card: must("`/.well-known/agent-card.json` is an Agent Card.", {
      how: "Below each agent's address, and at the root for the default one.",
    }),
    "no-secrets": should("It holds no credentials and nothing of the inside."),
  }),
];
