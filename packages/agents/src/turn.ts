import type { Artifact, Part, PlanStep, TaskState } from "@nylorun/protocol";

import type { Auth } from "./auth.ts";
import type { Jsonified } from "./jsonified.ts";

/** One message and the work it starts: what an agent's `run` is given. On the wire it is one A2A Task. */
export interface Turn {
  /** The id of the caller's task. Opaque. */
  readonly taskId: string;
  /** The conversation that this turn belongs to. One subject's, with this agent. */
  readonly contextId: string;
  /** Who the caller authenticated as. 1-200 visible ASCII characters. */
  readonly subject: string;
  /** The message's text parts, joined by line breaks; empty when it has none. */
  readonly text: string;
  /** All parts of the message, in order, as the caller sent them. */
  readonly parts: readonly Part[];
  /**
   * The files that the message brought, in order: its `raw` and `url` parts. What a `url` names has been fetched before `run` is called,
   * once: it is the same on every replay.
   */
  readonly inputs: readonly Input[];
  /** The earlier turns of this context that have ended, oldest first; the last 100 at most. */
  readonly history: readonly EarlierTurn[];
  /**
   * Aborted when the caller cancels the task or the turn runs out of time. Hand it to whatever you await, and look at it in long
   * loops. Not aborted when the turn is dropped from memory because it waits: that is no end.
   */
  readonly signal: AbortSignal;

  /**
   * Shows the caller what you are going to do (progress/v1): 1-20 steps, all pending at first. Calling it again replaces the plan.
   * When the turn ends, the Runtime settles what is left open: an active step is done (or failed, or skipped), pending ones are skipped.
   *
   * ```ts
   * const plan = turn.plan(["Find the order", "Refund"]);
   * plan.start("Find the order");
   * plan.start("Refund", { note: "42.00 EUR" }); // the step before it is done
   * ```
   *
   * @param steps Labels of 1-120 characters, each different.
   * @returns The handle that moves the steps, by label or by index.
   * @throws AgentError `plan.invalid`.
   */
  plan<const Label extends string>(steps: readonly Label[]): Plan<Label>;

  /**
   * Says how far the work is, apart from the plan: for a bar. What you do not know, leave out; nothing is guessed from it.
   * The last call wins; shown at most four times a second, the last one always. May be called at any time, as often as you like.
   *
   * @throws AgentError `progress.invalid` for a value that is no finite number, or a stage that is no text.
   */
  progress(report: ProgressReport): void;

  /**
   * Replaces the one line that tells the caller what is happening now (the task's WORKING status message). The line it replaces
   * moves to the task's history. Journaled, so it is said once; but after awaiting something that is not `turn`'s it is only shown, and
   * may be said again after a crash. Inside an effect, use the effect's own.
   *
   * @param text 1-4,000 characters.
   * @throws AgentError `say.invalid`. Cancelled.
   */
  say(text: string): void;

  /**
   * Does something to the outside world, once. That it begins is on disk before `run` is called, and what came of it is on disk
   * before you see it: after a crash you are given the recorded result, and `run` is not called again.
   *
   * When the outcome is lost (the process died, the time was up, {@link OutcomeUnknown} was thrown), an `idempotent` effect runs
   * again, 10 times at most; any other makes the turn uncertain: it stops here until an operator says what happened.
   *
   * ```ts
   * const order = await turn.effect("find order", ({ signal }) => shop.order(id, { signal }), { idempotent: true });
   * const receipt = await turn.effect("refund", ({ key }) => shop.refund(id, { idempotencyKey: key }));
   * ```
   *
   * @param name What it does, for operators. 1-200 characters; never shown to the caller. Need not be unique.
   * @param run Gets the effect's own key (the same on every attempt), signal, `say`, `usage` and `progress`; no other call of
   *   `turn` may be made in it. What it returns must be JSON of at most 1 MiB and 500 levels, or nothing.
   * @returns What `run` returned, after a round trip through JSON, the first time too: a `Date` has become a text, a `Map` an empty
   *   object.
   * @throws EffectError what `run` threw. Cancelled. AgentError `turn.unjournaled`, `turn.nested`, `turn.tooLarge`, `call.invalid`.
   */
  effect<Result>(
    name: string,
    run: (effect: Effect) => Result | Promise<Result>,
    options?: EffectOptions,
  ): Promise<Jsonified<Result>>;

