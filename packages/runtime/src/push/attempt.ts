import type { Dialler } from "../dial/dialler.ts";
/** One attempt of a delivery: what is sent, and what its answer means. 2xx acknowledges, nothing else; the answer's body is not looked at. */
import type { Delivery } from "../store/push.ts";
import { readRetryAfter } from "./retries.ts";
import type { Signer } from "./signer.ts";

export interface AttemptOptions {
  /** Whether whose task it is may still know of it. */
  readonly mayBeTold: (delivery: Delivery) => boolean;
  readonly dialler: Dialler;
  readonly sign: Signer;
  /** Of the Runtime: who it says it is. */
  readonly userAgent: string;
  /** The body, as of now: links in it are fresh. */
  readonly render: (delivery: Delivery) => Promise<object>;
  /** In milliseconds since 1970. */
  readonly now: () => number;
}

export type Answer =
  | { readonly kind: "taken" }
  /** 410: whoever it was for is no more. */
  | { readonly kind: "gone" }
  | {
      readonly kind: "failed";
      /** For operators: a status, or what the network says. */
      readonly error: string;
      readonly retryAfterMs: number | undefined;
      /** The origin is there, whatever it thinks of this delivery. */
      readonly answered: boolean;
    };

/** What a gateway says of a server that is not there. */
const DOWN: ReadonlySet<number> = new Set([429, 502, 503, 504]);
/** Of an answer's body, in bytes: so much is read so that the connection can be used again. */
const READ = 16_384;
/** And for so long, in milliseconds. */
const READ_MS = 2_000;

/** Never rejects. @param signal Ends it: the time is up. */
export async function attempt(options: AttemptOptions, delivery: Delivery, signal: AbortSignal): Promise<Answer> {
  const { dialler, sign, userAgent, render, now, mayBeTold } = options;
  const { id, target } = delivery;
  // Not the receiver's doing. Once it is open again, this goes on where it was.
  if (!mayBeTold(delivery))
    return { kind: "failed", error: "the agent is not open to the subject", retryAfterMs: undefined, answered: true };
  try {
    const body = Buffer.from(JSON.stringify(await render(delivery)));
    const headers = {
      "content-type": "application/a2a+json",
      "user-agent": userAgent,
      ...(await sign({ id, timestamp: Math.floor(now() / 1000), body })),
      ...authorizationOf(target),
      ...(target.token !== undefined && { "x-a2a-notification-token": target.token }),
    };
    const answer = await dialler.call(new URL(target.url), { method: "POST", headers, body, signal });
    // Acknowledged is what was said to be, even if the rest of the answer never comes.
    answer.body.on("error", () => undefined);
    void answer.body.dump({ limit: READ, signal: AbortSignal.timeout(READ_MS) }).catch(() => undefined);
    return meaningOf(answer.statusCode, answer.headers["retry-after"], now());
  } catch (error) {
    return { kind: "failed", error: errorText(error, signal), retryAfterMs: undefined, answered: false };
  }
}

function meaningOf(status: number, retryAfter: string | string[] | undefined, now: number): Answer {
  if (status >= 200 && status < 300) return { kind: "taken" };
  if (status === 410) return { kind: "gone" };
  const header = Array.isArray(retryAfter) ? retryAfter[0] : retryAfter;
  const answered = !DOWN.has(status);
  return { kind: "failed", error: `HTTP ${status}`, retryAfterMs: readRetryAfter(header, now), answered };
}

function authorizationOf({ authentication }: Delivery["target"]): { authorization?: string } {
  if (authentication?.credentials === undefined) return {};
  return { authorization: `${authentication.scheme} ${authentication.credentials}` };
}

/** A word or two; no address, and nothing that the receiver wrote. */
function errorText(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return "no answer in time";
  const { code, name, cause } = error as Error & { code?: unknown; cause?: { code?: unknown } };
  const first = (error as { errors?: readonly { code?: unknown }[] }).errors?.[0]?.code;
  for (const text of [code, cause?.code, first]) if (typeof text === "string") return text;
  return name;
}
