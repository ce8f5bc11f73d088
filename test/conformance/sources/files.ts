/** `files/v1`: files out and in. */
import { must, section } from "../requirement.ts";
import type { Document } from "../requirement.ts";

const FILES_RULES: Document = { prefix: "files", name: "files/v1", at: "docs/a2a/files/v1.md" };

export const FILES = [
  section(FILES_RULES, ["artifact", "What an artifact shows"], {
    data: must("Every artifact has kind, version, size, sha256 and path under the URI, which it lists."),
    output: must("The returned output has the path `output.txt` or `output.json`, and the size and hash of its bytes."),
    path: must("A path is relative, without `..` and empty segments."),
    version: must("Writing a path again in its context is the next version of the same artifact."),
    folder: must(
      "A folder is one artifact with one link, to the list of its files in the order of their paths; its size is their sum.",
    ),
    checked: must(
      "Our client refuses what is not what `size` and `sha256` say: of a file its bytes, of data its JSON, of a folder its list without the links.",
    ),
    once: must("A file that was kept is neither written again nor counted again after a crash."),
  }),
  section(FILES_RULES, ["link", "Links"], {
    url: must(
      "A file goes out as a part with a `url`: a link that needs no key and leads to one version for ever, while it is good.",
    ),
    serves: must("A link serves the bytes with their media type, length, ETag and ranges, and `nosniff`."),
    active: must("What a browser could run is `attachment`."),
    forged: must("A link that was changed, or that has run out, gives nothing."),
    fresh: must("Links are made anew on each read."),
  }),
  section(FILES_RULES, ["in", "Files in"], {
    raw: must("`raw` parts are taken, up to the size of a body."),
    fetched: must("`url` parts are fetched before the turn runs."),
    once: must("They are fetched once: a replay has what was there then."),
    bounded: must("Size and time have limits, whatever length the server claims; a server that never ends is left."),
    redirects: must("Each redirect is checked as the first address was, and what was checked is what is dialled."),
    few: must("A few are fetched at a time: 4 of one message, 8 from one host, 64 in all; the others wait."),
    refused: must(
      "Addresses that are not public are not fetched, unless the operator lists the host; the task fails and says which part, and never what was probed.",
    ),
  }),
];
