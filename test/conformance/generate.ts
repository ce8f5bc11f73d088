/** Makes the conformance pages. See `scripts/generate.ts` at the root. */
import { join } from "node:path";

import { pageText } from "./pages.ts";
import { A2A_SECTIONS, PROGRESS_SECTIONS } from "./requirements.ts";

const DOCS = join(import.meta.dirname, "../../docs");

/** What the generated files should hold: absolute path to content. */
export async function generate(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    [
      join(DOCS, "a2a/conformance.md"),
      pageText({
        title: "Conformance",
        intro: `What A2A 1.0 requires of a server that speaks JSON-RPC and of a client, what the [profile](profile/v2.md) adds, and how each
of it is answered here. Texts are ours; the documents that are named say it in full. Tests cite the ids: \`npm run conformance\`
shows which, and \`npm run check\` fails when one is cited by none. The official test kit is re-stated in them as a whole, but for the
bindings that are not served.`,
        sections: A2A_SECTIONS,
        toRoot: "../../",
      }),
    ],
    [
      join(DOCS, "progress/conformance.md"),
      pageText({
        title: "Conformance of agent progress",
        intro: `What the progress protocol requires of whoever reports, keeps and shows progress, and how the parts of this repository answer
it. Tests cite the ids, as [A2A's](../a2a/conformance.md) do.`,
        sections: PROGRESS_SECTIONS,
        toRoot: "../../",
      }),
    ],
  ]);
}
