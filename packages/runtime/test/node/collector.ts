/** A collector of traces: takes OTLP over HTTP, as JSON, and keeps the spans. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingHttpHeaders, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";

/** Of OTLP's JSON encoding, what tests look at. */
export interface ExportedSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: { readonly code?: number; readonly message?: string };
}

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: Pick<ExportedSpan, "attributes">;
    readonly scopeSpans: readonly {
      readonly scope: { readonly name: string };
      readonly spans: readonly ExportedSpan[];
    }[];
  }[];
}

/** What the collector is sent, whatever it is. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export class Collector implements AsyncDisposable {
  /** Traces. */
  readonly received: Received[] = [];
  /** Metrics. */
  readonly figures: Received[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      void buffer(request).then((body) => {
        const received = { path: request.url ?? "", headers: request.headers, body };
        (received.path === "/v1/metrics" ? this.figures : this.received).push(received);
        response.writeHead(200, { "content-type": request.headers["content-type"] ?? "" }).end();
      });
    });
  }

  static async start(): Promise<Collector> {
    const collector = new Collector();
    await once(collector.#server.listen(0, "127.0.0.1"), "listening");
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get #exports(): readonly Export[] {
    return this.received.map(({ body }) => JSON.parse(body.toString()) as Export);
  }

  /** What was sent as JSON, in the order of beginning. */
  get spans(): readonly ExportedSpan[] {
    const all = this.#exports.flatMap(({ resourceSpans }) => resourceSpans).flatMap(({ scopeSpans }) => scopeSpans);
    const inOrder = (a: ExportedSpan, b: ExportedSpan) =>
      Number(BigInt(a.startTimeUnixNano) - BigInt(b.startTimeUnixNano));
    return all.flatMap(({ spans }) => spans).toSorted(inOrder);
  }

  get resource(): Readonly<Record<string, unknown>> {
    return attributesOf(this.#exports[0]!.resourceSpans[0]!.resource);
  }

  /** The spans, once there are such. */
  async until(enough: (spans: readonly ExportedSpan[]) => boolean): Promise<readonly ExportedSpan[]> {
    for (let tries = 0; tries < 2000; tries++) {
      if (enough(this.spans)) return this.spans;
      await delay(25);
    }
    throw new Error(`The spans never came; there are ${JSON.stringify(this.spans.map(({ name }) => name))}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

export function attributesOf({ attributes }: Pick<ExportedSpan, "attributes">): Readonly<Record<string, unknown>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
