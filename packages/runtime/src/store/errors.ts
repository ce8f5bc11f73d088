/** The store cannot do what it was asked to. `code` is stable; what goes wrong inside a turn is never one of these. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export type StoreErrorCode =
  /** The database was written by a newer version of Nylorun. */
  | "store.newer"
  /** The database was written by an older version of Nylorun, and was only to be looked into. */
  | "store.older"
  /** The file is no database, or it cannot be opened. */
  | "store.broken"
  /** A write failed: nothing of its batch is stored. */
  | "store.failed"
  /** The database does not answer: what was asked may be done, and may be asked again. */
  | "store.unavailable"
  /** The disk is full: nothing is taken until it has room again. */
  | "store.full"
  /** Another store's turns are being carried into this one: nobody serves from it meanwhile. */
  | "store.importing"
  /** The store was closed. */
  | "store.closed";
