/**
 * A Store whose process may die, whose commits may be slow or fail, and to which things happen in the middle of an operation. What
 * it passes on is a real store's.
 */
import { StoreError } from "../../src/store/errors.ts";
import type { FileStore } from "../../src/store/files.ts";
import type { Commit, Committed, Store } from "../../src/store/store.ts";
import type { Claim, TurnKey } from "../../src/turn/record.ts";

type Asking<Port> = {
  [Name in keyof Port]: Port[Name] extends (...args: never[]) => Promise<unknown> ? Name : never;
}[keyof Port];
type Operation = Asking<Store> | `files.${Asking<FileStore>}`;

/** One operation of the store, as a fault sees it. */
export interface Asked {
  readonly name: Operation;
  readonly args: readonly unknown[];
  /** Of a commit: what it changes. */
  readonly commit: Commit | undefined;
  /** Commits asked for so far, this one included, from 1. */
  readonly commits: number;
}

export interface Faults {
  /** Before the operation reaches the store: may wait, throw, or {@link FaultyStore.die}. */
  before?: (asked: Asked) => Promise<void> | void;
  /** When it is durable, before anybody is told. */
  after?: (asked: Asked, result: unknown) => Promise<void> | void;
}

export class FaultyStore {
  /** What the engine is given. */
  readonly store: Store;
  faults: Faults;
  #dead = false;
  #commits = 0;
  /** Contexts that were claimed, and not let go of since. */
  readonly #held = new Set<number>();
  readonly #grave = Promise.withResolvers<never>();

  constructor(inner: Store, faults: Faults = {}) {
    this.faults = faults;
    this.#grave.promise.catch(() => undefined);
    this.store = this.#faulty(inner, "");
  }

  #faulty<Port extends object>(inner: Port, prefix: string): Port {
    return new Proxy(inner, {
      get: (target, name) => {
        const member = Reflect.get(target, name, target) as unknown;
        if (name === "files") return this.#faulty(member as object, "files.");
        if (typeof member !== "function") return member;
        if (name === "now") return member.bind(target) as unknown;
        return (...args: readonly unknown[]) =>
          this.#run(`${prefix}${String(name)}` as Operation, args, member.bind(target));
      },
    });
  }

  get dead(): boolean {
    return this.#dead;
  }

  /** Whether the process has the turn's context: it was claimed, and neither parked nor ended since. */
  holds({ context }: TurnKey): boolean {
    return this.#held.has(context);
  }

  /** As kill -9: nothing that is asked for from now on, or was not answered yet, is ever answered; nothing more is written. */
  die(): void {
    this.#dead = true;
  }

  /** Lets go of everybody who still waits for an answer, so that nothing of a dead process lingers. */
  bury(): void {
    this.die();
    this.#grave.reject(new StoreError("store.closed", "The process is dead."));
  }

  async #run(name: Operation, args: readonly unknown[], operation: (...args: readonly unknown[]) => unknown) {
    const commit = name === "commit" ? (args[0] as Commit) : undefined;
    if (commit !== undefined) this.#commits++;
    const asked: Asked = { name, args, commit, commits: this.#commits };
    if (this.#dead) return this.#grave.promise;
    await this.faults.before?.(asked);
    if (this.#dead) return this.#grave.promise;
    const result = await operation(...args);
    this.#note(asked, result);
    if (this.#dead) return this.#grave.promise;
    await this.faults.after?.(asked, result);
    return this.#dead ? this.#grave.promise : result;
  }

  #note({ name, commit, args }: Asked, result: unknown): void {
    if (name === "drained") this.#held.delete((args[0] as TurnKey).context);
    if (commit !== undefined && (result as Committed).kind === "committed" && commit.epoch !== undefined) {
      if (commit.then?.do === "park" || commit.then?.do === "end") this.#held.delete(commit.key.context);
    }
    for (const { turn } of claimsIn(name, result)) this.#held.add(turn.context);
  }
}

function claimsIn(name: Operation, result: unknown): readonly Claim[] {
  switch (name) {
    case "claimDue":
      return result as readonly Claim[];
    case "claimSuspect":
      return [result as Claim | undefined].filter((claim) => claim !== undefined);
    case "accept":
      return [(result as { readonly claim?: Claim }).claim].filter((claim) => claim !== undefined);
    case "commit":
      return [(result as { readonly next?: Claim }).next].filter((claim) => claim !== undefined);
    default:
      return [];
  }
}
