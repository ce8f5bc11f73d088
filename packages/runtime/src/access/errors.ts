/** Something about who may call was asked for that cannot be. `code` is stable, `message` is for people. */
export class AccessError extends Error {
  override readonly name = "AccessError";
  readonly code: AccessErrorCode;

  constructor(code: AccessErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export type AccessErrorCode =
  /** A subject is no text of 1-200 visible ASCII characters. */
  | "subject.invalid"
  /** The keys by which an issuer's tokens are checked cannot be had. */
  | "issuer.unreachable"
  /** The key that cards are to be signed with is none. */
  | "cardKey.invalid";
