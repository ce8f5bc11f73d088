/**
 * The Agent Card and its parts, in the lowerCamelCase JSON form (A2A 1.0, sections 4.4, 4.5 and 8). Types only.
 */
import type { Struct } from "./types.ts";

/** What an agent says of itself (section 4.4.1). */
export interface AgentCard {
  readonly name: string;
  readonly description: string;
  /** The preferred one first. */
  readonly supportedInterfaces: readonly AgentInterface[];
  readonly provider?: AgentProvider;
  readonly version: string;
  readonly documentationUrl?: string;
  readonly capabilities: AgentCapabilities;
  readonly securitySchemes?: Readonly<Record<string, SecurityScheme>>;
  readonly securityRequirements?: readonly SecurityRequirement[];
  /** Media types. */
  readonly defaultInputModes: readonly string[];
  /** Media types. */
  readonly defaultOutputModes: readonly string[];
  readonly skills: readonly AgentSkill[];
  readonly signatures?: readonly AgentCardSignature[];
  readonly iconUrl?: string;
}

/** Section 4.4.2. */
export interface AgentProvider {
  readonly url: string;
  readonly organization: string;
}

/** Section 4.4.3. */
export interface AgentCapabilities {
  readonly streaming?: boolean;
  readonly pushNotifications?: boolean;
  readonly extensions?: readonly AgentExtension[];
  readonly extendedAgentCard?: boolean;
}

/** Section 4.4.4. */
export interface AgentExtension {
  readonly uri: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly params?: Struct;
}

/** Section 4.4.5. */
export interface AgentSkill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly examples?: readonly string[];
  readonly inputModes?: readonly string[];
  readonly outputModes?: readonly string[];
  readonly securityRequirements?: readonly SecurityRequirement[];
}

/** Where and how an agent is reached (section 4.4.6). */
export interface AgentInterface {
  readonly url: string;
  /** `JSONRPC`, `GRPC`, `HTTP+JSON`, or a URI. */
  readonly protocolBinding: string;
  readonly tenant?: string;
  /** Major.Minor. */
  readonly protocolVersion: string;
}

/** A JWS signature of the card (sections 4.4.7 and 8.4.2). */
export interface AgentCardSignature {
  readonly protected: string;
  readonly signature: string;
  readonly header?: Struct;
}

/** All of the named schemes together, each with the scopes that it needs (section 4.5). */
export interface SecurityRequirement {
  readonly schemes: Readonly<Record<string, { readonly list?: readonly string[] }>>;
}

/** Exactly one of five (section 4.5.1). */
export type SecurityScheme =
  | { readonly apiKeySecurityScheme: ApiKeySecurityScheme }
  | { readonly httpAuthSecurityScheme: HttpAuthSecurityScheme }
  | { readonly oauth2SecurityScheme: OAuth2SecurityScheme }
  | { readonly openIdConnectSecurityScheme: OpenIdConnectSecurityScheme }
  | { readonly mtlsSecurityScheme: MutualTlsSecurityScheme };

/** Section 4.5.2. */
export interface ApiKeySecurityScheme {
  readonly description?: string;
  readonly location: "query" | "header" | "cookie";
  readonly name: string;
}

/** Section 4.5.3. */
export interface HttpAuthSecurityScheme {
  readonly description?: string;
  readonly scheme: string;
  readonly bearerFormat?: string;
}

/** Section 4.5.4. */
export interface OAuth2SecurityScheme {
  readonly description?: string;
  readonly flows: OAuthFlows;
  readonly oauth2MetadataUrl?: string;
}

/** Section 4.5.5. */
export interface OpenIdConnectSecurityScheme {
  readonly description?: string;
  readonly openIdConnectUrl: string;
}

/** Section 4.5.6. */
export interface MutualTlsSecurityScheme {
  readonly description?: string;
}

interface OAuthFlow {
  readonly refreshUrl?: string;
  /** Scope to what it allows. */
  readonly scopes: Readonly<Record<string, string>>;
}

/** Exactly one flow (section 4.5.7). The two that A2A deprecates are left out. */
export type OAuthFlows =
  | {
      readonly authorizationCode: OAuthFlow & {
        readonly authorizationUrl: string;
        readonly tokenUrl: string;
        readonly pkceRequired?: boolean;
      };
    }
  | { readonly clientCredentials: OAuthFlow & { readonly tokenUrl: string } }
  | { readonly deviceCode: OAuthFlow & { readonly deviceAuthorizationUrl: string; readonly tokenUrl: string } };
