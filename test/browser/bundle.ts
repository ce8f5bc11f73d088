/** A package's entry point as one script, as a page would load it. */
import { build } from "esbuild";

/**
 * @param code What the script does: imports by package name, and statements.
 * @param globalName Where the script leaves what it exports.
 */
export async function bundle(code: string, globalName?: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: import.meta.dirname, loader: "tsx" },
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
    write: false,
    ...(globalName !== undefined && { globalName }),
  });
  return outputFiles[0]!.text;
}
