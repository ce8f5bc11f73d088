/** A call to another host did not come about. `code` is stable; `message` names no address, so that it may be shown to whoever asked for the call. */
export class DialError extends Error {
  override readonly name = "DialError";
  readonly code: DialErrorCode;

  constructor(code: DialErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export type DialErrorCode =
  /** The URL is not one that may be called: its scheme, its host or its port. */
  | "dial.notAllowed"
  /** The host stands for addresses that are not to be reached from here alone. */
  | "dial.privateAddress"
  /** The redirects do not end. */
  | "dial.tooManyRedirects";
