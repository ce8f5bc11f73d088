/** Preloaded into a process that serves: puts the faulty store in the place of the real one, which it wraps. */
import { registerHooks } from "node:module";

const real = new URL("../../../packages/runtime/src/store/sqlite/store.ts", import.meta.url).href;
const faulty = new URL("store.ts", import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    return resolved.url === real && context.parentURL !== faulty ? { ...resolved, url: faulty } : resolved;
  },
});
