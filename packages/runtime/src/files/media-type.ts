/** Media types: which one a file has by its name, which are well-formed, and which a browser may show without running anything. */
import { lookup } from "mrmime";

const TOKEN = "[\\w!#$%&'*+.^`|~-]+";
const MEDIA_TYPE = new RegExp(`^${TOKEN}/${TOKEN}(?:\\s*;\\s*${TOKEN}=(?:${TOKEN}|"[^"\\\\\\r\\n]*"))*$`);

/** RFC 9110, section 8.3.1. */
export function isMediaType(text: string): boolean {
  return text.length <= 255 && MEDIA_TYPE.test(text);
}

/** By the end of a path. */
export function mediaTypeByPath(path: string): string | undefined {
  return lookup(path);
}

const PASSIVE: ReadonlySet<string> = new Set([
  "application/json",
  "image/avif",
  "image/bmp",
  "image/gif",
  "image/jpeg",
  "image/png",
  "image/webp",
  "text/csv",
  "text/markdown",
  "text/plain",
  "text/tab-separated-values",
]);

/** Nothing in it runs, whoever opens it. What is not known to be so, is not. */
export function isPassive(mediaType: string): boolean {
  const type = mediaType.split(";", 1)[0]!.trim().toLowerCase();
  return PASSIVE.has(type) || /^(?:audio|video)\/[\w.+-]+$/.test(type);
}
