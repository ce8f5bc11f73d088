/**
 * Counts that are kept, so that nobody has to count. A write only adds what it changes in them (`changes`), so that none waits for
 * another one's sum; from time to time, and before somebody needs the sums alone, that is folded into them.
 */
import type { Connections } from "./connections.ts";

/** Changes that are folded in one transaction. */
const foldedAtOnce = 5000;

export class Tallies {
  readonly #connections: Connections;
  /** There may be changes to be folded: those of a node that died, to begin with. */
  #unfolded = true;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  /** Something was written. */
  changed(): void {
    this.#unfolded = true;
  }

  /** Folds what this node has changed, unless another one is at it. */
  async fold(): Promise<void> {
    if (this.#unfolded) await this.#fold(false);
  }

  /** Folds what any node has changed until now. */
  async foldAll(): Promise<void> {
    await this.#fold(true);
  }

  async #fold(wait: boolean): Promise<void> {
    this.#unfolded = false;
    for (let folded = foldedAtOnce; folded === foldedAtOnce;) {
      const [row] = await this.#connections.read("SELECT fold_changes($1, $2) AS count", [foldedAtOnce, wait]);
      folded = row!["count"] as number;
    }
  }
}
