export type FrameErrorCode =
  /** The origins that may embed the frame are none, or are not written as browsers write them. */
  | "frame.origins"
  /** The page that embeds the frame has no origin of its own (it is sandboxed), so that nobody can know it. */
  | "frame.opaque";

/** A frame that was set up in a way that cannot work. */
export class FrameError extends Error {
  override readonly name = "FrameError";
  readonly code: FrameErrorCode;

  constructor(code: FrameErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
