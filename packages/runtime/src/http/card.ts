/**
 * Agent Cards (A2A 1.0, sections 4.4 and 8), and how they are served: made once per start, cached by clients, asked for again
 * conditionally (section 8.6).
 */
import { hash } from "node:crypto";

import type { Agent } from "@nylorun/agents";
import { A2A_VERSION } from "@nylorun/protocol";
import type { AgentCard } from "@nylorun/protocol";

import type { CardKeys } from "../access/card-keys.ts";
import { canonicalForms } from "./canonical-card.ts";
import { DECLARED } from "./offered.ts";

/** How long a client may use a card without asking again, in seconds. Asking costs little: an unchanged card is a 304. */
const MAX_AGE = 300;

/** Where an agent is called. The slash at the end makes `.well-known/agent-card.json`, resolved against it, the agent's own card. */
export function agentUrl(publicUrl: string, id: string): string {
  return `${publicUrl}/v1/a2a/agents/${id}/`;
}

/** What a card says of how callers authenticate (A2A 1.0, section 4.5); undefined: nothing. */
export interface CardSecurity {
  readonly schemes: AgentCard["securitySchemes"] | undefined;
  readonly requirements: AgentCard["securityRequirements"] | undefined;
}

export interface CardSettings {
  /** Without a slash at the end. */
  readonly publicUrl: string;
  /** Whose tokens are taken beside keys. */
  readonly jwtIssuers?: readonly { readonly issuer: string }[];
  /** How callers authenticate. Default: with keys of the Runtime's, or JWTs of `jwtIssuers`. */
  readonly security?: CardSecurity | undefined;
  /** Who runs the agents; both or neither. */
  readonly providerName?: string | undefined;
  readonly providerUrl?: string | undefined;
  /** With `{agent}` where the agent's id belongs. */
  readonly documentationUrl?: string | undefined;
  /** Whether updates of tasks are pushed. */
  readonly pushes?: boolean;
  readonly iconUrl?: string | undefined;
}

/** Where the public keys of signed cards are. */
export const CARD_KEYS = "/.well-known/nylorun-card-keys.json";

export function cardOf(agent: Agent, settings: CardSettings): AgentCard {
  const { publicUrl, providerName, providerUrl, documentationUrl, iconUrl, pushes = false } = settings;
  const { security = bearerSecurity(settings) } = settings;
  return {
    name: agent.name,
    description: agent.description,
    supportedInterfaces: [
      { url: agentUrl(publicUrl, agent.id), protocolBinding: "JSONRPC", protocolVersion: A2A_VERSION },
    ],
    ...(providerName !== undefined &&
      providerUrl !== undefined && { provider: { organization: providerName, url: providerUrl } }),
    version: agent.version,
    ...(documentationUrl !== undefined && { documentationUrl: documentationUrl.replaceAll("{agent}", agent.id) }),
    ...(iconUrl !== undefined && { iconUrl: iconUrl.replaceAll("{agent}", agent.id) }),
    capabilities: {
      streaming: false,
      pushNotifications: pushes,
      extensions: DECLARED,
      extendedAgentCard: false,
    },
    ...(security.schemes && { securitySchemes: security.schemes }),
    ...(security.requirements && { securityRequirements: security.requirements }),
    defaultInputModes: agent.inputModes,
    defaultOutputModes: agent.outputModes,
    skills: agent.skills.map(({ id, name, description, tags, examples }) => ({
      id,
      name,
      description,
      tags,
      ...(examples && { examples }),
    })),
  };
}

function bearerSecurity({ jwtIssuers = [] }: CardSettings): CardSecurity {
  const issuers = [...new Set(jwtIssuers.map(({ issuer }) => issuer))].join(" or ");
  const description = `A key that the Runtime's operator made${issuers === "" ? "" : `, or a JWT of ${issuers}`}.`;
  return {
    schemes: { bearer: { httpAuthSecurityScheme: { scheme: "Bearer", description } } },
    requirements: [{ schemes: { bearer: {} } }],
  };
}

/** The card with its signatures: anybody can tell then whether it is as it was made (A2A 1.0, section 8.4). */
export async function signCard(card: AgentCard, keys: CardKeys, publicUrl: string): Promise<AgentCard> {
  const signed = canonicalForms(card).map((form) => keys.sign(form, publicUrl + CARD_KEYS));
  return { ...card, signatures: (await Promise.all(signed)).flat() };
}

/** A card, ready to be sent. */
export interface ServedCard {
  /** Answers a GET, with 304 when the caller has this very card already. */
  answer(request: Request): Response;
}

/** How a card is cached that is for some alone: not by who stands between, and not without asking, as who asks may be another by then. */
const FOR_SOME = { "Cache-Control": "private, no-cache", Vary: "Authorization, Cookie" };

/**
 * @param options.since When the card came to be what it is: milliseconds since 1970.
 * @param options.isPublic Whether it is for everybody, or for who has been looked at.
 */
export function serveCard(
  card: AgentCard,
  { since, isPublic }: { readonly since: number; readonly isPublic: boolean },
): ServedCard {
  const text = JSON.stringify(card);
  const tag = `"${hash("sha256", text, "base64url").slice(0, 22)}"`;
  // HTTP's dates have no fractions: a card that was asked for within its first second has not changed since.
  const modified = Math.floor(since / 1000) * 1000;
  const caching = {
    ETag: tag,
    "Last-Modified": new Date(modified).toUTCString(),
    ...(isPublic ? { "Cache-Control": `public, max-age=${MAX_AGE}` } : FOR_SOME),
  };
  const whole = { headers: { "Content-Type": "application/json", ...caching } };
  const unchanged = { status: 304, headers: caching };
  return {
    answer: ({ headers }) =>
      isKnown(headers, tag, modified) ? new Response(null, unchanged) : new Response(text, whole),
  };
}

/** RFC 9110, section 13.2.2: a tag counts more than a date, and an unreadable date not at all. */
function isKnown(headers: Headers, tag: string, modified: number): boolean {
  const tags = headers.get("if-none-match");
  if (tags !== null) {
    return tags.split(",").some((each) => {
      const known = each.trim();
      return known === "*" || known === tag || known === `W/${tag}`;
    });
  }
  const date = headers.get("if-modified-since");
  return date !== null && Date.parse(date) >= modified;
}