  /**
   * Hands the caller a file: an artifact of the task with a link to its bytes, and their size and hash (files/v1). Journaled like an
   * idempotent {@link effect}: after a crash, what was kept is not written again, and the same content is the same version.
   *
   * Outputs belong to the context: writing a path again, in this turn or a later one, makes its next version.
   *
   * ```ts
   * await turn.file("report.md", report);
   * await turn.file("data/rows.csv", () => rows(), { mediaType: "text/csv" }); // an async generator: nothing is held whole
   * await turn.file("chart.png", { localPath: "/tmp/chart.png" });
   * ```
   *
   * @param path Where it lies in the agent's outputs: 1-1,024 characters, segments of 1-255 bytes divided by `/`; no `.` or `..`, no
   *   backslash, no control characters. Paths that differ in anything, be it case or Unicode form, are different files. `output.txt` and
   *   `output.json` are what `run` returns.
   * @param content The bytes; a text is UTF-8. A stream can be read once: give a function that makes it when the call may be replayed,
   *   so that it is made only when it is needed.
   * @throws EffectError `file.tooLarge`, `file.noRoom`, `file.unreadable`; or what a stream or a function threw. AgentError as for
   *   {@link effect}, and `file.invalid`. Cancelled.
   */
  file(path: string, content: FileContent, options?: FileOptions): Promise<FileVersion>;

  /**
   * Hands the caller many files as one: an artifact whose link leads to the list of them, each with a link of its own.
   *
   * ```ts
   * await turn.folder("site", { "index.html": page, "style.css": css });
   * ```
   *
   * @param path As for {@link file}.
   * @param entries Up to 10,000 of them, with paths as for {@link file} within the folder, each once, and none below another one; in any
   *   order. As an object, by path.
   * @throws As {@link file}; EffectError `file.invalid` too, for what the entries hold.
   */
  folder(path: string, entries: FolderEntries, options?: CallOptions): Promise<FileVersion>;

  /**
   * Asks the caller a question, and waits for the answer, for days if need be: a turn that waits costs no memory, and survives
   * restarts. The task is INPUT_REQUIRED meanwhile. An answer that is none of the `choices`, or does not fit the `schema`, is sent
   * back to the caller, and the question stays open.
   *
   * While a wait is open, await only what `turn` gives you: the function is dropped from memory, without its `finally`, and called
   * again from the top when the answer comes.
   *
   * ```ts
   * const size = await turn.ask({ prompt: "Which size?", choices: ["S", "M", "L"] }); // "S" | "M" | "L"
   * ```
   *
   * @returns The chosen one of `choices`; the JSON value that fits `schema`; without either, a text.
   * @throws WaitExpired, Cancelled, AgentError as for {@link effect}.
   */
  ask<const Choice extends string>(question: Question & { readonly choices: readonly Choice[] }): Promise<Choice>;
  ask<Answer = unknown>(question: Question & { readonly schema: object }): Promise<Answer>;
  ask(question: Question): Promise<string>;

  /**
   * Asks the caller to approve something, and waits, as {@link ask} does. The task is AUTH_REQUIRED meanwhile. Only an explicit answer
   * through interactions/v1 (or by the signed-in person) approves: text never does, whatever it says.
   *
   * ```ts
   * const approved = await turn.approve({ prompt: "Refund 42.00 EUR to Ada?", detail: { order: "1001", amount: 42 } });
   * ```
   *
   * @returns Whether it was approved.
   * @throws WaitExpired, Cancelled, AgentError as for {@link effect}.
   */
  approve(approval: Approval): Promise<boolean>;

