/** A file cannot be kept, or had. `code` is stable; authors see it as that of the effect that their call was. */
export class FileError extends Error {
  override readonly name = "FileError";
  readonly code: FileErrorCode;

  constructor(code: FileErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export type FileErrorCode =
  /** It has more bytes than a file may have. */
  | "file.tooLarge"
  /** With it, there would be more bytes than there may be: of all, or of its subject. */
  | "file.noRoom"
  /** A content, or an entry of a folder, is not what it must be. */
  | "file.invalid"
  /** A local file cannot be read. */
  | "file.unreadable"
  /** The blob store did not take it, however often it was asked. */
  | "file.notKept"
  /** What a URL names could not be had. The message may be shown to whoever sent it. */
  | "file.notFetched";
