/**
 * Why the Runtime does not start, or a command does nothing: one sentence that says what is wrong, where, and what to do.
 * `code` is stable, `message` is for people. What the store and the definitions themselves refuse keeps their own codes.
 */
export class RuntimeError extends Error {
  override readonly name = "RuntimeError";
  readonly code: RuntimeErrorCode;

  constructor(code: RuntimeErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export type RuntimeErrorCode =
  /** A setting's value is not allowed, or settings contradict each other. */
  | "setting.invalid"
  /** The config file cannot be read, is not JSON, or has a key that is no setting. */
  | "config.invalid"
  /** A file of agents does not load, or exports none. */
  | "agents.invalid"
  /** Two agents have one id. */
  | "agents.duplicate"
  /** There is no home in that folder. */
  | "home.missing"
  /** No process serves the home, and the command needs one. */
  | "home.notServed"
  /** The home holds something, and what is asked for needs one that does not. */
  | "home.notEmpty"
  /** The home cannot be used as one. */
  | "home.unusable"
  /** What the home held was exported, to go on elsewhere. */
  | "home.moved"
  /** Another process has the home. */
  | "home.taken"
  /** What is reported cannot be stored in the person's sink. */
  | "sink.unwritable"
  /** The address cannot be listened on. */
  | "listen.failed"
  /** The process that serves the home did not answer, or not as expected. */
  | "control.failed"
  /** There is no key to call with. */
  | "key.missing"
  /** A file holds no key. */
  | "key.unusable"
  /** A command named a task that is not there, or not the caller's. */
  | "task.unknown"
  /** A command answers a task that waits for nothing, or for something else. */
  | "task.notWaiting"
  /** The Runtime that a command calls does not answer, or not as one does. */
  | "call.failed"
  /** The Runtime that a command calls refuses it. */
  | "call.refused"
  /** A command was told too little, or what contradicts itself. */
  | "request.invalid";
