/**
 * The engine with a change that makes it wrong: its modules are loaded once more, with some of their text replaced. For tests that
 * must tell the wrong one from the right one.
 */
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";

import type { createEngine } from "../../src/turn/engine.ts";

export interface Change {
  /** Of the module in `src/turn`. */
  readonly file: string;
  /** Must be there, once. */
  readonly from: string;
  readonly to: string;
}

const turn = new URL("../../src/turn/", import.meta.url);
const parameter = "variant";
const variants = new Map<string, readonly Change[]>();
let hooked = false;

/** @throws When the text to be replaced is no longer there: the change must be made anew. */
export async function variantEngine(name: string, changes: readonly Change[]): Promise<typeof createEngine> {
  if (!hooked) hook();
  hooked = true;
  variants.set(name, changes);
  const engine = new URL("engine.ts", turn);
  engine.searchParams.set(parameter, name);
  return ((await import(engine.href)) as { createEngine: typeof createEngine }).createEngine;
}

function hook(): void {
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      const name = context.parentURL === undefined ? null : new URL(context.parentURL).searchParams.get(parameter);
      if (name === null || !resolved.url.startsWith(turn.href)) return resolved;
      const url = new URL(resolved.url);
      url.searchParams.set(parameter, name);
      return { ...resolved, url: url.href };
    },
    load(url, context, next) {
      const loaded = next(url, context);
      const name = new URL(url).searchParams.get(parameter);
      if (name === null) return loaded;
      const file = fileURLToPath(new URL(url)).slice(fileURLToPath(turn).length);
      let text = Buffer.from(loaded.source as Uint8Array).toString();
      for (const { from, to } of variants.get(name)!.filter((change) => change.file === file)) {
        if (text.split(from).length !== 2)
          throw new Error(`The variant "${name}" no longer finds its place in ${file}:\n${from}`);
        text = text.replace(from, () => to);
      }
      return { ...loaded, source: text };
    },
  });
}
