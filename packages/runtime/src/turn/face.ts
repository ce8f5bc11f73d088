/** The author's `Turn`: turns what is called into what is journaled. */
import { AgentError, Cancelled } from "@nylorun/agents";
import type {
  AgentAnswer,
  CallOptions,
  Connection,
  FileContent,
  FileVersion,
  Interaction,
  Plan,
  Question,
  Turn,
  WaitOptions,
} from "@nylorun/agents";

import {
  checkedProgress,
  checkedText,
  checkedUsage,
  checkName,
  checkTime,
  invalid,
  jsonOf,
  keyOf,
  sayLimit,
  wholeTime,
} from "./arguments.ts";
import { realSubject } from "./callee.ts";
import { createChance } from "./chance.ts";
import { checkedCall, Delegation } from "./delegation.ts";
import type { Watch } from "./effect.ts";
import type { InteractionOpened, Start } from "./journal.ts";
import { createPlan } from "./plan.ts";
import type { KeptFile, Place } from "./ports.ts";
import type { OwnCalls } from "./relay.ts";
import type { Run } from "./run.ts";

interface Keeping {
  readonly work: "file" | "folder";
  readonly path: string;
  readonly options: CallOptions;
  readonly content?: FileContent;
}

export function createTurn(run: Run): Turn {
  const { record, ports, calls, waits, effects, outputs, snapshots } = run;
  const chance = createChance(run);

  /** Nothing of `turn` may be called inside an effect (E7). */
  const outside = (name: string): void => {
    if (ports.asyncContext.get()?.effect !== true) return;
    throw new AgentError(
      "turn.nested",
      `turn.${name} was called inside an effect. What an effect returns is recorded as one; call it before or after.`,
    );
  };
  const wait = (start: Start, options: WaitOptions, begin?: (at: number, isNew: boolean) => void): Promise<never> => {
    const { signal } = options;
    if (signal?.aborted) {
      const aborted = Promise.reject(signal.reason as Error);
      aborted.catch(() => undefined);
      return aborted;
    }
    const met = (at: number, isNew: boolean) => {
      begin?.(at, isNew);
      if (signal !== undefined) waits.withdrawWhen(signal, at);
    };
    return calls.call(start, met, signal) as Promise<never>;
  };

  const keep = (
    { work, path, options, content }: Keeping,
    code: (place: Place, signal: AbortSignal) => Promise<KeptFile>,
  ): Promise<FileVersion> => {
    outputs.check(path);
    const start = { work, name: path, artifactId: outputs.artifactId(path), ...keyOf(options) };
    const { context, turn } = record;
    let isRead = false;
    const kept = calls.work(start, async (of, signal) => {
      isRead = true;
      return outputs.version(path, await code({ context, turn, of }, signal));
    });
    // It was kept before, or never will be: whoever made a stream that nobody reads is told so.
    const tidy = () => void (!isRead && content instanceof ReadableStream && content.cancel().catch(() => undefined));
    kept.then(tidy, tidy);
    return kept as Promise<FileVersion>;
  };

  const connect = (connection: Omit<Connection, "provider" | "verify">, watch: Watch): Promise<boolean> => {
    const { pollMs = 60_000 } = connection;
    const start = interaction("connection", connection, { pollMs });
    return wait(start, connection, (at, isNew) => effects.watch(at, watch, isNew));
  };
  const own: OwnCalls = {
    connect,
    watchTask({ callee, task, since }, watch, signal) {
      const { agent, auth } = callee;
      const start: Start = {
        kind: "task",
        at: ports.store.now(),
        since,
        agent,
        task,
        ...(auth !== undefined && { auth: true }),
      };
      return wait(start, { ...(signal && { signal }) }, (at, isNew) => effects.watch(at, watch, isNew));
    },
  };

  const turn: Turn = {
    taskId: ports.taskIds.encode(record),
    contextId: record.contextId,
    subject: realSubject(record.subject),
    text: record.message.parts.flatMap((part) => (part.text === undefined ? [] : [part.text])).join("\n"),
    parts: record.message.parts,
    inputs: run.inputs.list,
    history: run.earlier,
    signal: run.signal,

    plan<const Label extends string>(steps: readonly Label[]): Plan<Label> {
      outside("plan()");
      return createPlan(steps, (now) => snapshots.showPlan(now));
    },

    progress(report) {
      outside("progress()");
      snapshots.showProgress(checkedProgress(report));
    },

    say(text) {
      outside("say()");
      if (run.cancelled) throw new Cancelled("The task was cancelled.");
      const words = checkedText(text);
      // It needs no answer, so it may be said at any time; out of step there is nothing to match it with, and it is only shown.
      if (run.inStep) calls.mark({ kind: "said", id: ports.entropy.id(), text: words });
      else snapshots.showWords(words);
    },

    effect(...[name, code, options = {}]: Parameters<Turn["effect"]>): Promise<never> {
      outside(`effect(${JSON.stringify(name)})`);
      checkName("effect", name);
      if (typeof code !== "function")
        throw invalid(`turn.effect(${JSON.stringify(name)}) takes a function to run; it got ${typeof code}.`);
      checkTime("timeoutMs", options.timeoutMs, 1);
      const start: Start = {
        kind: "effect",
        name,
        id: ports.entropy.id(),
        ...(options.idempotent === true && { idempotent: true }),
        ...keyOf(options),
      };
      return calls.call(start, (at, isNew) => effects.begin(at, { name, run: code, options }, isNew)) as Promise<never>;
    },

    file(path, content, options = {}): Promise<FileVersion> {
      outside(`file(${JSON.stringify(path)})`);
      return keep({ work: "file", path, options, content }, (place, signal) => {
        const { mediaType } = options;
        return ports.files.keep(place, content, { path, signal, ...(mediaType !== undefined && { mediaType }) });
      });
    },

    folder(path, entries, options = {}): Promise<FileVersion> {
      outside(`folder(${JSON.stringify(path)})`);
      return keep({ work: "folder", path, options }, (place, signal) =>
        ports.files.keepFolder(place, entries, { signal }),
      );
    },

    ask(question: Question): Promise<never> {
      outside("ask()");
      const { choices, schema } = question;
      if (choices !== undefined && (choices.length === 0 || choices.length > 100)) {
        throw invalid(`turn.ask takes 1 to 100 choices; it got ${choices.length}.`);
      }
      const extra = {
        ...(choices && { choices: jsonOf("choices", choices) }),
        ...(schema && { schema: jsonOf("schema", schema) }),
      };
      return wait(interaction("question", question, extra), question);
    },

    approve(approval): Promise<boolean> {
      outside("approve()");
      return wait(interaction("approval", approval, {}), approval);
    },

    connect(connection: Connection): Promise<boolean> {
      outside("connect()");
      const { provider, url, pollMs } = connection;
      if (typeof connection.verify !== "function")
        throw invalid("turn.connect needs verify: a function that says whether it is connected.");
      checkTime("pollMs", pollMs, 1000);
      const detail = { provider, ...(url !== undefined && { url }), ...connection.detail };
      const asked = { ...connection, detail, ...(pollMs !== undefined && { pollMs: wholeTime(pollMs) }) };
      return connect(asked, { look: ({ signal }) => connection.verify({ signal }) });
    },

    call(agent, message, options = {}): Promise<AgentAnswer> {
      outside("call()");
      const { timeoutMs } = options;
      checkTime("timeoutMs", timeoutMs, 1);
      const answer = new Delegation(run, { turn, own }, checkedCall(agent, message, options)).answer();
      answer.catch(() => undefined);
      return answer;
    },

    sleep(duration, options = {}): Promise<void> {
      outside("sleep()");
      const at = ports.store.now();
      const until = duration instanceof Date ? duration.getTime() : at + wholeTime(duration);
      if (!Number.isFinite(until) || (typeof duration === "number" && duration < 0)) {
        throw invalid("turn.sleep takes milliseconds from 0, or a Date.");
      }
      return wait({ kind: "sleep", at, until, ...keyOf(options) }, options);
    },

    now() {
      outside("now()");
      return new Date(chance.now());
    },
    random() {
      outside("random()");
      return chance.number();
    },
    uuid() {
      outside("uuid()");
      return chance.uuid();
    },

    usage(usage) {
      outside("usage()");
      calls.mark({ kind: "used", usage: checkedUsage(usage) });
    },

    patch(name) {
      outside(`patch(${JSON.stringify(name)})`);
      checkName("patch", name);
      return calls.patched({ kind: "patched", name });
    },
  };
  return turn;

  function interaction(
    kind: InteractionOpened["kind"],
    given: Interaction,
    extra: Partial<InteractionOpened>,
  ): InteractionOpened {
    const { prompt, detail, expiresInMs } = given;
    if (typeof prompt !== "string" || prompt.trim() === "" || prompt.length > sayLimit) {
      throw invalid(`A prompt must be a text of 1 to ${sayLimit} characters.`);
    }
    if (detail !== undefined && (typeof detail !== "object" || detail === null || Array.isArray(detail))) {
      throw invalid("detail must be a JSON object.");
    }
    checkTime("expiresInMs", expiresInMs, 1);
    const at = ports.store.now();
    return {
      kind,
      id: ports.entropy.id(),
      at,
      prompt,
      ...(detail && { detail: jsonOf("detail", detail) as Record<string, unknown> }),
      ...(expiresInMs !== undefined && { expiresAt: at + wholeTime(expiresInMs) }),
      ...extra,
      ...keyOf(given),
    };
  }
}
