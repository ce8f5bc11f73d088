/** A task at an agent, as its caller holds it. */
import { isTerminal } from "@nylorun/protocol";
import type { Message, PlanStep, SendMessageRequest, SendMessageResponse, Task, TaskState } from "@nylorun/protocol";

import type { Connection } from "./connection.ts";
import { A2aClientError } from "./errors.ts";
import { Feed } from "./feed.ts";
import type { RemoteFile } from "./files.ts";
import { answer, approval, askingOf } from "./interaction.ts";
import type { Interaction, Reply } from "./interaction.ts";
import { pushConfigsOf } from "./push-configs.ts";
import type { PushConfigs } from "./push-configs.ts";
import { randomId } from "./random-id.ts";
import { viewOf, viewOfMessage } from "./view.ts";
import type { TaskView, Totals, ViewOptions } from "./view.ts";

export interface WaitOptions {
  /** Aborting it ends the wait, never the task. */
  readonly signal?: AbortSignal;
}

export interface ReplyOptions extends WaitOptions {
  /**
   * The interaction that is answered. Default: the one that `updates()` or `refresh()` gave last; once that is answered, none until
   * they give another. Before either has been used: the one that is open.
   */
  readonly interaction?: Interaction;
  /**
   * Names the answer, as a message's id does: an agent of the profile takes it once, however often it is sent. Keep it to answer again
   * after a crash of your own. Default: 128 random bits.
   */
  readonly messageId?: string;
}

/**
 * A task at an agent. Its fields show it as it was seen last; they are brought up to date by `updates()`, `done()`, `refresh()` and
 * whatever else is called on it, not by themselves.
 *
 * Whatever happens to this program, the task goes on. `client.task(id)` takes it up again.
 */
export interface A2aTask extends TaskView {
  /**
   * The task now, then each time that something of it has changed; ends when the task has. What changes faster than it is read is left
   * out, the last state never.
   *
   * It does not end while the task waits for somebody: it shows that once, and goes on, because it may be answered elsewhere
   * (A2A 1.0, section 7.6.2).
   *
   * Errors: A2aClientError when the agent cannot be asked any more (after `patienceMs`); what `signal` was aborted with.
   */
  updates(options?: WaitOptions): AsyncGenerator<TaskView, void, undefined>;
  /**
   * The task as it ended, once it is completed. It waits for as long as that takes; for a task that asks something, read `updates()`,
   * or it waits until somebody else answers.
   *
   * Errors: A2aClientError `task.failed`, `task.rejected`, `task.canceled`, and those of `updates()`.
   */
  done(options?: WaitOptions): Promise<TaskView>;
  /** Looks at the task, once. */
  refresh(options?: WaitOptions): Promise<TaskView>;
  /**
   * Approves or denies what has been shown (see {@link ReplyOptions.interaction}): if another approval has been opened meanwhile, the
   * agent refuses, and nothing is approved that nobody has seen.
   *
   * Errors: A2aClientError `interaction.none`, `interaction.kind`, `interaction.wordsOnly`; `a2a.invalidParams` with reason
   * `INTERACTION_NOT_OPEN` when it has been answered elsewhere.
   */
  approve(approved: boolean, options?: ReplyOptions): Promise<TaskView>;
  /**
   * Answers a question. Errors as those of `approve`; `a2a.invalidParams` when the answer is none that the agent takes: the question
   * stays open.
   */
  answer(value: unknown, options?: ReplyOptions): Promise<TaskView>;
  /** Says that what was to be connected is, or with `false`, that it will not be. Errors as those of `approve`. */
  connected(made?: boolean, options?: ReplyOptions): Promise<TaskView>;
  /** Ends the task, whatever it does. Doing it again is no error. Errors: `a2a.taskNotCancelable` when it has ended otherwise. */
  cancel(options?: WaitOptions): Promise<TaskView>;
  /** Who is told of its updates, without asking. */
  readonly push: PushConfigs;
  /** The token of the webhook that the message was sent with; undefined when it was sent without. */
  readonly pushToken: string | undefined;
}

/**
 * What handles of one client share.
 *
 * @internal
 */
export interface TaskContext extends Omit<ViewOptions, "download" | "isAnswered"> {
  readonly connection: Connection;
  readonly pollMs: number;
  readonly historyLength: number;
  readonly maxAnswerBytes: number;
  download(url: string, signal: AbortSignal | undefined): Promise<Response>;
}

