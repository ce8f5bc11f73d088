/** Every link within the repository leads somewhere: to a file that is there, and to a heading of it. */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, it } from "node:test";

import { ROOT } from "./page.ts";

const pages = globSync(["*.md", "docs/**/*.md", "protocol/*.md", "packages/*/README.md"], {
  cwd: ROOT,
  exclude: ["**/node_modules/**"],
}).toSorted();

/** As GitHub makes them. */
function anchorsOf(markdown: string): ReadonlySet<string> {
  const headings = markdown.replaceAll(/^```[^]*?^```$/gm, "").matchAll(/^#+ (.+)$/gm);
  return new Set(
    headings.map(([, heading = ""]) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

describe("links", () => {
  it("are found", () => assert.ok(pages.includes("README.md") && pages.length > 5));

  for (const page of pages) {
    const text = readFileSync(join(ROOT, page), "utf8").replaceAll(/^```[^]*?^```$/gm, "");
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
    const inside = links.filter((link) => !/^[a-z]+:/.test(link));
    if (inside.length === 0) continue;
    it(`of ${page} lead somewhere`, () => {
      for (const link of inside) {
        const [path = "", anchor] = link.split("#", 2);
        const target = path === "" ? join(ROOT, page) : join(ROOT, dirname(page), path);
        assert.ok(existsSync(target), `${link}: there is no ${relative(ROOT, target)}`);
        if (anchor === undefined || statSync(target).isDirectory()) continue;
        const anchors = anchorsOf(readFileSync(target, "utf8"));
        assert.ok(anchors.has(anchor), `${link}: ${relative(ROOT, target)} has no such heading`);
      }
    });
  }
});
