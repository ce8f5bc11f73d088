/**
 * Media types of parts, and whether an agent takes them (A2A 1.0, section 4.1.6). Compared without parameters and without regard
 * to case.
 */
import type { Part } from "./types.ts";

/** The part's own, or what it is without one: a text is text/plain, data application/json, a file application/octet-stream. */
export function mediaTypeOf(part: Part): string {
  if (part.mediaType !== undefined) return part.mediaType;
  if (part.text !== undefined) return "text/plain";
  return part.raw === undefined && part.url === undefined ? "application/json" : "application/octet-stream";
}

/**
 * Whether a media type is among those that an agent takes.
 *
 * @param modes Media types; a subtype, or both halves, may be `*`.
 */
export function matchesMode(mediaType: string, modes: readonly string[]): boolean {
  const type = bareType(mediaType);
  return modes.some((mode) => {
    const wanted = bareType(mode);
    return wanted === type || wanted === "*/*" || (wanted.endsWith("/*") && type.startsWith(wanted.slice(0, -1)));
  });
}

function bareType(mediaType: string): string {
  const end = mediaType.indexOf(";");
  return (end === -1 ? mediaType : mediaType.slice(0, end)).trim().toLowerCase();
}
