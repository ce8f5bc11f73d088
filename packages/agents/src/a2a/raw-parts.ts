/**
 * The SDK's transports read and write `raw` parts with Node's `Buffer`, which browsers and workers do not have. So the bytes of
 * a part pass the SDK as a `url` part of a scheme of our own: what comes in is rewritten before the SDK sees it, what goes
 * out after. Nobody else ever sees that scheme.
 */
import { invalidAnswer } from "./errors.ts";

const SCHEME = "nylorun-raw:";

/** The url that stands for raw bytes while they pass the SDK. */
export function urlOfRaw(base64: string): string {
  return SCHEME + base64;
}

/** The raw bytes, in base64, that a url stands for; undefined: it is just a url. */
export function rawOfUrl(url: string): string | undefined {
  return url.startsWith(SCHEME) ? url.slice(SCHEME.length) : undefined;
}

/** Where parts are found. The sender's own objects (metadata, data) are not gone into, whatever they look like. */
const WAYS: ReadonlySet<string> = new Set([
  "result",
  "params",
  "task",
  "tasks",
  "message",
  "status",
  "statusUpdate",
  "status_update",
  "artifact",
  "artifacts",
  "artifactUpdate",
  "artifact_update",
  "history",
]);

type Json = Record<string, unknown>;

/** Hides raw parts from the SDK, in place. @param answer Parsed JSON that nobody else holds. */
export function hideRaw(answer: unknown): void {
  eachPart(answer, (part) => {
    if (typeof part["raw"] !== "string") return;
    part["url"] = urlOfRaw(part["raw"]);
    delete part["raw"];
  });
}

/** The body of a request as it goes out. */
export function restoreRaw(body: string): string {
  if (!body.includes(`"${SCHEME}`)) return body;
  const request: unknown = JSON.parse(body);
  eachPart(request, (part) => {
    const raw = typeof part["url"] === "string" ? rawOfUrl(part["url"]) : undefined;
    if (raw === undefined) return;
    part["raw"] = raw;
    delete part["url"];
  });
  return JSON.stringify(request);
}

function eachPart(value: unknown, change: (part: Json) => void): void {
  if (Array.isArray(value)) {
    for (const one of value) eachPart(one, change);
  } else if (typeof value === "object" && value !== null) {
    const object = value as Json;
    const { parts } = object;
    if (Array.isArray(parts)) {
      for (const part of parts) if (typeof part === "object" && part !== null) change(part as Json);
    }
    for (const way of Object.keys(object)) if (WAYS.has(way)) eachPart(object[way], change);
  }
}

/**
 * The events of a stream with their raw parts hidden.
 *
 * @param limit Of one event, in characters.
 */
export function hideRawInEvents(limit: number): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let rest = "";
  const pass = (controller: TransformStreamDefaultController<Uint8Array>): void => {
    // An event ends with an empty line. What has come of the next one stays.
    for (let end = EVENT_END.exec(rest); end !== null; end = EVENT_END.exec(rest)) {
      controller.enqueue(encoder.encode(`${rewritten(rest.slice(0, end.index))}\n\n`));
      rest = rest.slice(end.index + end[0].length);
    }
    if (rest.length > limit) throw invalidAnswer(`An event of the stream is longer than ${limit} characters.`);
  };
  return new TransformStream({
    transform(chunk, controller) {
      rest += decoder.decode(chunk, { stream: true });
      pass(controller);
    },
    flush(controller) {
      rest += decoder.decode();
      if (rest.trim() !== "") controller.enqueue(encoder.encode(rewritten(rest)));
    },
  });
}

const EVENT_END = /\r?\n\r?\n/;

function rewritten(event: string): string {
  if (!event.includes('"raw"')) return event;
  const lines = event.split(/\r?\n/);
  const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5));
  let answer: unknown;
  try {
    answer = JSON.parse(data.join("\n"));
  } catch {
    return event; // The SDK says what is wrong with it.
  }
  hideRaw(answer);
  return [...lines.filter((line) => !line.startsWith("data:")), `data: ${JSON.stringify(answer)}`].join("\n");
}
