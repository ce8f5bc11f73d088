/** Preloaded into a process that serves: puts a faulty store in the place of each real one, which it wraps. */
import { registerHooks } from "node:module";

const faulty = new Map(
  ["sqlite", "postgres"].map((name) => [
    new URL(`../../../packages/runtime/src/store/${name}/store.ts`, import.meta.url).href,
    new URL(`${name}.ts`, import.meta.url).href,
  ]),
);

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    const wrapper = faulty.get(resolved.url);
    return wrapper !== undefined && context.parentURL !== wrapper ? { ...resolved, url: wrapper } : resolved;
  },
});
