import type { Effect, Part, PlanStep, TaskState } from "@nylorun/agents";
import type { OpenInteraction, Task } from "@nylorun/protocol";

import type { Answer } from "./answers.ts";
import type { CalledAgent, TestCall } from "./called-agents.ts";
import type { TestFile } from "./files.ts";

/** One message to an agent, and what its caller does about what follows. */
export interface Script {
  /** What the caller writes: a text, or the parts of the message. Default: an empty text. */
  readonly message?: string | readonly Part[];
  /**
   * What the caller does, once for each interaction that it is shown, in order. When these are used up it does nothing more: time
   * passes, and if that changes nothing, the run is over and waits.
   */
  readonly answers?: readonly Answer[];
  /** Code to run instead of the agent's own: by the name of an effect, or, of a connection's `verify`, by its provider. */
  readonly effects?: Readonly<Record<string, (effect: Effect) => unknown>>;
  /** What the URLs of the message's `url` parts lead to: they are fetched from here, and from nowhere else. */
  readonly urls?: Readonly<Record<string, string | Uint8Array>>;
  /** The agents that it calls (`turn.call`), by id or address. They are new for each run. */
  readonly agents?: Readonly<Record<string, CalledAgent>>;
  /** Called before the run, and by `assertDurable` before each: makes the world anew that the effects act on. */
  readonly prepare?: () => void | Promise<void>;
  /** What the effects have done to the world, as JSON: `assertDurable` compares it too. */
  readonly world?: () => unknown;
  /** Who the caller is. Default: `tester`. */
  readonly subject?: string;
  /** When the message comes, by simulated time. Default: 2026-01-01T09:00:00Z. */
  readonly now?: Date;
  /** How long a run may take, in real milliseconds. Default: 10,000. */
  readonly patienceMs?: number;
}

/** What came of a script. */
export interface TestRun {
  /** Such as `TASK_STATE_COMPLETED`; `TASK_STATE_INPUT_REQUIRED` of a run that waits when the script is over. */
  readonly state: TaskState;
  /** What `run` returned: a text, or another JSON value. Undefined when it returned nothing, or has not returned. */
  readonly output: unknown;
  /** The parts of a `reply(…)`. */
  readonly reply: readonly Part[] | undefined;
  /** What `run` threw, as it was thrown: the caller never sees it. Of a run that failed or refused. */
  readonly error: unknown;
  /** What the status says in words: the step text, a prompt, why it failed or was refused. */
  readonly status: string | undefined;
  readonly plan: readonly PlanStep[] | undefined;
  /** What was said, oldest first. */
  readonly history: readonly { readonly by: "agent" | "user"; readonly text: string }[];
  /** The effects whose code ran, in the order in which they began. */
  readonly effects: readonly TestEffect[];
  /** The files and folders that the agent made, in the order in which it first did. */
  readonly files: readonly TestFile[];
  /** The calls of other agents, in the order in which these had them. */
  readonly calls: readonly TestCall[];
  /** The interactions that were shown to the caller, in order. */
  readonly interactions: readonly OpenInteraction[];
  /** The name of the effect whose outcome is lost, if the turn is uncertain: an operator would have to say. */
  readonly uncertain: string | undefined;
  /** The simulated time at the end. */
  readonly now: Date;
  /** The task as a caller sees it that has activated all extensions. */
  readonly task: Task;
}

export interface TestEffect {
  readonly name: string;
  readonly idempotent: boolean;
  /** How often its code was run. */
  readonly attempts: number;
  /** When it first was, by simulated time. */
  readonly at: Date;
}
