export type FrameErrorCode = "frame.origins" | "frame.opaque";

/** A frame that was set up in a way that cannot work. */
export class FrameError extends Error {
  override readonly name = "FrameError";
  readonly code: FrameErrorCode;

  constructor(code: FrameErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
