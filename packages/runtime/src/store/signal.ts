/**
 * "Something about this turn changed", "something is due", "something is to be told to webhooks", and "this was erased". Hints (I9): who hears one reads the store again, and losing one
 * costs latency only.
 */
import type { TurnKey } from "../turn/record.ts";
import type { Erase } from "./store.ts";

export interface Signal extends AsyncDisposable {
  turnChanged(key: TurnKey): void;
  /** Calls `listener` after each change of the turn, until the returned function is called. */
  onTurn(key: TurnKey, listener: () => void): () => void;
  /** Calls `listener` with each turn that has changed or come, whichever it is, until the returned function is called. */
  onTurns(listener: (key: TurnKey) => void): () => void;
  due(): void;
  onDue(listener: () => void): () => void;
  /** There is something to deliver to webhooks. */
  announced(): void;
  onAnnounced(listener: () => void): () => void;
  /** Something of this was erased: whoever has it in memory is to forget it. */
  erased(what: Erase): void;
  /** `listener` is called with undefined when it is not known what has been erased meanwhile. */
  onErased(listener: (what: Erase | undefined) => void): () => void;
}
