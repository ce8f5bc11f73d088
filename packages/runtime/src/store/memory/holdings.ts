/** Which bytes turns need, and the versions of their outputs, in memory. */
import type { TurnKey } from "../../turn/record.ts";
import { leftoverMs } from "../files.ts";
import type { Blob, Held, Hold, Output } from "../files.ts";

interface KeptBlob extends Blob {
  freeAt: number | undefined;
  condemned: boolean;
  /** How often it is held. */
  holds: number;
}

interface HeldBlob {
  readonly turn: number;
  readonly context: number;
  readonly of: number;
  readonly blob: KeptBlob;
  kept: boolean;
}

export class Holdings {
  readonly #blobs = new Map<number, KeptBlob>();
  /** Those that are not condemned. */
  readonly #live = new Map<string, KeptBlob>();
  readonly #holds = new Map<string, HeldBlob>();
  readonly #versions = new Map<string, number>();
  #last = 0;

  /** What all blobs take. */
  get bytes(): number {
    return sum([...this.#blobs.values()]);
  }

  /** What a turn holds. */
  bytesOf({ turn }: TurnKey): number {
    return sum(this.#holdsOf(turn).map(({ blob }) => blob));
  }

  /** @param stored What is stored of the turn's subject, in bytes. */
  hold(
    { key, of, anew, bytes, limits }: Hold,
    { now, stored }: { readonly now: number; readonly stored: number },
  ): Held {
    const { context, turn } = key;
    const unknown = new Map(bytes.filter(({ sha256 }) => !this.#live.has(sha256)).map((one) => [one.sha256, one]));
    if (unknown.size > 0 && this.bytes + sum([...unknown.values()]) > limits.total) return { kind: "full" };
    if (stored + sum(bytes) > limits.subject) return { kind: "subjectFull" };
    if (anew) this.#letGo((hold) => hold.turn === turn && hold.of === of && !hold.kept, now);
    const blobs = bytes.map(({ sha256, size }): Blob => {
      const blob = this.#live.get(sha256) ?? this.#add(sha256, size);
      blob.freeAt = undefined;
      const name = `${turn} ${of} ${blob.blob}`;
      if (!this.#holds.has(name)) {
        this.#holds.set(name, { turn, context, of, blob, kept: false });
        blob.holds++;
      }
      return told(blob);
    });
    return { kind: "held", blobs };
  }

  output({ context, turn }: TurnKey, outputs: readonly Output[]): void {
    for (const { of, path, version } of outputs) {
      this.#versions.set(nameOf(context, path), Math.max(version, this.lastVersion(context, path)));
      for (const hold of this.#holdsOf(turn)) if (hold.of === of) hold.kept = true;
    }
  }

  /** A turn has ended: what it held and is no output is let go. */
  ended({ turn }: TurnKey, now: number): void {
    this.#letGo((hold) => hold.turn === turn && !hold.kept, now);
  }

  /** A turn is no more. */
  dropped({ turn }: TurnKey, now: number): void {
    this.#letGo((hold) => hold.turn === turn, now);
  }

  contextDropped(context: number): void {
    for (const name of [...this.#versions.keys()])
      if (name.startsWith(nameOf(context, ""))) this.#versions.delete(name);
  }

  find({ context, turn }: TurnKey, sha256: string): Blob | undefined {
    const held = this.#holdsOf(turn).find((hold) => hold.context === context && hold.blob.sha256 === sha256);
    return held && told(held.blob);
  }

  lastVersion(context: number, path: string): number {
    return this.#versions.get(nameOf(context, path)) ?? 0;
  }

  condemn(limit: number, now: number): Blob[] {
    const free = [...this.#blobs.values()]
      .filter(({ freeAt }) => freeAt !== undefined && freeAt <= now)
      .toSorted((a, b) => a.freeAt! - b.freeAt!)
      .slice(0, limit);
    for (const blob of free) {
      blob.condemned = true;
      if (this.#live.get(blob.sha256) === blob) this.#live.delete(blob.sha256);
    }
    return free.map(told);
  }

  gone(blobs: readonly number[]): void {
    for (const blob of blobs) if (this.#blobs.get(blob)?.condemned) this.#blobs.delete(blob);
  }

  #holdsOf(turn: number): HeldBlob[] {
    return [...this.#holds.values()].filter((hold) => hold.turn === turn);
  }

  #add(sha256: string, size: number): KeptBlob {
    const blob: KeptBlob = { blob: ++this.#last, sha256, size, freeAt: undefined, condemned: false, holds: 0 };
    this.#blobs.set(blob.blob, blob);
    this.#live.set(sha256, blob);
    return blob;
  }

  #letGo(isMeant: (hold: HeldBlob) => boolean, now: number): void {
    for (const [name, hold] of this.#holds) {
      if (!isMeant(hold)) continue;
      this.#holds.delete(name);
      if (--hold.blob.holds === 0) hold.blob.freeAt = hold.kept ? now : now + leftoverMs;
    }
  }
}

function told({ blob, sha256, size }: Blob): Blob {
  return { blob, sha256, size };
}

function sum(blobs: readonly Pick<Blob, "size">[]): number {
  return blobs.reduce((total, { size }) => total + size, 0);
}

function nameOf(context: number, path: string): string {
  return `${context}/${path}`;
}
