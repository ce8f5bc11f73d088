/**
 * The agents, as those who may use them find them: the list, and the cards (A2A 1.0, sections 8.1 and 8.2).
 *
 * An agent that is for some subjects alone does not exist for the others (I7). A request for its card, and one for the card of an agent that is
 * not there, go the same way and are answered the same, so that neither an error nor time tells them apart.
 */
import type { Agent } from "@nylorun/agents";
import { Hono } from "hono";

import type { Authenticate } from "../access/api-keys.ts";
import type { CardKeys } from "../access/card-keys.ts";
import { isOpenTo } from "../turn/callee.ts";
import { ownJsonText, refuse } from "./answer.ts";
import type { Refusal } from "./answer.ts";
import { agentUrl, cardOf, serveCard, signCard } from "./card.ts";
import type { CardSettings, ServedCard } from "./card.ts";
import type { Limits } from "./limits.ts";
import { noDefaultAgent, noSubject, noSuchAgent } from "./refusals.ts";

export interface AgentRouteOptions {
  readonly agents: readonly Agent[];
  readonly authenticate: Authenticate;
  /** What nobody is answered. */
  readonly unauthenticated: Refusal;
  readonly limits: Limits;
  readonly settings: CardSettings & {
    /** Default: the only agent, if there is one only. */
    readonly defaultAgent: string | undefined;
  };
  /** Default: cards are not signed. */
  readonly cardKeys?: CardKeys | undefined;
  /** When the cards came to be what they are: milliseconds since 1970. */
  readonly since: number;
}

interface Found {
  readonly agent: Agent;
  readonly card: ServedCard;
}

const CARD = "/.well-known/agent-card.json";

export async function createAgentRoutes(options: AgentRouteOptions): Promise<Hono> {
  const { agents, authenticate, unauthenticated, limits, settings, cardKeys, since } = options;
  const { publicUrl } = settings;
  const byId = new Map<string, Found>();
  for (const agent of agents) {
    const plain = cardOf(agent, settings);
    const signed = cardKeys === undefined ? plain : await signCard(plain, cardKeys, publicUrl);
    byId.set(agent.id, { agent, card: serveCard(signed, { since, isPublic: agent.subjects === undefined }) });
  }
  const defaultId = settings.defaultAgent ?? (agents.length === 1 ? agents[0]!.id : undefined);
  const listed = agents.map((agent) => ({ agent, text: JSON.stringify(entryOf(agent, publicUrl)) }));

  /** An operator sees the card of every agent, and uses none. */
  const isShown = async (request: Request, agent: Agent | undefined): Promise<boolean> => {
    const principal = await authenticate(request);
    if (principal === undefined) return false;
    if (principal.role === "operator") return true;
    limits.request(principal.subject);
    return agent !== undefined && isOpenTo(agent, principal.subject);
  };
  const answer = async (request: Request, found: Found | undefined, otherwise: Refusal): Promise<Response> => {
    const isPublic = found !== undefined && found.agent.subjects === undefined;
    if (!isPublic && !(await isShown(request, found?.agent))) return refuse(otherwise);
    return found === undefined ? refuse(otherwise) : found.card.answer(request);
  };

  return new Hono()
    .get(`/v1/a2a/agents/:agent${CARD}`, (c) => answer(c.req.raw, byId.get(c.req.param("agent")), noSuchAgent))
    .get(CARD, (c) => answer(c.req.raw, defaultId === undefined ? undefined : byId.get(defaultId), noDefaultAgent))
    .get("/v1/agents", async (c) => {
      const principal = await authenticate(c.req.raw);
      if (principal === undefined) return refuse(unauthenticated);
      if (principal.role !== "subject") return refuse(noSubject);
      const { subject } = principal;
      limits.request(subject);
      const open = listed.filter(({ agent }) => isOpenTo(agent, subject));
      return ownJsonText(`{"agents":[${open.map(({ text }) => text).join(",")}]}`);
    });
}

function entryOf({ id, name, description, version }: Agent, publicUrl: string): object {
  const url = agentUrl(publicUrl, id);
  return { id, name, description, version, url, cardUrl: new URL(`.${CARD}`, url).href };
}
