import { writeFileSync } from "node:fs";

import { defineAgent } from "@nylorun/agents";

/** Writes one path again and again, and a folder; and into `SCRIBE_PID` which process does so. */
export default defineAgent({
  id: "scribe",
  name: "Scribe",
  description: "Writes many versions.",
  version: "1.0.0",
  skills: [{ id: "write", name: "Write", description: "Writes.", tags: ["files"] }],
  async run(turn) {
    writeFileSync(process.env["SCRIBE_PID"]!, String(process.pid));
    const versions: number[] = [];
    for (let n = 0; n < 12; n++) {
      versions.push((await turn.file("log.txt", `${n}`.padEnd(300_000, "."))).version);
      const pages = Array.from({ length: 20 }, (_, page) => [`${page}.txt`, `page ${page} of ${n}`] as const);
      versions.push((await turn.folder("pages", Object.fromEntries(pages))).version);
    }
    return versions;
  },
});
