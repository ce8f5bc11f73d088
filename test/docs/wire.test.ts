/** What the pages of docs/ show of the wire: of the protocol's types and schemas, and what a Runtime really answers. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  EXTENSIONS,
  isA2aMethod,
  isEffectsData,
  isFilesData,
  isInteractionAnswer,
  isOpenInteraction,
  isProgressData,
  isProgressEvent,
  isTelemetryData,
  parseParams,
} from "@nylorun/protocol";
import type { Validator } from "@nylorun/protocol";

import { compile } from "./compiler.ts";
import { docsPages } from "./page.ts";
import type { Fence } from "./page.ts";
import { play } from "./playback.ts";

const RESULTS: Readonly<Record<string, string>> = {
  SendMessage: "SendMessageResponse",
  GetTask: "Task",
  ListTasks: "ListTasksResponse",
  CancelTask: "Task",
};

/** Types that a value may be marked as, beside requests and answers; and what says whether it is one, where a schema does. */
const VALUES: Readonly<Record<string, Validator<unknown> | undefined>> = {
  AgentCard: undefined,
  ApprovalAnswer: isInteractionAnswer,
  CreateTaskPushNotificationConfigRequest: undefined,
  EffectsData: isEffectsData,
  FilesData: isFilesData,
  OpenInteraction: isOpenInteraction,
  ProgressData: isProgressData,
  ProgressEvent: isProgressEvent,
  QuestionAnswer: isInteractionAnswer,
  TelemetryData: isTelemetryData,
};

const DATA: Readonly<Record<string, readonly Validator<unknown>[]>> = {
  [EXTENSIONS.interactions]: [isOpenInteraction, isInteractionAnswer],
  [EXTENSIONS.effects]: [isEffectsData],
  [EXTENSIONS.progress]: [isProgressData],
  [EXTENSIONS.telemetry]: [isTelemetryData],
  [EXTENSIONS.files]: [isFilesData],
};

interface Example extends Fence {
  readonly value: unknown;
  /** Its type in the protocol. */
  readonly type: string;
}

const pages = docsPages().filter(({ fences }) => fences.some(({ language }) => language === "json"));
const examples = pages.flatMap(({ fences }) => read(fences));

describe("the wire in docs/", { timeout: 120_000 }, () => {
  it("has the protocol's types", async () => {
    const constants = examples.map(
      ({ at, type, text }, index) => `// ${at}\nexport const example${index}: Protocol.${type} = ${text.trim()};\n`,
    );
    const file = ['import type * as Protocol from "@nylorun/protocol";', ...constants].join("\n");
    assert.equal(await compile(new Map([["wire.ts", file]])), "");
    assert.notEqual(await compile(new Map([["wire.ts", file.replace("TASK_STATE_", "TASK_STATUS_")]])), "");
  });

  it("is taken, where it is a request", () => {
    for (const { at, mark, value } of examples) {
      const [method = ""] = mark.split(" ");
      if (isA2aMethod(method)) assert.doesNotThrow(() => parseParams(method, value), at);
    }
  });

  it("fits the schemas of the extensions, wherever it carries their data", () => {
    const found = new Map<string, number>();
    for (const { at, type, value } of examples) {
      if (Object.hasOwn(VALUES, type)) assert.ok(VALUES[type]?.(value) ?? true, `${at}: is no ${type}`);
      for (const [uri, data] of extensionData(value)) {
        assert.ok(
          DATA[uri]?.some((is) => is(data)),
          `${at}: ${JSON.stringify(data)} does not fit ${uri}`,
        );
        found.set(uri, (found.get(uri) ?? 0) + 1);
      }
    }
    assert.deepEqual(new Set(found.keys()), new Set(Object.keys(DATA)), "there is an example of each extension");
  });

  for (const page of pages.filter(({ fences }) => fences.some(({ mark }) => mark.includes(" to ")))) {
    it(`is what a Runtime does: ${page.path}`, () => play(page));
  }
});

function read(fences: readonly Fence[]): Example[] {
  let asked = "";
  return fences.flatMap((fence) => {
    if (fence.language !== "json") return [];
    const [word = "", to] = fence.mark.split(" ");
    if (to === "to") asked = word;
    const type =
      to === "to"
        ? `${word}Request`
        : word === "answer"
          ? RESULTS[asked]
          : word === "error"
            ? "JsonRpcError"
            : Object.hasOwn(VALUES, word)
              ? word
              : undefined;
    assert.ok(type, `${fence.at}: its mark ${JSON.stringify(fence.mark)} says not what it is; see page.ts`);
    return [{ ...fence, type, value: JSON.parse(fence.text) as unknown }];
  });
}

function extensionData(value: unknown): [uri: string, data: unknown][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]): [string, unknown][] =>
    Object.hasOwn(DATA, key) ? [[key, item]] : extensionData(item),
  );
}