/**
 * A handle on what SendMessage answered.
 *
 * @internal
 */
export function taskOf(answered: SendMessageResponse, context: TaskContext, pushToken?: string): A2aTask {
  return answered.task === undefined
    ? new Answered(viewOfMessage(answered.message, context))
    : new FollowedTask(answered.task, context, pushToken);
}

abstract class Handle implements A2aTask {
  protected abstract get now(): TaskView;
  abstract readonly push: PushConfigs;
  abstract readonly pushToken: string | undefined;
  abstract updates(options?: WaitOptions): AsyncGenerator<TaskView, void, undefined>;
  abstract refresh(options?: WaitOptions): Promise<TaskView>;
  abstract approve(approved: boolean, options?: ReplyOptions): Promise<TaskView>;
  abstract answer(value: unknown, options?: ReplyOptions): Promise<TaskView>;
  abstract connected(made?: boolean, options?: ReplyOptions): Promise<TaskView>;
  abstract cancel(options?: WaitOptions): Promise<TaskView>;

  /** The task once it has ended. */
  protected abstract follow(options: WaitOptions): Promise<TaskView>;

  async done(options: WaitOptions = {}): Promise<TaskView> {
    const last = await this.follow(options);
    const failed = FAILURES[last.state];
    if (failed === undefined) return last;
    const why = last.text === undefined ? "." : `: ${last.text}`;
    throw new A2aClientError(failed.code, `The task ${failed.words}${why}`, { task: last });
  }

  get id(): string | undefined {
    return this.now.id;
  }
  get contextId(): string | undefined {
    return this.now.contextId;
  }
  get agent(): string {
    return this.now.agent;
  }
  get state(): TaskState {
    return this.now.state;
  }
  get ended(): boolean {
    return this.now.ended;
  }
  get waiting(): boolean {
    return this.now.waiting;
  }
  get since(): string | undefined {
    return this.now.since;
  }
  get text(): string | undefined {
    return this.now.text;
  }
  get plan(): { readonly steps: readonly PlanStep[] } | undefined {
    return this.now.plan;
  }
  get interaction(): Interaction | undefined {
    return this.now.interaction;
  }
  get uncertain(): string | undefined {
    return this.now.uncertain;
  }
  get totals(): Totals | undefined {
    return this.now.totals;
  }
  get traceId(): string | undefined {
    return this.now.traceId;
  }
  get output(): unknown {
    return this.now.output;
  }
  get files(): readonly RemoteFile[] {
    return this.now.files;
  }
  get task(): Task | undefined {
    return this.now.task;
  }
  get message(): Message | undefined {
    return this.now.message;
  }
}

const FAILURES: {
  readonly [State in TaskState]?: {
    readonly code: "task.failed" | "task.rejected" | "task.canceled";
    readonly words: string;
  };
} = {
  TASK_STATE_FAILED: { code: "task.failed", words: "failed" },
  TASK_STATE_REJECTED: { code: "task.rejected", words: "was refused" },
  TASK_STATE_CANCELED: { code: "task.canceled", words: "was canceled" },
};

class FollowedTask extends Handle {
  readonly push: PushConfigs;
  readonly pushToken: string | undefined;
  readonly #id: string;
  readonly #context: TaskContext;
  readonly #feed: Feed;
  readonly #viewOptions: ViewOptions;
  /** Interactions that were answered through this handle: an agent may show one a moment longer. */
  readonly #answered = new Set<string>();
  /** What a person may have seen. An answer is to this, even if the task has moved on. undefined: nothing has been given out. */
  #shown: { readonly interaction: Interaction | undefined } | undefined;
  #view: { readonly of: Task; readonly answered: number; readonly view: TaskView } | undefined;

