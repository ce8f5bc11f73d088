/**
 * What a turn tells of itself to who traces it: each run of its function, each attempt of an effect, each wait. A turn is in one
 * trace, however often it is resumed: its `traceparent`'s, whose id telemetry/v1 shows.
 */
import type { Agent } from "@nylorun/agents";

import type { EffectResult, EffectStarted, Entry } from "./journal.ts";
import type { EnginePorts, Span, SpanAttributes, Tracer } from "./ports.ts";
import type { Claim, TurnRecord, TurnView } from "./record.ts";

const noSpan: Span = { traceparent: undefined, within: (code) => code(), end: () => undefined };

/** Nobody wants to know. */
export const noTracer: Tracer = { begin: () => noSpan };

/** A run of the function, from a claim on: an `invoke_agent` of OpenTelemetry's conventions for generative AI. */
export function beginRun({ tracer, taskIds }: EnginePorts, agent: Agent, { turn }: Claim): Span {
  if (tracer === noTracer) return noSpan;
  return tracer.begin({
    name: `invoke_agent ${agent.name}`,
    kind: "internal",
    parent: turn.traceparent,
    attributes: {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.id": agent.id,
      "gen_ai.agent.name": agent.name,
      "gen_ai.agent.version": agent.version,
      "gen_ai.conversation.id": turn.contextId,
      "nylorun.task.id": taskIds.encode(turn),
      "nylorun.run.resumed": turn.length > 0,
    },
  });
}

export function endRun(span: Span, { state }: TurnRecord, result: object | undefined): void {
  const threw = result !== undefined && "threw" in result ? result.threw : undefined;
  const error = state === "failed" ? (threw instanceof Error ? threw.name : "unknown") : undefined;
  span.end({ attributes: { "nylorun.turn.state": state }, ...(error !== undefined && { error }) });
}

/** One attempt of an effect, right before its function is called. */
export function beginAttempt(
  { tracer }: EnginePorts,
  { name, id, idempotent }: EffectStarted,
  { attempt, parent }: { readonly attempt: number; readonly parent: Span },
): Span {
  if (tracer === noTracer) return noSpan;
  const attributes: SpanAttributes = {
    "nylorun.effect.id": id,
    "nylorun.effect.name": name,
    "nylorun.effect.attempt": attempt,
    "nylorun.effect.idempotent": idempotent === true,
  };
  return tracer.begin({ name: `effect ${name}`, kind: "internal", parent: parent.traceparent, attributes });
}

/** @param result Undefined: it is unknown. */
export function endAttempt(span: Span, result: EffectResult | undefined, why: string): void {
  const outcome = result === undefined ? "unknown" : "error" in result ? "failed" : "completed";
  const error = result === undefined ? why : "error" in result ? result.error.name : undefined;
  span.end({ attributes: { "nylorun.effect.outcome": outcome }, error });
}

/** The waits that a change of the turn has ended, each from its opening on: processes may have come and gone meanwhile. */
export function traceWaits(
  { tracer, taskIds, store }: EnginePorts,
  turn: TurnRecord,
  change: { readonly view?: TurnView; readonly entries?: readonly Entry[]; readonly cause?: string | undefined },
): void {
  const { view, entries = [], cause } = change;
  if (tracer === noTracer || turn.view.waits === undefined || view === undefined) return;
  for (const wait of turn.view.waits) {
    if (view.waits?.some(({ of }) => of === wait.of)) continue;
    const end = entries.find((entry) => entry.kind === "end" && entry.of === wait.of);
    const [how, at] = end?.kind === "end" ? [end.how, end.at] : ["withdrawn", store.now()];
    tracer
      .begin({
        name: `wait ${wait.kind}`,
        kind: "internal",
        parent: turn.traceparent,
        attributes: { "nylorun.task.id": taskIds.encode(turn), "nylorun.wait.kind": wait.kind },
        link: cause,
        at: wait.at,
      })
      .end({ attributes: { "nylorun.wait.end": how }, at });
  }
}
