/** Makes `docs/reference/limits.md`: what is bounded, how far, and what whoever goes further is told. */
import { SETTINGS } from "../../src/node/settings.ts";
import type { SettingName } from "../../src/node/settings.ts";
import { inLargestUnit } from "./amount.ts";
import { numberIn } from "./source.ts";

interface Row {
  readonly what: string;
  /** Where the number is: a setting, or a constant of a file below `packages/`. */
  readonly from: SettingName | readonly [file: string, name: string];
  readonly unit?: "bytes" | "ms";
  readonly then: string;
}

const REFUSED = "-32602 on the field";
const TABLES: readonly (readonly [title: string, rows: readonly Row[]])[] = [
  [
    "A request",
    [
      { what: "its body", from: "bodyBytes", unit: "bytes", then: "413 `request.tooLarge`" },
      { what: "parts of a message", from: ["protocol/src/a2a/requests.ts", "MAX_PARTS"], then: REFUSED },
      { what: "entries of any other list", from: ["protocol/src/a2a/requests.ts", "MAX_ENTRIES"], then: REFUSED },
      { what: "characters of a message id", from: ["protocol/src/a2a/requests.ts", "MAX_ID"], then: REFUSED },
      { what: "levels of free-form JSON", from: ["protocol/src/a2a/protojson.ts", "MAX_DEPTH"], then: REFUSED },
      {
        what: "requests of one subject a second (0: no limit)",
        from: "subjectRequestsPerSecond",
        then: "429 `limit.requests`",
      },
      { what: "how long it may take to come in", from: "requestTimeoutMs", unit: "ms", then: "408" },
      { what: "how long nothing of the answer may be read", from: "requestTimeoutMs", unit: "ms", then: "cut off" },
      {
        what: "bodies of the largest size at once",
        from: ["runtime/src/http/limits.ts", "BODIES"],
        then: "503 `limit.bodies`",
      },
      {
        what: "of all answers that are not read yet",
        from: ["runtime/src/node/connections.ts", "UNREAD"],
        unit: "bytes",
        then: "the largest are cut off",
      },
      {
        what: "characters of the tasks in one page of a list",
        from: ["runtime/src/http/list-tasks.ts", "PAGE_CHARACTERS"],
        then: "the page ends",
      },
      { what: "open connections", from: "maxConnections", then: "the one that was idle longest is closed" },
    ],
  ],
  [
    "Waiting",
    [
      { what: "how long a blocking call waits", from: "a2aWaitMs", unit: "ms", then: "the task as it is" },
      { what: "calls and streams of one subject that wait", from: "subjectOpenWaits", then: "429 `limit.waits`" },
      { what: "messages that wait in one context", from: "contextQueueDepth", then: "-32004 `CONTEXT_QUEUE_FULL`" },
      { what: "messages of one subject that wait", from: "subjectQueuedTurns", then: "-32004 `SUBJECT_QUEUE_FULL`" },
      { what: "plain replies to one approval", from: ["runtime/src/turn/inbox.ts", "heardLimit"], then: "-32004" },
    ],
  ],
  [
    "A turn",
    [
      { what: "turns that run at once", from: "maxRunningTurns", then: "the others wait in order" },
      { what: "turns of one subject that run at once", from: "subjectRunningTurns", then: "the others wait in order" },
      { what: "how long it runs, waiting not counted", from: "turnTimeoutMs", unit: "ms", then: "FAILED" },
      { what: "entries of its journal", from: ["runtime/src/turn/budget.ts", "entryLimit"], then: "`turn.tooLarge`" },
      {
        what: "bytes of its journal",
        from: ["runtime/src/turn/budget.ts", "byteLimit"],
        unit: "bytes",
        then: "`turn.tooLarge`",
      },
      {
        what: "the result of one effect",
        from: ["runtime/src/turn/json.ts", "resultLimit"],
        unit: "bytes",
        then: "`effect.tooLarge`",
      },
      {
        what: "levels that it is nested, as any JSON of an agent's",
        from: ["runtime/src/turn/json.ts", "nestingLimit"],
        then: "`effect.tooLarge`",
      },
      {
        what: "attempts of an idempotent effect",
        from: ["runtime/src/turn/effect.ts", "attemptLimit"],
        then: "`effect.exhausted`",
      },
      {
        what: "agents that call each other in a row",
        from: ["runtime/src/turn/callee.ts", "deepest"],
        then: "`callee.refused`",
      },
      {
        what: "earlier turns that an agent is given",
        from: ["runtime/src/turn/earlier.ts", "earlierLimit"],
        then: "the latest",
      },
      { what: "steps of a plan", from: ["runtime/src/turn/plan.ts", "stepLimit"], then: "`plan.invalid`" },
      {
        what: "characters of a step's label",
        from: ["runtime/src/turn/plan.ts", "labelLimit"],
        then: "`plan.invalid`",
      },
      { what: "characters of a step's note", from: ["runtime/src/turn/plan.ts", "noteLimit"], then: "`plan.invalid`" },
      { what: "characters of a step text", from: ["runtime/src/turn/arguments.ts", "sayLimit"], then: "`say.invalid`" },
    ],
  ],
  [
    "What is kept",
    [
      { what: "of one subject", from: "subjectStoredBytes", unit: "bytes", then: "-32004 `SUBJECT_STORAGE_FULL`" },
      { what: "room on the disk that is left free", from: "minFreeBytes", unit: "bytes", then: "503 `store.full`" },
      { what: "a task that has ended (0: for ever)", from: "turnRetentionMs", unit: "ms", then: "forgotten" },
      { what: "its journal (0: as long as the task)", from: "journalRetentionMs", unit: "ms", then: "forgotten" },
      {
        what: "what tasks used, by agent and day (0: for ever)",
        from: "usageRetentionMs",
        unit: "ms",
        then: "forgotten",
      },
      {
        what: "a delivery that was given up (0: as long as the task)",
        from: "giveUpRetentionMs",
        unit: "ms",
        then: "forgotten",
      },
      {
        what: "a file that a task had begun to keep, and ended without",
        from: ["runtime/src/store/files.ts", "leftoverMs"],
        unit: "ms",
        then: "removed",
      },
      {
        what: "the id of a message",
        from: "messageDedupeMs",
        unit: "ms",
        then: "forgotten: the message would run again",
      },
      {
        what: "a browser's session",
        from: ["runtime/src/access/sessions.ts", "LIFETIME"],
        unit: "ms",
        then: "signs in again",
      },
    ],
  ],
  [
    "Webhooks",
    [
      {
        what: "of one task",
        from: ["runtime/src/store/push.ts", "mostPushConfigs"],
        then: "-32602 `PUSH_CONFIG_LIMIT`",
      },
      { what: "characters of an address", from: ["runtime/src/push/target.ts", "MOST_URL"], then: REFUSED },
      {
        what: "characters of a token, or of credentials",
        from: ["runtime/src/push/target.ts", "MOST_SECRET"],
        then: REFUSED,
      },
      { what: "one attempt", from: ["runtime/src/push/deliverer.ts", "ATTEMPT_MS"], unit: "ms", then: "tried again" },
      {
        what: "how long a delivery is tried",
        from: ["runtime/src/push/retries.ts", "TRIED_FOR_MS"],
        unit: "ms",
        then: "given up, and listed",
      },
    ],
  ],
  [
    "Files",
    [
      { what: "one file", from: "fileBytes", unit: "bytes", then: "`file.tooLarge`; of a `url` part: FAILED" },
      { what: "all files together", from: "totalBytes", unit: "bytes", then: "`file.noRoom`" },
      { what: "how long a fetch takes", from: "fileFetchMs", unit: "ms", then: "FAILED" },
      { what: "how long a link is good for", from: "fileLinkMs", unit: "ms", then: "410: ask for the task again" },
      {
        what: "fetches at once, of one message",
        from: ["runtime/src/files/files.ts", "FETCHES_OF_TURN"],
        then: "the others wait",
      },
      {
        what: "fetches at once, from one host",
        from: ["runtime/src/files/files.ts", "FETCHES_OF_HOST"],
        then: "the others wait",
      },
      { what: "fetches at once, in all", from: ["runtime/src/files/files.ts", "FETCHES"], then: "the others wait" },
      { what: "files of a folder", from: ["runtime/src/files/manifest.ts", "MOST_ENTRIES"], then: "`file.invalid`" },
    ],
  ],
  [
    "Progress",
    [
      { what: "characters of a stage", from: ["protocol/src/progress/event.ts", "STAGE_LENGTH"], then: "cut" },
      { what: "characters of a message", from: ["protocol/src/progress/event.ts", "MESSAGE_LENGTH"], then: "cut" },
      { what: "tasks in one answer", from: ["runtime/src/http/progress.ts", "MOST"], then: "400 `request.invalid`" },
      { what: "days that the sink keeps", from: ["progress/src/retention.ts", "RETENTION_DAYS"], then: "deleted" },
      {
        what: "a line of the sink that is read",
        from: ["progress/src/lines.ts", "LINE_LIMIT"],
        unit: "bytes",
        then: "skipped, and counted",
      },
    ],
  ],
];