  constructor(task: Task, context: TaskContext, pushToken: string | undefined) {
    super();
    this.#id = task.id;
    this.#context = context;
    this.pushToken = pushToken;
    this.#feed = new Feed(task, context);
    this.push = pushConfigsOf(task.id, context.connection);
    this.#viewOptions = {
      agent: context.agent,
      isActive: context.isActive,
      isAnswered: (of, interaction) => this.#answered.has(askingOf(of, interaction)),
      download: {
        fetch: (url, signal) => context.download(url, signal),
        reload: (signal) => this.#feed.look(signal),
      },
    };
  }

  protected override get now(): TaskView {
    const { task } = this.#feed;
    if (this.#view?.of !== task || this.#view.answered !== this.#answered.size) {
      this.#view = { of: task, answered: this.#answered.size, view: viewOf(task, this.#viewOptions) };
    }
    return this.#view.view;
  }

  override async *updates({ signal }: WaitOptions = {}): AsyncGenerator<TaskView, void, undefined> {
    for await (const _ of this.#feed.read(signal)) yield this.#show();
  }

  protected override async follow({ signal }: WaitOptions): Promise<TaskView> {
    for await (const task of this.#feed.read(signal)) if (isTerminal(task.status.state)) break;
    return this.now;
  }

  override async refresh({ signal }: WaitOptions = {}): Promise<TaskView> {
    await this.#feed.look(signal);
    return this.#show();
  }

  #show(): TaskView {
    const { now } = this;
    this.#shown = now;
    return now;
  }

  override approve(approved: boolean, options: ReplyOptions = {}): Promise<TaskView> {
    return this.#reply(options, (open) => approval(open, checkBoolean(approved, "approve"), "approval"));
  }

  override answer(value: unknown, options: ReplyOptions = {}): Promise<TaskView> {
    return this.#reply(options, (open) => answer(open, value));
  }

  override connected(made = true, options: ReplyOptions = {}): Promise<TaskView> {
    return this.#reply(options, (open) => approval(open, checkBoolean(made, "connected"), "connection"));
  }

  override async cancel({ signal }: WaitOptions = {}): Promise<TaskView> {
    this.#feed.take(await this.#context.connection.cancelTask(this.#id, { signal }));
    return this.now;
  }

  async #reply(options: ReplyOptions, make: (open: Interaction | undefined) => Reply): Promise<TaskView> {
    const { now } = this;
    const open = options.interaction ?? (this.#shown ?? now).interaction;
    const reply = make(open);
    const { task } = this.#feed;
    const { message, configuration } = messageRequest({ ...reply, taskId: this.#id, contextId: task.contextId });
    const { historyLength } = this.#context;
    const request = { message, configuration: { ...configuration, historyLength } };
    const response = await this.#context.connection.send(request, options);
    this.#shown = { interaction: undefined };
    // Words to who wants an authorization answer nothing: the same thing stays open.
    if (open !== undefined && !(open.kind === "question" && open.wantsAuthorization)) {
      // What is asked in words has no id of its own; it is known by the message that asks.
      if (open.id !== undefined || open.prompt === now.interaction?.prompt) this.#answered.add(askingOf(task, open));
    }
    // Some agents answer a reply with words alone; how the task is then has to be asked.
    if (response.task?.id === this.#id) this.#feed.take(response.task);
    else await this.#feed.look(options.signal);
    return this.now;
  }
}

/** What came with a message alone: it is done, and there is nothing more to it. */
class Answered extends Handle {
  protected override readonly now: TaskView;
  readonly pushToken = undefined;

  constructor(view: TaskView) {
    super();
    this.now = view;
  }

  get push(): PushConfigs {
    throw noTask();
  }

  protected override follow(): Promise<TaskView> {
    return Promise.resolve(this.now);
  }

  override async *updates(): AsyncGenerator<TaskView, void, undefined> {
    yield this.now;
  }

  override refresh(): Promise<TaskView> {
    return Promise.resolve(this.now);
  }

  override approve(): Promise<TaskView> {
    return Promise.reject(noTask());
  }
  override answer(): Promise<TaskView> {
    return Promise.reject(noTask());
  }
  override connected(): Promise<TaskView> {
    return Promise.reject(noTask());
  }
  override cancel(): Promise<TaskView> {
    return Promise.reject(noTask());
  }
}

function noTask(): A2aClientError {
  return new A2aClientError("task.none", "The agent answered with a message; there is no task that could go on.");
}

/** A text that says "false" must not approve. */
function checkBoolean(value: unknown, method: string): boolean {
  if (typeof value === "boolean") return value;
  throw new A2aClientError("call.invalid", `task.${method}() takes true or false; it got ${typeof value}.`);
}

/**
 * A request to send a message, without waiting for what comes of it.
 *
 * @internal
 */
export function messageRequest(
  message: Omit<Partial<Message>, "role" | "contextId"> &
    Pick<Message, "parts"> & { readonly contextId?: string | undefined },
): SendMessageRequest {
  const { contextId, messageId = randomId(), ...rest } = message;
  return {
    message: { messageId, ...(contextId !== undefined && { contextId }), role: "ROLE_USER", ...rest },
    configuration: { returnImmediately: true },
  };
}