  /**
   * Asks the caller to connect something (an account, a calendar), and waits until `verify` says that it is connected: it is asked
   * after each time the caller says so, and every `pollMs`. The task is AUTH_REQUIRED meanwhile.
   *
   * It always asks: if it may be connected already, look first, in an idempotent {@link effect}.
   *
   * @returns Whether it is connected; false when the caller declined.
   * @throws WaitExpired, Cancelled, AgentError as for {@link effect}. What `verify` throws goes to the log, and counts as not yet.
   */
  connect(connection: Connection): Promise<boolean>;

  /**
   * Gives another agent a message, and waits for what comes of it, for days if need be: by its id when it is served here, else by its
   * address. It is sent once, whatever happens to this process; meanwhile the turn is parked, as in a sleep. What the other
   * agent asks, your caller is asked, as if you had: its answer is passed on. Nothing else of it reaches your caller.
   *
   * An agent that is served here acts for the same subject; its task is listed nowhere. When your turn ends first, however that is, the task
   * is cancelled, as far as that can be done.
   *
   * ```ts
   * const { output } = await turn.call("refunds", "Refund order 1001");
   * const { artifacts } = await turn.call("https://example.com/agents/painter", "A cat", { auth: () => process.env.PAINTER_KEY });
   * ```
   *
   * @param agent An agent's id, or its address: http or https. Do not take an address from a message: whoever wrote it would choose what this
   *   Runtime calls.
   * @param message A text, or parts (A2A 1.0, section 4.1.6), at least one.
   * @returns What it answered, once its task is completed; 1 MiB at most.
   * @throws CallError when it did not come to that; Cancelled; what `signal` was aborted with; AgentError as for {@link effect}.
   */
  call(agent: string, message: string | readonly Part[], options?: AgentCallOptions): Promise<AgentAnswer>;

  /**
   * Waits for some time, or until a moment. Costs no memory, survives restarts.
   *
   * @param duration Milliseconds, 0 or more; or the moment. One that has passed is over at once.
   * @throws Cancelled, AgentError as for {@link effect}.
   */
  sleep(duration: number | Date, options?: WaitOptions): Promise<void>;

  /**
   * The time, the same on every replay: when the last thing that you awaited from `turn` came back; before that, when the message
   * came. Between two such things it stands still.
   *
   * @throws AgentError `turn.unjournaled` after awaiting something that is not `turn`'s.
   */
  now(): Date;
  /**
   * A number from 0 up to 1, the same on every replay.
   *
   * @throws AgentError `turn.unjournaled` after awaiting something that is not `turn`'s.
   */
  random(): number;
  /**
   * A random UUID, the same on every replay.
   *
   * @throws AgentError `turn.unjournaled` after awaiting something that is not `turn`'s.
   */
  uuid(): string;

  /**
   * Adds to what the turn has used; the caller sees the sums when it ends (telemetry/v1). Report only what you know. Journaled, so it is
   * counted once, and only in step. Inside an effect, use the effect's own.
   *
   * @throws AgentError `call.invalid` for anything but finite numbers from 0; `turn.unjournaled`. Cancelled.
   */
  usage(usage: Usage): void;

  /**
   * For changing an agent's code while turns of it wait. True in turns that begin, or come to this line, under the new code; false in
   * those that had gone past it under the old.
   *
   * ```ts
   * const limit = turn.patch("check-limit") ? await turn.effect("check the limit", …) : undefined;
   * ```
   *
   * @param name Unique within the agent, for ever: a name is for one change. 1-200 characters.
   * @throws AgentError `call.invalid`, `turn.unjournaled`. Cancelled.
   */
  patch(name: string): boolean;
}

