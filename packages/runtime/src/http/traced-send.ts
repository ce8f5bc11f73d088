/**
 * SendMessage as a span: the receipt of a message, for OpenTelemetry's conventions for messaging and RPC. What the message begins is
 * part of it, as it is part of the caller's own span: the turn is told this span's `traceparent` in place of the request's.
 */
import { A2aError } from "@nylorun/protocol";
import type { SendMessageResponse } from "@nylorun/protocol";

import type { SpanAttributes, Tracer } from "../turn/ports.ts";
import { noTracer } from "../turn/trace.ts";
import { isStillWaiting } from "./send-message.ts";
import type { SendMessage } from "./send-message.ts";

export function traceSend(tracer: Tracer, send: SendMessage): SendMessage {
  if (tracer === noTracer) return send;
  return async (call, request) => {
    const { agent, traceparent } = call;
    const { taskId, contextId } = request.message;
    const span = tracer.begin({
      name: `SendMessage ${agent.id}`,
      kind: "server",
      parent: traceparent,
      attributes: {
        "rpc.system.name": "jsonrpc",
        "rpc.method": "SendMessage",
        "messaging.system": "a2a",
        "messaging.operation.name": "SendMessage",
        "messaging.operation.type": "receive",
        "messaging.destination.name": agent.id,
        ...(contextId !== undefined && { "gen_ai.conversation.id": contextId }),
        ...(taskId !== undefined && { "nylorun.task.id": taskId }),
      },
    });
    const answered = (response: SendMessageResponse) => {
      span.end({ attributes: attributesOf(response) });
      return response;
    };
    const failed = (error: unknown): never => {
      // What the caller did wrong is no failure of the Runtime's.
      const refused = error instanceof A2aError && error.kind !== "Internal";
      if (refused) span.end({ attributes: { "rpc.response.status_code": String(error.code) } });
      else span.end({ error: error instanceof Error ? error.name : "unknown" });
      throw error;
    };
    try {
      const result = await send({ ...call, traceparent: span.traceparent ?? traceparent }, request);
      return isStillWaiting(result)
        ? { ...result, response: result.response.then(answered, failed) }
        : answered(result);
    } catch (error) {
      return failed(error);
    }
  };
}

function attributesOf({ task, message }: SendMessageResponse): SpanAttributes {
  const taskId = task?.id ?? message?.taskId;
  const contextId = task?.contextId ?? message?.contextId;
  return {
    ...(taskId !== undefined && { "nylorun.task.id": taskId }),
    ...(contextId !== undefined && { "gen_ai.conversation.id": contextId }),
    ...(task !== undefined && { "nylorun.task.state": task.status.state }),
  };
}
