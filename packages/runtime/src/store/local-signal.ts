import type { TurnKey } from "../turn/record.ts";
import type { Signal } from "./signal.ts";

/** Signals within one process. Listeners are called before `turnChanged` returns. */
export function createLocalSignal(): Signal {
  const turns = new Map<number, Set<() => void>>();
  const due = new Set<() => void>();
  return {
    turnChanged({ turn }: TurnKey) {
      const listeners = turns.get(turn);
      if (listeners !== undefined) for (const listener of [...listeners]) listener();
    },
    onTurn({ turn }, listener) {
      const listeners = turns.get(turn) ?? new Set();
      turns.set(turn, listeners.add(listener));
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0 && turns.get(turn) === listeners) turns.delete(turn);
      };
    },
    due() {
      for (const listener of [...due]) listener();
    },
    onDue(listener) {
      due.add(listener);
      return () => due.delete(listener);
    },
    async [Symbol.asyncDispose]() {
      turns.clear();
      due.clear();
    },
  };
}