const HEAD = `<!-- Made by packages/runtime/scripts/reference/limits.ts. Do not edit: \`npm run generate\`. -->

# Limits

What is bounded, and what happens beyond it. Those with a name are [settings](settings.md), shown with their defaults; the others are the same
for every Runtime. What each error says is in [Errors](errors.md).

Messages that wait, turns that run and what is kept are counted for a subject's own tasks. What agents that are served here have
[called for](../agents.md#calling-other-agents) in its name is counted apart, for each level of calls: with agents that call each other eight in a row, a subject
may have up to nine times as much in all. What that used is [added up in its name](../operate.md#what-waits-and-what-was-used).
`;

export function limitsPage(): string {
  const tables = TABLES.map(([title, rows]) => {
    const lines = rows.map(({ what, from, unit, then }) => {
      const isSetting = typeof from === "string";
      const value = isSetting ? Number(SETTINGS[from].default) : numberIn(...from);
      const name = isSetting ? ` ([\`${from}\`](settings.md#${from.toLowerCase()}))` : "";
      return `| ${what} | ${amount(value, unit)}${name} | ${then} |\n`;
    });
    return `\n## ${title}\n\n| | at most | beyond it |\n|---|---|---|\n${lines.join("")}`;
  });
  return HEAD + tables.join("");
}

function amount(value: number, unit: Row["unit"]): string {
  return unit === undefined || value === 0 ? value.toLocaleString("en-US") : inLargestUnit(value, unit);
}