/** A file that came with the message. */
export interface Input {
  /** Its place in {@link Turn.parts}, from 0. */
  readonly part: number;
  /** The part's own, else what its URL ends in, else `part-1`. For people: it is no path. */
  readonly name: string;
  /** The part's own, else what its server says, else `application/octet-stream`. */
  readonly mediaType: string;
  /** Bytes. */
  readonly size: number;
  /**
   * Its bytes as they come. Read it inside an {@link Turn.effect}: what you await from it is not `turn`'s. Each call begins at the
   * beginning.
   */
  stream(): ReadableStream<Uint8Array>;
  /** All of its bytes. May be awaited anywhere: it is journaled, without its content. */
  bytes(): Promise<Uint8Array>;
  /** All of it as text, in UTF-8, without the mark that may stand at its beginning. As {@link bytes}. */
  text(): Promise<string>;
}

/** What a file is made of. */
export type FileContent =
  | string
  | Uint8Array
  | ReadableStream<Uint8Array>
  | AsyncIterable<string | Uint8Array>
  | Iterable<string | Uint8Array>
  /** A file of this machine, which stays as it is. */
  | { readonly localPath: string }
  | (() => FileContent | Promise<FileContent>);

export interface FileOptions extends CallOptions {
  /** Such as `text/csv; charset=utf-8`. Default: by the end of the path; else of a text `text/plain`, of bytes `application/octet-stream`. */
  readonly mediaType?: string;
}

/** One file of a folder. */
export interface FolderEntry extends Pick<FileOptions, "mediaType"> {
  readonly path: string;
  readonly content: FileContent;
}

export type FolderEntries = Readonly<Record<string, FileContent>> | Iterable<FolderEntry> | AsyncIterable<FolderEntry>;

/** A file or folder as the caller has it. */
export interface FileVersion {
  readonly path: string;
  /** 1 for the first content under this path in this context, one more for each that replaced it. */
  readonly version: number;
  /** Bytes; of a folder: the sum of its files. */
  readonly size: number;
  /** SHA-256 of the bytes, in lower-case hexadecimal digits; of a folder: of its list of files, as files/v1 says. */
  readonly sha256: string;
  readonly mediaType: string;
}

/** What the function of an effect is given. */
export interface Effect {
  /** Opaque, the same on every attempt: hand it to the provider as its `Idempotency-Key`. */
  readonly key: string;
  /** Aborted when the turn is cancelled or the effect's time is up. */
  readonly signal: AbortSignal;
  /** As {@link Turn.say}, but no replay says it again. */
  readonly say: (text: string) => void;
  /** As {@link Turn.progress}. */
  readonly progress: (report: ProgressReport) => void;
  /** As {@link Turn.usage}. Recorded together with the outcome: an attempt that has none counts nothing. */
  readonly usage: (usage: Usage) => void;
}

/** Common to every call that is journaled. */
export interface CallOptions {
  /**
   * Names this very call among those of the same kind and name, each key once. Needed only when you call after awaiting something that is
   * not `turn`'s: say what it is about, such as an order's number. 1-200 characters. Not the key that an effect hands to its provider.
   */
  readonly key?: string;
}

export interface EffectOptions extends CallOptions {
  /**
   * Doing it twice is the same as doing it once (a read, or the provider honours the key): when its outcome is lost, it is done again.
   * Default: false, and a lost outcome stops the turn until an operator says what became of it.
   */
  readonly idempotent?: boolean;
  /** Milliseconds, 1 or more, after which the outcome counts as unknown, and the signal is aborted. Default: as long as the turn may run. */
  readonly timeoutMs?: number;
}

export interface WaitOptions extends CallOptions {
  /** Aborting it takes the question back, and the wait throws an `AbortError`. */
  readonly signal?: AbortSignal;
}

export interface Interaction extends WaitOptions {
  /** What the person reads. 1-4,000 characters. */
  readonly prompt: string;
  /** Whatever else a person should see before answering, such as what exactly will be done: a JSON object. */
  readonly detail?: object;
  /** Milliseconds after which the wait throws {@link WaitExpired}. Default: never. */
  readonly expiresInMs?: number;
}

