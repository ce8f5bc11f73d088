/** What A2A 1.0 requires of a client: `createA2aClient` and `verifyWebhook` of `@nylorun/agents/a2a`. */
import { must, section, should } from "../requirement.ts";
import { A2A } from "./a2a-operations.ts";

export const CLIENT = [
  section(A2A, ["client", "Clients"], {
    version: must("3.6.1: each request has `A2A-Version`.", { tck: ["VER-CLIENT-001"] }),
    "no-version-fallback": should("3.6.3: no older version is fallen back to.", {
      how: "Interfaces of 1.0 are taken, and no others.",
    }),
    capabilities: should("3.3.4: the card is looked at before what needs a capability is asked for."),
    "opaque-context": should("3.4.1: a `contextId` that the server made is opaque."),
    interface: must("8.3.2: of the interfaces that it can use, it takes the first, at its URL."),
    fallback: should("5.2: it falls back to another binding that the agent offers."),
    tenant: must("8.3.2: the `tenant` of the interface is in every request."),
    "card-signature": should("8.4.3: a signature of the card is verified before the card is trusted.", {
      deviates:
        "The client trusts the TLS of the card's address, refuses to send credentials from an https card to an http address, and leaves signatures to who has keys to trust: there is no public key infrastructure for cards yet.",
    }),
    caching: should("8.6.2: the card is cached as HTTP says, and asked for again by its `ETag`."),
    "in-task-polling": should(
      "7.6.2: while a task waits for an authorization, the client subscribes, has a webhook, or polls.",
    ),
    "server-identity": should("7.2: the server's TLS certificate is verified.", {
      how: "By the host's own fetch; nothing turns that off.",
      tck: ["AUTH-SERVER-001"],
    }),
    "text-is-no-credential": must("7.6.4: a task that waits for an authorization is not taken to be authorized."),
    "webhook-verified": must("13.2: a notification is verified by its credentials before it is used."),
    "webhook-expected": should("13.2: its task is one that is expected.", {
      how: "The token of the config that the client made is compared.",
    }),
    "webhook-2xx": must("13.2: what was taken is acknowledged with 2xx."),
    "webhook-once": should("13.2: what comes again is handled once."),
    "webhook-token": should("13.2: each config has a token of its own.", {
      how: "Random, unless the caller gives one.",
    }),
    "webhook-https": should("13.2: webhooks are https addresses.", {
      left: "the caller, who says the address; a Runtime takes https alone unless its operator lists the very host",
    }),
  }),
];
