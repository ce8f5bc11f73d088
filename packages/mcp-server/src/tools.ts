/** The two tools as hosts and models see them: what they are for, what they take, what they answer. JSON Schema 2020-12. */

const DIALECT = "https://json-schema.org/draft/2020-12/schema";

/** What a model is told of the server as a whole. */
export const INSTRUCTIONS = `Lets people see how far your work is, as a live bar.
Call report_progress when you begin a task that takes more than a few seconds (status "started", percent 0), at each step that
you finish or begin (status "running"), when you wait for somebody ("paused"), and once at the end ("done" or "error"). Keep
the same task_id throughout. Be honest: percent is work done, not hope, and eta_seconds is null unless you really know it.`;

export const REPORT_PROGRESS = {
  title: "Report progress",
  description: `Tells people how far a task is. They see a bar, a countdown and the stage, live.

When: at the beginning (status "started", percent 0), whenever a step is done or another begins (status "running"; once every few seconds at most), while you wait for a person or a resource ("paused"), and exactly once at the end: "done", or "error" with the reason in message. Report "started" again to run the task anew.

Percent is work done: finished steps over all steps is a good measure. It may go down when you learn that there is more to do. Never invent an ETA: leave eta_seconds null unless you measured it.`,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  // Percent has no bounds here: what is out of range is clamped, and a host that checks would not let it come this far.
  inputSchema: {
    $schema: DIALECT,
    type: "object",
    properties: {
      task_id: {
        type: "string",
        pattern: "^[a-zA-Z0-9][a-zA-Z0-9._:-]{0,127}$",
        description:
          "Names the task, the same in each report of it: your name, a colon and a short slug, such as claude:summarize-report.",
      },
      percent: { type: "number", description: "How much is done, 0 to 100." },
      stage: { type: "string", description: "What you are doing now, in a few words for people: Reading the tests." },
      status: {
        type: "string",
        enum: ["started", "running", "paused", "done", "error"],
        description: "Where the task is in its life.",
      },
      eta_seconds: {
        type: ["number", "null"],
        description: "Seconds until the end. Null, or left out, when you do not know; never a guess.",
      },
      message: {
        type: "string",
        description: "A short note, up to 280 characters. With status error: what went wrong.",
      },
      session_id: { type: "string", description: "Groups the tasks of one session, if you have such a thing." },
    },
    required: ["task_id", "percent", "stage", "status"],
  },
  outputSchema: {
    $schema: DIALECT,
    type: "object",
    description: "The progress event as it was taken in.",
    properties: {
      task_id: { type: "string" },
      percent: { type: "number", description: "Clamped to 0-100." },
      timestamp: { type: "string", description: "When the report was received." },
      complete: { type: "boolean", description: "Whether the task is done." },
      persisted: { type: "boolean", description: "Whether the report is stored; if not, nobody else can see it." },
    },
    required: ["task_id", "percent", "timestamp", "complete", "persisted"],
    additionalProperties: true,
  },
} as const;

export const GET_STATUS = {
  title: "Get progress",
  description:
    "The latest progress event of each task that any agent on this machine reported today or yesterday, the newest first, 100 at most. complete is true when the task is done or at 100 percent; updated_at is when it was last heard of.",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  inputSchema: {
    $schema: DIALECT,
    type: "object",
    properties: { task_id: { type: "string", description: "Only this task." } },
  },
  outputSchema: {
    $schema: DIALECT,
    type: "object",
    properties: {
      tasks: {
        type: "array",
        items: {
          type: "object",
          properties: {
            task_id: { type: "string" },
            complete: { type: "boolean" },
            updated_at: { type: "string" },
          },
          required: ["task_id", "complete", "updated_at"],
          additionalProperties: true,
        },
      },
      total: { type: "integer", description: "How many tasks there are; tasks has the newest 100 of them." },
    },
    required: ["tasks", "total"],
    additionalProperties: true,
  },
} as const;
