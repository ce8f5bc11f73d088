/** How callers authenticate to a program that checks them itself: what cards, and answers to strangers, say of it. */
import type { SecurityRequirement, SecurityScheme } from "@nylorun/protocol";

import type { Authenticate } from "../access/api-keys.ts";
import { checkSubject } from "../access/subject.ts";
import type { Access } from "../http/app.ts";
import { unauthenticatedBy } from "../http/refusals.ts";
import { RuntimeError } from "./errors.ts";

export interface OwnAccessOptions {
  /**
   * Who a request comes from, instead of API keys and JWTs. Undefined: from nobody, which is answered 401. A subject has 1-200 visible ASCII
   * characters.
   */
  readonly authenticate?: Authenticate | undefined;
  /**
   * How callers authenticate to `authenticate`, by a name of each way, as the cards say it (A2A 1.0, section 4.5). With
   * `securityRequirements`, and beside `authenticate` alone. Default: cards say nothing of it.
   */
  readonly securitySchemes?: Readonly<Record<string, SecurityScheme>> | undefined;
  /** Which of `securitySchemes` a caller needs: all that one of these names. */
  readonly securityRequirements?: readonly SecurityRequirement[] | undefined;
  /** `WWW-Authenticate` of a 401 (RFC 9110, section 11.6.1), beside `authenticate` alone: visible ASCII and spaces. Default: `Bearer`. */
  readonly challenge?: string | undefined;
}

const KINDS: ReadonlySet<string> = new Set([
  "apiKeySecurityScheme",
  "httpAuthSecurityScheme",
  "oauth2SecurityScheme",
  "openIdConnectSecurityScheme",
  "mtlsSecurityScheme",
]);

/**
 * Undefined: callers have keys of the Runtime's, or tokens of its issuers.
 *
 * @throws RuntimeError `setting.invalid`.
 */
export function ownAccess(options: OwnAccessOptions): Access | undefined {
  const { authenticate, securitySchemes, securityRequirements, challenge = "Bearer" } = options;
  for (const name of ["securitySchemes", "securityRequirements", "challenge"] as const) {
    if (options[name] !== undefined && authenticate === undefined)
      throw invalid(
        `${name} says how callers of your own authenticate do it: pass authenticate as well, or leave it out.`,
      );
  }
  if (authenticate === undefined) return undefined;
  if (typeof challenge !== "string" || !/^[!-~](?:[ -~]*[!-~])?$/.test(challenge))
    throw invalid(
      `challenge must be the text of a WWW-Authenticate header, such as Basic realm="Agents"; it is ${shown(challenge)}.`,
    );
  checkSecurity(securitySchemes, securityRequirements);
  return {
    authenticate: checked(authenticate),
    unauthenticated: unauthenticatedBy(challenge),
    security: { schemes: securitySchemes, requirements: securityRequirements },
  };
}

function checkSecurity(schemes: unknown, requirements: unknown): void {
  if ((schemes === undefined) !== (requirements === undefined)) {
    const missing = schemes === undefined ? "securitySchemes" : "securityRequirements";
    throw invalid(`Cards say which ways there are, and which a caller needs: ${missing} is missing.`);
  }
  if (schemes === undefined) return;
  if (!isObject(schemes) || Object.keys(schemes).length === 0)
    throw invalid(`securitySchemes must be an object of ways by name; it is ${shown(schemes)}.`);
  for (const [name, scheme] of Object.entries(schemes)) {
    const kinds = isObject(scheme) ? Object.keys(scheme) : [];
    if (kinds.length === 1 && KINDS.has(kinds[0]!) && isObject((scheme as Record<string, unknown>)[kinds[0]!]))
      continue;
    throw invalid(`securitySchemes.${name} must hold exactly one of ${[...KINDS].join(", ")}; it is ${shown(scheme)}.`);
  }
  if (!Array.isArray(requirements) || requirements.length === 0)
    throw invalid(
      `securityRequirements must be a list, and not empty: nobody is anonymous; it is ${shown(requirements)}.`,
    );
  for (const [at, requirement] of requirements.entries()) {
    const needed = isObject(requirement) && isObject(requirement["schemes"]) ? Object.keys(requirement["schemes"]) : [];
    const unknown = needed.find((name) => !Object.hasOwn(schemes, name));
    if (needed.length > 0 && unknown === undefined) continue;
    const came = unknown === undefined ? shown(requirement) : `"${unknown}"`;
    throw invalid(
      `securityRequirements[${at}].schemes must name some of securitySchemes (${Object.keys(schemes).join(", ")}); it is ${came}.`,
    );
  }
}

/** An embedder's own check, whose subjects keep to the rule of all subjects. */
function checked(authenticate: Authenticate): Authenticate {
  return async (request) => {
    const principal = await authenticate(request);
    if (principal?.role === "subject") checkSubject(principal.subject);
    return principal;
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 100);
}

function invalid(message: string): RuntimeError {
  return new RuntimeError("setting.invalid", message);
}
