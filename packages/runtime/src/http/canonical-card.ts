/**
 * An Agent Card in the form that is signed: without its signatures, without what is no more than a default, and as RFC 8785 writes JSON
 * (A2A 1.0, section 8.4.1).
 */
import type { AgentCard } from "@nylorun/protocol";

/** Fields that protobuf marks as required: they stay, whatever they hold. By the message that they are fields of. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  card: [
    "name",
    "description",
    "supportedInterfaces",
    "version",
    "capabilities",
    "defaultInputModes",
    "defaultOutputModes",
    "skills",
  ],
  supportedInterfaces: ["url", "protocolBinding", "protocolVersion"],
  provider: ["url", "organization"],
  skills: ["id", "name", "description", "tags"],
  httpAuthSecurityScheme: ["scheme"],
};
/** Fields that are there or not, which is no default: they stay when they are there. */
const OPTIONAL: ReadonlySet<string> = new Set([
  "documentationUrl",
  "iconUrl",
  "streaming",
  "pushNotifications",
  "extendedAgentCard",
]);
/** Maps: their entries stay, an empty message too. */
const MAPS: ReadonlySet<string> = new Set(["securitySchemes", "schemes"]);

/**
 * The forms that somebody may check a signature against: the specification's, and, where it differs, the one without empty objects,
 * which the official SDKs make. Of our cards that one lacks the requirements, as their scheme needs no scope.
 */
export function canonicalForms(card: AgentCard): readonly string[] {
  const { signatures: _, ...rest } = card;
  const exact = json(withoutDefaults(rest, "card"));
  const lean = json(withoutEmpty(JSON.parse(exact)) ?? {});
  return exact === lean ? [exact] : [exact, lean];
}

function withoutDefaults(message: object, name: string): object {
  const kept = Object.entries(message).flatMap(([field, value]): [string, unknown][] => {
    if (value === undefined) return [];
    const stays = REQUIRED[name]?.includes(field) === true || OPTIONAL.has(field) || MAPS.has(name);
    if (!stays && isDefault(value)) return [];
    return [[field, within(value, field)]];
  });
  return Object.fromEntries(kept);
}

function within(value: unknown, field: string): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => within(item, field));
  return typeof value === "object" && value !== null ? withoutDefaults(value, field) : value;
}

function isDefault(value: unknown): boolean {
  return value === false || value === "" || value === 0 || (Array.isArray(value) && value.length === 0);
}

function withoutEmpty(value: unknown): unknown {
  if (value === "" || value === null) return undefined;
  if (Array.isArray(value)) {
    const items = value.map(withoutEmpty).filter((item) => item !== undefined);
    return items.length === 0 ? undefined : items;
  }
  if (typeof value !== "object") return value;
  const fields = Object.entries(value).flatMap(([name, field]): [string, unknown][] => {
    const kept = withoutEmpty(field);
    return kept === undefined ? [] : [[name, kept]];
  });
  return fields.length === 0 ? undefined : Object.fromEntries(fields);
}

/** RFC 8785: keys in the order of their UTF-16 units, nothing between; strings and numbers as JavaScript writes them. */
function json(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(json).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${json(field)}`).join(",")}}`;
}
