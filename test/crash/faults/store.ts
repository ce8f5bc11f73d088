/** A store with a point before and after each of its writes, named for what it writes. */
import type { Commit, Store } from "../../../packages/runtime/src/store/store.ts";
import { pass } from "./point.ts";

export function withPoints(store: Store): Store {
  return new Proxy(store, {
    get(target, name) {
      const member = Reflect.get(target, name, target) as unknown;
      if (typeof member !== "function") return member;
      const operation = member.bind(target) as (...args: readonly unknown[]) => unknown;
      if (name === "now") return operation;
      return async (...args: readonly unknown[]) => {
        const what = name === "commit" ? nameOf(args[0] as Commit) : name === "accept" ? "accept" : undefined;
        if (what !== undefined) pass(`before ${what}`);
        const result = await operation(...args);
        if (what !== undefined) pass(`after ${what}`);
        else if (name === "claimDue" && (result as readonly unknown[]).length > 0) pass("after claim");
        return result;
      };
    },
  });
}

function nameOf({ epoch, message, entries = [], state, then }: Commit): string | undefined {
  if (message !== undefined) return "answer";
  if (state === "canceled" && then?.do === "end") return "cancel";
  const kinds = [...new Set(entries.map(({ kind }) => kind))].join(" and ");
  if (epoch === undefined) return entries.length === 0 ? undefined : `late ${kinds}`;
  if (then?.do === "park") return state === "held" ? "hold" : "park";
  if (then?.do === "end") return "end";
  // What only shows plan or words is written when there is time.
  return entries.length === 0 ? undefined : kinds;
}
