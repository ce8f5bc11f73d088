/** Makes `docs/reference/errors.md`: every code that a caller, an author or an operator may meet. */
import { globSync } from "node:fs";

import { A2A_ERRORS, TASK_STATES, ReportError } from "@nylorun/protocol";

import type { Refusal } from "../../src/http/answer.ts";
import * as refusals from "../../src/http/refusals.ts";
import { codesIn, PACKAGES, sourceOf } from "./source.ts";

/** What the reasons mean that the profile adds to A2A's. Every one that the code has is here, and no other. */
const REASONS: Readonly<Record<string, readonly [code: number, text: string]>> = {
  CONTEXT_BUSY: [-32004, 'The context is busy, and the message says `delivery: "reject"`.'],
  CONTEXT_QUEUE_FULL: [-32004, "As many messages wait in the context as may: `contextQueueDepth`."],
  SUBJECT_QUEUE_FULL: [-32004, "As many messages of the subject wait as may: `subjectQueuedTurns`."],
  SUBJECT_STORAGE_FULL: [-32004, "As much of the subject is kept as may be: `subjectStoredBytes`."],
  MESSAGE_ID_REUSED: [-32602, "The message id was used before, for a message with other content."],
  INTERACTION_NOT_OPEN: [
    -32602,
    "The answer is to no interaction that is open, or of a form that its kind does not have.",
  ],
  PUSH_CONFIG_LIMIT: [-32602, "The task has as many webhooks as it may have."],
  PUSH_HOST_NOT_ALLOWED: [-32602, "The webhook's host is none that the operator allows: `pushHosts`."],
};

/** What a refusal that takes arguments is shown with. */
const SAMPLES: Readonly<Record<string, readonly unknown[]>> = {
  unauthenticatedBy: ["Bearer"],
  tooLarge: [8_388_608],
  badReport: [new ReportError([{ field: "percent", description: 'must be a number; it is "much"' }])],
  badLimit: [1_000],
  badDays: [400],
  wrongHost: ["evil.example"],
  wrongMethod: ["PUT", "GET, HEAD"],
  tooManyRequests: [10, 1],
  tooManySignIns: [60],
  tooManyWaits: [1_000],
  internal: ["4bf92f3577b34da6a3ce929d0e0e4736"],
};

interface Thrown {
  readonly title: string;
  readonly file: string;
  readonly type: string;
  readonly text: string;
}

const THROWN: readonly Thrown[] = [
  {
    title: "AgentError",
    file: "agents/src/errors.ts",
    type: "AgentErrorCode",
    text: "What is wrong with an agent's definition, or with a call of `turn`. For its author.",
  },
  {
    title: "EffectError",
    file: "agents/src/errors.ts",
    type: "EffectErrorCode",
    text: "Why an effect gave nothing; otherwise `code` is that of the error that its function threw. For an agent's author.",
  },
  {
    title: "EffectError, of a file",
    file: "runtime/src/files/errors.ts",
    type: "FileErrorCode",
    text: "Why `turn.file` or `turn.folder` kept nothing, or what came with a message cannot be had.",
  },
  {
    title: "A2aClientError",
    file: "agents/src/a2a/errors.ts",
    type: "A2aClientErrorCode",
    text: "Why a call to an agent, a task or a webhook did not come to what it should. What an agent itself answered is `a2a.…`, such as `a2a.taskNotFound`.",
  },
  {
    title: "CallError",
    file: "agents/src/errors.ts",
    type: "CallErrorCode",
    text: "Why `turn.call` did not come to an answer.",
  },
  {
    title: "RuntimeError",
    file: "runtime/src/node/errors.ts",
    type: "RuntimeErrorCode",
    text: "Why the Runtime does not start, or a command does nothing.",
  },
  {
    title: "StoreError",
    file: "runtime/src/store/errors.ts",
    type: "StoreErrorCode",
    text: "What the store cannot do.",
  },
  {
    title: "AccessError",
    file: "runtime/src/access/errors.ts",
    type: "AccessErrorCode",
    text: "What is wrong with a key, or with a subject's name.",
  },
  {
    title: "TestingError",
    file: "runtime/src/testing/errors.ts",
    type: "TestingErrorCode",
    text: "What `@nylorun/runtime/testing` finds wrong with an agent, or with the script it was run by.",
  },
  {
    title: "FrameError",
    file: "widget/src/frame/errors.ts",
    type: "FrameErrorCode",
    text: "Why a page cannot embed the widget's frame like that.",
  },
];

