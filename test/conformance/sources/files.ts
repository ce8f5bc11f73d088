/** `files/v1`: files out and in. */
import { must, section } from "../requirement.ts";
import type { Document } from "../requirement.ts";

const FILES_RULES: Document = { prefix: "files", name: "files/v1", at: "docs/a2a/profile/v2.md" };

export const FILES = [
  section(FILES_RULES, ["artifact", "What an artifact shows"], {
    data: must("Every artifact has kind, version, size, sha256 and path under the URI, which it lists."),
    output: must("The returned output has the path `output.txt` or `output.json`, and the size and hash of its bytes."),
    path: must("A path is relative, without `..` and empty segments."),
    version: must("Writing a path again in its context is the next version of the same artifact."),
  }),
  section(FILES_RULES, ["link", "Links"], {
    url: must(
      "A file goes out as a part with a `url`: a link that needs no key and leads to one version for ever, while it is good.",
    ),
    serves: must("A link serves the bytes with their media type, length, ETag and ranges, and `nosniff`."),
    active: must("What a browser could run is `attachment`."),
    forged: must("A link that was changed, or that has run out, gives nothing."),
  }),
  section(FILES_RULES, ["in", "Files in"], {
    raw: must("`raw` parts are taken, up to the size of a body."),
    fetched: must("`url` parts are fetched before the turn runs."),
    few: must("A few are fetched at a time: 4 of one message, 8 from one host, 64 in all; the others wait."),
    refused: must(
      "Addresses that are not public are not fetched, unless the operator lists the host; the task fails and says which part, and never what was probed.",
    ),
  }),
];
