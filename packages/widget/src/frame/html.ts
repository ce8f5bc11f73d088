import { FRAME_HTML } from "../generated/frame.ts";
import { parseOrigins } from "./origins.ts";

export { FrameError } from "./errors.ts";
export type { FrameErrorCode } from "./errors.ts";

/**
 * The frame page as one file, for a server to serve: its script and style are inside, and its own content security policy allows
 * nothing else.
 *
 * @param origins Whose pages may send events, such as `https://app.example`. Empty: nobody.
 * @throws FrameError `frame.origins` for what is no origin of a web page.
 */
export function frameHtml(origins: readonly string[]): string {
  const list = [...parseOrigins(origins.join(" "))].join(" ");
  return FRAME_HTML.replace(
    'name="agent-progress-origins" content=""',
    () => `name="agent-progress-origins" content="${list}"`,
  );
}
