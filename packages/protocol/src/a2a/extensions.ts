/**
 * The five extensions of the Nylorun profile: their URIs, how a request activates them (A2A 1.0, section 4.6), and how their data
 * is kept apart from the rest of a message's metadata.
 *
 * Nothing here says what the data may be: each has a schema of its own under `protocol/a2a`.
 */
import { invalidParams } from "./errors.ts";
import type { Message, Struct } from "./types.ts";

export const EXTENSIONS = {
  interactions: "https://docs.nylorun.com/a2a/interactions/v1",
  effects: "https://docs.nylorun.com/a2a/effects/v1",
  progress: "https://docs.nylorun.com/a2a/progress/v1",
  telemetry: "https://docs.nylorun.com/a2a/telemetry/v1",
  files: "https://docs.nylorun.com/a2a/files/v1",
} as const;

export type ExtensionUri = (typeof EXTENSIONS)[keyof typeof EXTENSIONS];

/** All five, in the profile's order. */
export const EXTENSION_URIS: readonly ExtensionUri[] = Object.values(EXTENSIONS);

/** Extension data by URI. */
export type ExtensionData = { readonly [Uri in ExtensionUri]?: unknown };

export interface Activation {
  readonly active: ReadonlySet<ExtensionUri>;
  /** The value of the answer's `A2A-Extensions`, errors included; undefined: no such header. */
  readonly echo: string | undefined;
}

const NOTHING: Activation = { active: new Set(), echo: undefined };

/**
 * Which of the offered extensions a request activates. URIs are compared exactly; what is not offered is ignored.
 *
 * @param header `A2A-Extensions`: comma-separated URIs.
 * @param offered What the agent's card declares. The echo keeps this order.
 */
export function activate(
  header: string | null | undefined,
  offered: readonly ExtensionUri[] = EXTENSION_URIS,
): Activation {
  if (!header) return NOTHING;
  const wanted = new Set(header.split(",").map((uri) => uri.trim()));
  const active = offered.filter((uri) => wanted.has(uri));
  return active.length === 0 ? NOTHING : { active: new Set(active), echo: active.join(", ") };
}

/** What a message or an artifact says beside its parts, taken apart. What there is nothing of is absent. */
export interface SplitMetadata {
  /** Data of the profile's extensions alone. */
  readonly data?: ExtensionData;
  /** Everything else, the sender's own. */
  readonly metadata?: Struct;
  /** Listed URIs that are not the profile's. */
  readonly extensions?: readonly string[];
}

type Carrier = Pick<Message, "metadata" | "extensions">;

/** Takes the profile's extension data out of metadata, so that nothing else in there can pose as it. */
export function splitMetadata(carrier: Carrier): SplitMetadata {
  const foreign = carrier.extensions?.filter((uri) => !EXTENSION_URIS.includes(uri as ExtensionUri));
  const extensions = foreign?.length ? { extensions: foreign } : undefined;
  const { metadata } = carrier;
  const uris = metadata === undefined ? [] : EXTENSION_URIS.filter((uri) => Object.hasOwn(metadata, uri));
  if (metadata === undefined || uris.length === 0) return { ...kept(metadata), ...extensions };
  const data: { [Uri in ExtensionUri]?: unknown } = {};
  // A spread defines each key anew, so that one named __proto__ stays a key.
  const rest: Record<string, unknown> = { ...metadata };
  for (const uri of uris) {
    data[uri] = metadata[uri];
    delete rest[uri];
  }
  return { data, ...kept(rest), ...extensions };
}

/**
 * Splits what a message that came in says. Data of an extension that the request did not activate is ignored.
 *
 * @throws A2aError -32602 on `message.extensions` when the message carries data of an active extension and does not list it.
 */
export function readExtensions(message: Carrier, active: ReadonlySet<ExtensionUri>): SplitMetadata {
  // The common message by far.
  if (message.metadata === undefined && message.extensions === undefined) return {};
  const { data: found, ...rest } = splitMetadata(message);
  const uris = found === undefined ? [] : EXTENSION_URIS.filter((uri) => active.has(uri) && Object.hasOwn(found, uri));
  if (found === undefined || uris.length === 0) return rest;
  const unlisted = uris.find((uri) => !message.extensions?.includes(uri));
  if (unlisted !== undefined) {
    throw invalidParams([
      { field: "message.extensions", description: `must list ${unlisted}, because message.metadata carries its data` },
    ]);
  }
  return { data: Object.fromEntries(uris.map((uri) => [uri, found[uri]])), ...rest };
}

/**
 * Puts together what goes out: the rest, and the data of the active extensions. No extension data goes out that was not
 * activated.
 *
 * @returns What to spread into a message or an artifact; of a task or a status update, take `metadata` alone.
 */
export function joinMetadata(split: SplitMetadata, active: ReadonlySet<ExtensionUri>): Carrier {
  const { data, metadata, extensions } = split;
  const uris = data === undefined ? [] : EXTENSION_URIS.filter((uri) => active.has(uri) && data[uri] !== undefined);
  if (data === undefined || uris.length === 0) return { ...kept(metadata), ...(extensions && { extensions }) };
  const joined: Record<string, unknown> = { ...metadata };
  for (const uri of uris) joined[uri] = data[uri];
  return { metadata: joined, extensions: [...uris, ...(extensions ?? [])] };
}

function kept(metadata: Struct | undefined): { readonly metadata: Struct } | undefined {
  return metadata !== undefined && Object.keys(metadata).length > 0 ? { metadata } : undefined;
}
