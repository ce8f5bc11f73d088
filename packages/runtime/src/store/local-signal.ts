import type { TurnKey } from "../turn/record.ts";
import type { Signal } from "./signal.ts";
import type { Erase } from "./store.ts";

/** Signals within one process, which may also not know what was erased. Listeners are called before it returns. */
export interface LocalSignal extends Signal {
  erased(what: Erase | undefined): void;
}

export function createLocalSignal(): LocalSignal {
  const turns = new Map<number, Set<() => void>>();
  const all = new Set<(key: TurnKey) => void>();
  const due = new Set<() => void>();
  const announced = new Set<() => void>();
  const erased = new Set<(what: Erase | undefined) => void>();
  return {
    turnChanged(key) {
      const listeners = turns.get(key.turn);
      if (listeners !== undefined) for (const listener of [...listeners]) listener();
      for (const listener of all) listener(key);
    },
    onTurn({ turn }, listener) {
      const listeners = turns.get(turn) ?? new Set();
      turns.set(turn, listeners.add(listener));
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0 && turns.get(turn) === listeners) turns.delete(turn);
      };
    },
    onTurns(listener) {
      all.add(listener);
      return () => all.delete(listener);
    },
    due() {
      for (const listener of [...due]) listener();
    },
    onDue(listener) {
      due.add(listener);
      return () => due.delete(listener);
    },
    announced() {
      for (const listener of [...announced]) listener();
    },
    onAnnounced(listener) {
      announced.add(listener);
      return () => announced.delete(listener);
    },
    erased(what) {
      for (const listener of [...erased]) listener(what);
    },
    onErased(listener) {
      erased.add(listener);
      return () => erased.delete(listener);
    },
    async [Symbol.asyncDispose]() {
      turns.clear();
      all.clear();
      due.clear();
      announced.clear();
      erased.clear();
    },
  };
}
