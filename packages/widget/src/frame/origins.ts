/** Whom the frame listens to: an explicit list of origins, compared as browsers write them; nobody by default. */
import { FrameError } from "./errors.ts";

/**
 * Reads a list of origins, apart by white space or commas: `https://app.example`, `http://localhost:3000`. A slash at the end does
 * not matter, upper and lower case and default ports neither.
 *
 * @throws FrameError `frame.origins` for what is no origin of a web page: `*`, `null`, a path, another scheme.
 */
export function parseOrigins(list: string): ReadonlySet<string> {
  const entries = list.split(/[\s,]+/).filter((entry) => entry !== "");
  return new Set(entries.map(parseOrigin));
}

function parseOrigin(entry: string): string {
  const url = URL.parse(entry);
  const isOrigin = url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`;
  if (isOrigin && !url.hostname.includes("*")) return url.origin;
  throw new FrameError(
    "frame.origins",
    `Expected origins such as https://app.example, apart by spaces; got "${entry}". Name each origin that may send events, without a path.`,
  );
}