/** Nobody is shown these: who meets them says it in other words. */
const INNER: ReadonlySet<string> = new Set(["BlobErrorCode", "DialErrorCode"]);

const HEAD = `<!-- Made by packages/runtime/scripts/reference/errors.ts. Do not edit: \`npm run generate\`. -->

# Errors

Every code there is. Codes are stable; the words beside them are for people, and may change.

## Over A2A

HTTP 200, and JSON-RPC's \`error\`. \`data[0]\` is a \`google.rpc.ErrorInfo\` with the reason and the domain \`a2a-protocol.org\`; for -32602 a
\`google.rpc.BadRequest\` follows, with the path of each field that is wrong.
`;

export function errorsPage(): string {
  const lines = [HEAD, "| code | reason | |", "|---|---|---|"];
  for (const { code, reason, message } of Object.values(A2A_ERRORS))
    lines.push(`| ${code} | \`${reason}\` | ${message} |`);
  lines.push("", "The profile's own reasons:", "", "| code | reason | |", "|---|---|---|");
  checkReasons();
  for (const [reason, [code, text]] of Object.entries(REASONS)) lines.push(`| ${code} | \`${reason}\` | ${text} |`);
  lines.push("", "## Over HTTP", "", '`{"error": {"code": "…", "message": "…"}}`, with the status:', "");
  lines.push("| status | code | such as |", "|---|---|---|");
  for (const { status, code, message } of refused()) lines.push(`| ${status} | \`${code}\` | ${cell(message)} |`);
  lines.push("", "The operator's routes add, with 400, 404 or 409:", "", "| code | |", "|---|---|");
  for (const { code, text } of codesIn("runtime/src/http/operations.ts", "OperationErrorCode")) {
    lines.push(`| \`${code}\` | ${cell(text)} |`);
  }
  lines.push("", "A gateway (`createA2aHandler`) adds:", "", "| status | code | |", "|---|---|---|");
  lines.push("| 502 | `gateway.failed` | What is behind it cannot be called, or its answer is none. |");
  lines.push("", "## Thrown");
  checkTypes();
  for (const { title, file, type, text } of THROWN) {
    lines.push("", `### ${title}`, "", text, "", "| code | |", "|---|---|");
    for (const one of codesIn(file, type)) lines.push(`| \`${one.code}\` | ${cell(one.text)} |`);
  }
  return `${lines.join("\n")}\n`;
}

function refused(): Refusal[] {
  // That one chooses among the others.
  const { laterRefusal: _, ...rest } = refusals;
  const all = Object.entries(rest).map(([name, one]): Refusal => {
    if (typeof one !== "function") return one;
    const sample = SAMPLES[name];
    if (sample === undefined)
      throw new Error(`the refusal ${name} takes arguments: give it some in scripts/reference/errors.ts`);
    return (one as (...args: readonly unknown[]) => Refusal)(...sample);
  });
  return all.toSorted((one, other) => one.status - other.status || (one.code < other.code ? -1 : 1));
}

/** @throws When the code has a reason that is not told here, or the other way round. */
function checkReasons(): void {
  const files = globSync("runtime/src/{turn,http,push,files}/**/*.ts", { cwd: PACKAGES });
  const used = new Set(files.flatMap((file) => sourceOf(file).match(/(?<=")[A-Z]+(?:_[A-Z]+)+(?=")/g) ?? []));
  for (const name of ["ROLE_USER", "ROLE_AGENT", ...TASK_STATES]) used.delete(name);
  for (const { reason } of Object.values(A2A_ERRORS)) used.delete(reason);
  const missing = [...used].filter((reason) => !(reason in REASONS));
  const gone = Object.keys(REASONS).filter((reason) => !used.has(reason));
  if (missing.length + gone.length === 0) return;
  throw new Error(
    `scripts/reference/errors.ts tells nothing of ${missing.join(", ") || "nothing"}, and of ${gone.join(", ") || "nothing"} that is gone`,
  );
}

/** @throws When there is a type of codes that is told of nowhere. */
function checkTypes(): void {
  const told = new Set(["OperationErrorCode", ...THROWN.map(({ type }) => type), ...INNER]);
  const files = globSync("*/src/**/*.ts", { cwd: PACKAGES });
  const all = files.flatMap((file) => sourceOf(file).match(/(?<=export type )\w+ErrorCode(?= =)/g) ?? []);
  const missing = all.filter((type) => !told.has(type));
  if (missing.length > 0) throw new Error(`scripts/reference/errors.ts tells nothing of ${missing.join(", ")}`);
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;");
}
