/**
 * The part of the Store port that knows files: which bytes turns need, and which versions their outputs have. The bytes themselves are
 * a blob store's (files/blob.ts); what is here decides when they may go.
 *
 * | a blob is  | when                                                             | leads to                          |
 * |------------|------------------------------------------------------------------|-----------------------------------|
 * | needed     | a turn holds it                                                  | free                              |
 * | free       | the last turn that held it let it go; kept for a while            | needed, condemned                 |
 * | condemned  | the collector has it: nobody is given it any more                | gone                              |
 *
 * Who holds the bytes of a condemned blob gets another blob, under another key: what is being removed is never what somebody has just
 * put there.
 *
 * A turn holds for one of its entries at a time. What an entry holds is *kept* once that entry's outcome is an output, for as long as
 * the turn is stored; everything else (inputs; what a crash left behind) is let go when the turn has ended.
 */
import type { TurnKey } from "../turn/record.ts";

/** Bytes, and the number of the blob that has them. Together they name it: see `blobKey`. */
export interface Blob {
  readonly blob: number;
  /** 64 lower-case hex digits. */
  readonly sha256: string;
  /** Bytes. */
  readonly size: number;
}

export interface Hold {
  readonly key: TurnKey;
  /** The place of the entry that needs them, in the turn's journal. */
  readonly of: number;
  /** What the entry held before and is no output is let go: it begins anew. */
  readonly anew: boolean;
  readonly bytes: readonly Pick<Blob, "sha256" | "size">[];
  readonly limits: HoldLimits;
}

/** In bytes. */
export interface HoldLimits {
  /** Of all blobs together. */
  readonly total: number;
  /** Of everything that is stored of the turn's subject. */
  readonly subject: number;
}

export type Held =
  /** In the order of {@link Hold.bytes}. Whether they are in the blob store yet, the Store does not know. */
  | { readonly kind: "held"; readonly blobs: readonly Blob[] }
  /** Nothing is held: there would be more than {@link HoldLimits} allow. */
  | { readonly kind: "full" }
  | { readonly kind: "subjectFull" }
  /** The turn has ended, or is no more. */
  | { readonly kind: "ended" };

/** A version of an output, recorded in the transaction of the outcome that made it. */
export interface Output {
  /** The place of the entry that held its bytes: they are kept from now on. Undefined: its bytes are in the view. */
  readonly of?: number;
  readonly path: string;
  /** One more than the path's last. */
  readonly version: number;
}

export interface FileStore {
  /** A turn needs these bytes from now on. */
  hold(hold: Hold): Promise<Held>;
  /** The blob that a turn holds with these bytes. */
  find(key: TurnKey, sha256: string): Promise<Blob | undefined>;
  /** The number of the last version of an output of a context; 0 when there is none. It does not go down when versions are erased. */
  lastVersion(context: number, path: string): Promise<number>;
  /** Blobs that nobody needs, or that were condemned before and are not gone yet: nobody is given them from now on. */
  condemn(limit: number): Promise<readonly Blob[]>;
  /** The bytes of these are gone. */
  gone(blobs: readonly number[]): Promise<void>;
}

/**
 * How long a blob is kept that a turn held which ended without it, in milliseconds: a function that nobody waits for any more may still
 * be at work on it.
 */
export const leftoverMs = 86_400_000;
