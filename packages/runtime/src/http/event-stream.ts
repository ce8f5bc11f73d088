/**
 * Progress events as a stream of server-sent events, for `EventSource`. Each has the id `<hub>-<seq>`: who comes back with one
 * is brought up to date from there; who comes back with one of an earlier process, or with none, gets everything that is known. An event
 * named `ready` says where that ends.
 *
 * Who reads slowly misses what is outdated by the time there is room again, and never the latest: memory is bounded.
 */
import type { Hub, HubFilter, Published } from "@nylorun/progress";

/** Proxies and clients give up on connections on which nothing comes: a comment goes out so often, in milliseconds. */
const SILENCE = 15_000;
/** A stream ends after so long, in milliseconds, and the client comes back: its key is looked at again then. */
const LIFETIME = 15 * 60_000;
/** How long a client waits until it comes back, in milliseconds. */
const RETRY = 2_000;
/** Bytes that may wait to go out before events are passed over. */
const ROOM = 64 * 1024;

const encoder = new TextEncoder();
const COMMENT = encoder.encode(":\n\n");

export interface EventStreamOptions {
  readonly hub: Hub;
  readonly filter: HubFilter;
  /** What the client says it has seen: the `Last-Event-ID` header. */
  readonly lastEventId: string | null;
  /** Ends the stream. */
  readonly stopping: AbortSignal;
  /** Called when it has ended. */
  readonly over?: (() => void) | undefined;
}

export function createEventStream({
  hub,
  filter,
  lastEventId,
  stopping,
  over,
}: EventStreamOptions): ReadableStream<Uint8Array> {
  let seen = seqOf(hub, lastEventId);
  let behind = false;
  const end = new DisposableStack();
  if (over !== undefined) end.defer(over);
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const send = (published: Published): void => {
          controller.enqueue(encode(hub, published, filter));
          seen = published.event.seq;
        };
        const close = (): void => {
          end.dispose();
          controller.close();
        };
        controller.enqueue(encoder.encode(`retry: ${RETRY}\n\n`));
        for (const published of hub.since(seen, filter)) send(published);
        seen = hub.seq;
        controller.enqueue(ready(hub));
        const subscription = hub.subscribe(filter, (published) => {
          behind ||= (controller.desiredSize ?? 0) <= 0;
          if (!behind) send(published);
        });
        const silence = setInterval(() => {
          if (!behind) controller.enqueue(COMMENT);
        }, SILENCE).unref();
        const lifetime = setTimeout(close, LIFETIME).unref();
        stopping.addEventListener("abort", close, { once: true });
        end.defer(() => stopping.removeEventListener("abort", close));
        end.defer(() => clearTimeout(lifetime));
        end.defer(() => clearInterval(silence));
        end.use(subscription);
        if (stopping.aborted) close();
      },
      pull(controller) {
        if (!behind) return;
        behind = false;
        for (const published of hub.since(seen, filter)) controller.enqueue(encode(hub, published, filter));
        seen = hub.seq;
      },
      cancel() {
        end.dispose();
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: ROOM }),
  );
}

/** Everything that was known has been sent: of what was not, this Runtime knows nothing. Pages that only listen for messages do not see it. */
function ready({ id, seq }: Hub): Uint8Array {
  const data = JSON.stringify({ hub: id, seq, now: new Date().toISOString() });
  return encoder.encode(`event: ready\nid: ${id}-${seq}\ndata: ${data}\n\n`);
}

/** What an id says was seen; 0 when it says nothing to this hub. */
function seqOf(hub: Hub, id: string | null): number {
  const dash = id?.lastIndexOf("-") ?? -1;
  const seq = Number(id?.slice(dash + 1) || Number.NaN);
  return id?.slice(0, Math.max(0, dash)) === hub.id && Number.isSafeInteger(seq) && seq <= hub.seq
    ? Math.max(0, seq)
    : 0;
}

/** Encoded once, however many read it. */
const encoded = new WeakMap<object, Uint8Array>();

function encode(hub: Hub, published: Published, { subject }: HubFilter): Uint8Array {
  // Who may see everybody's is told whose it is.
  const [key, shown] = subject === undefined ? [published, withSubject(published)] : [published.event, published.event];
  let bytes = encoded.get(key);
  if (bytes === undefined) {
    bytes = encoder.encode(`id: ${hub.id}-${published.event.seq}\ndata: ${JSON.stringify(shown)}\n\n`);
    encoded.set(key, bytes);
  }
  return bytes;
}

/** An event for an operator. */
export function withSubject({ subject, event }: Published): object {
  return { ...event, subject };
}
