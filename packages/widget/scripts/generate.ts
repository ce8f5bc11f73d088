/** Makes what a page can use as it is: the scripts in one file each, and the frame, the MCP App view and the gallery with theirs inside. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";

import { build } from "esbuild";

const PACKAGE = resolve(import.meta.dirname, "..");
const GENERATED = join(PACKAGE, "src/generated");
const GALLERY = resolve(PACKAGE, "../../docs/progress/gallery.html");

/** What the pages inside a frame have in common: they are as high as their content, and as wide as the frame. */
const STYLE = `:root{font:15px/1.4 var(--font-sans,system-ui,sans-serif);color:var(--color-text-primary,CanvasText)}body{margin:0}main{display:flow-root;padding:2px}agent-progress{content-visibility:visible}agent-progress+agent-progress{margin-block-start:1em}`;

/** The generated files by absolute path. */
export async function generate(): Promise<ReadonlyMap<string, string>> {
  const [element, host, frame, mcpApp, gallery] = await Promise.all([
    script("src/define.ts"),
    script("src/frame/host.ts", "esm"),
    script("src/frame/page.ts"),
    script("src/mcp-app/page.ts"),
    readFile(join(import.meta.dirname, "gallery.html"), "utf8"),
  ]);
  const policy = `default-src 'none'; script-src '${hash(frame)}'; style-src '${hash(STYLE)}'; base-uri 'none'; form-action 'none'`;
  const framePage = page(
    frame,
    `<meta http-equiv="content-security-policy" content="${policy}"><meta name="agent-progress-origins" content="">`,
  );
  // The host that shows it has a policy for it, and may put a script of its own in.
  const mcpAppPage = page(mcpApp, "");
  return new Map([
    [join(GENERATED, "agent-progress.js"), `${element}\n`],
    [join(GENERATED, "frame-host.js"), `${host}\n`],
    [join(GENERATED, "frame.html"), framePage],
    [join(GENERATED, "frame.ts"), constant("FRAME_HTML", "src/frame/page.ts", framePage)],
    [join(GENERATED, "mcp-app.ts"), constant("MCP_APP_HTML", "src/mcp-app/page.ts", mcpAppPage)],
    [GALLERY, gallery.replace("/* the element */", () => element)],
  ]);
}

/** One script with everything inside, such as can stand in a page. */
async function script(entry: string, format: "iife" | "esm" = "iife"): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(PACKAGE, entry)],
    absWorkingDir: PACKAGE,
    bundle: true,
    minify: true,
    format,
    target: "es2022",
    charset: "utf8",
    write: false,
  });
  const text = outputFiles[0]!.text.trim();
  if (/<(?:!--|\/?script)/i.test(text)) throw new Error(`${entry}: its script holds what would end it in a page.`);
  return text;
}

function page(code: string, head: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Agent progress</title>${head}<style>${STYLE}</style></head><body><main></main><script type="module">${code}</script></body></html>`;
}

function hash(code: string): string {
  return `sha256-${createHash("sha256").update(code).digest("base64")}`;
}

function constant(name: string, source: string, value: string): string {
  return `// Generated from packages/widget/${source} by \`npm run generate\`. Do not edit.\n\nexport const ${name}: string = ${JSON.stringify(value)};\n`;
}