export interface Question extends Interaction {
  /** The only answers that are taken. 1-100 of them. */
  readonly choices?: readonly string[];
  /** JSON Schema (2020-12) that an answer must fit. Say the type of the answer with it: `turn.ask<Address>({ … })`. */
  readonly schema?: object;
}

/** What {@link Turn.approve} asks. */
export type Approval = Interaction;

export interface Connection extends Interaction {
  /** What to connect to, such as `google-calendar`. */
  readonly provider: string;
  /** Where the person connects it: a web address. */
  readonly url?: string;
  /** Looks whether it is connected. May run any number of times, and nothing but look. What it throws counts as not yet. */
  readonly verify: (effect: Pick<Effect, "signal">) => boolean | Promise<boolean>;
  /** How often to look without being told. Milliseconds, 1,000 or more; default 60,000. */
  readonly pollMs?: number;
}

export interface AgentCallOptions extends CallOptions {
  /** The conversation with that agent to go on with: an earlier answer's `contextId`. Default: a new one. */
  readonly contextId?: string;
  /**
   * What calls prove themselves with, at an address: a token, headers, or a function that gives either. Never recorded: it is asked for
   * each time. Default: nothing.
   */
  readonly auth?: Auth;
  /** Aborting it cancels the other agent's task, and the call throws what it was aborted with. */
  readonly signal?: AbortSignal;
  /** Milliseconds, 1 or more, after which the call throws `callee.timeout`. Default: never. */
  readonly timeoutMs?: number;
}

/** What another agent answered. */
export interface AgentAnswer {
  /** The task there; undefined when the agent answered with a message alone. */
  readonly taskId: string | undefined;
  /** The conversation, to go on with. */
  readonly contextId: string | undefined;
  /**
   * What came out of it: a text, or another JSON value. Of the artifact `output`, else the last one with text or data, else the
   * agent's closing message. Undefined when there is none of these.
   */
  readonly output: unknown;
  /** Everything that came out of it. Links to files expire: fetch them in an effect, right away. */
  readonly artifacts: readonly Artifact[];
}

/** What was used since the last report: it is added up. */
export interface Usage {
  /** Whole tokens, of all models together. */
  readonly tokens?: number;
  /** US dollars. */
  readonly costUsd?: number;
}

/** Moves the steps of a plan. A step is named by its label or its index (from 0). */
export interface Plan<Label extends string = string> {
  /** The steps as the caller sees them now. */
  readonly steps: readonly PlanStep[];
  /** Makes the step active; a step that was active until now is done. */
  start(step: Label | number, options?: StepOptions): void;
  /** The step is done. */
  done(step: Label | number, options?: StepOptions): void;
  /** The step failed; the turn goes on. */
  fail(step: Label | number, options?: StepOptions): void;
  /** The step was not needed. */
  skip(step: Label | number, options?: StepOptions): void;
}

export interface StepOptions {
  /** A short remark beside the label. Up to 280 characters; `""` removes it. */
  readonly note?: string;
}

export interface ProgressReport {
  /** 0-100; values outside are clamped. Left out: the share of finished steps is shown instead. */
  readonly percent?: number;
  /** What is being done, in a few words. Up to 120 characters. Left out: the active step is shown instead. */
  readonly stage?: string;
  /** Seconds until the end, when you really know. `null`, or left out: unknown. Never a guess. */
  readonly etaSeconds?: number | null;
}

/** A turn of the same context that has ended. */
export interface EarlierTurn {
  readonly taskId: string;
  /** How it ended: `TASK_STATE_COMPLETED`, `…_FAILED`, `…_CANCELED` or `…_REJECTED`. */
  readonly state: TaskState;
  /** What the caller wrote: the text parts, joined by line breaks. */
  readonly text: string;
  readonly parts: readonly Part[];
  /** What the agent answered: the parts of its reply, or of its output. Empty when there was none. */
  readonly answer: readonly Part[];
}
