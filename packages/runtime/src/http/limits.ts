/**
 * What one subject may ask for at a time, and what all may together: what is refused here is told so at once (429, 503), and costs
 * nothing further. Counted in this process, and in memory: for who is asking now, not for who has ever asked.
 */
import { refused } from "./answer.ts";
import { Buckets } from "./buckets.ts";
import { bodiesFull, tooManyRequests, tooManyWaits } from "./refusals.ts";
import { Sluice } from "./sluice.ts";

export interface LimitSettings {
  /** Requests of one subject a second, in the long run; as many at once. 0: no limit. */
  readonly subjectRequestsPerSecond: number;
  /** Blocking calls, streams, and bodies that are coming in, of one subject that are open at the same time. */
  readonly subjectOpenWaits: number;
  /** The largest request body, in bytes. */
  readonly bodyBytes: number;
}

export interface Limits {
  /** Counts a request. @throws Refused 429. */
  request(subject: string): void;
  /**
   * Counts a call that goes on waiting.
   *
   * @returns Says that it does so no more; any number of times.
   * @throws Refused 429.
   */
  wait(subject: string): () => void;
  /** How many wait. */
  readonly waits: number;
  /** Room for a body that is about to come in: until what it asks for is stored, or refused. */
  body(subject: string): BodyRoom;
}

/** Disposing of it gives the room back. */
export interface BodyRoom extends Disposable {
  /**
   * Takes room, or more of it.
   *
   * @throws Refused 503; 429.
   */
  take(bytes: number): void;
  /** The body has come in whole. Of a large one, resolves when it may be dealt with. */
  arrived(): Promise<void> | undefined;
}

/** Bodies of the largest size that may be coming in at the same time. */
const BODIES = 16;
/** Bodies from this size on are dealt with a few at a time, in bytes. */
const LARGE = 256 * 1024;
const LARGE_AT_ONCE = 16 * 1024 * 1024;

/** @param now See {@link Buckets}. */
export function createLimits(settings: LimitSettings, now?: () => number): Limits {
  const { subjectRequestsPerSecond: rate, subjectOpenWaits: most } = settings;
  const requests = new Buckets(rate, rate, now);
  const waits = new Map<string, number>();
  const bodies = new Map<string, { coming: number; bytes: number }>();
  let open = 0;
  let free = BODIES * settings.bodyBytes;
  const sluice = new Sluice(LARGE_AT_ONCE);

  return {
    request(subject) {
      if (rate === 0) return;
      const seconds = requests.take(subject);
      if (seconds > 0) throw refused(tooManyRequests(rate, seconds));
    },

    wait(subject) {
      const count = waits.get(subject) ?? 0;
      if (count >= most) throw refused(tooManyWaits(most));
      waits.set(subject, count + 1);
      open++;
      return once(() => {
        open--;
        const left = waits.get(subject)! - 1;
        if (left === 0) waits.delete(subject);
        else waits.set(subject, left);
      });
    },

    get waits() {
      return open;
    },

    body(subject) {
      let isComing = false;
      let taken = 0;
      let leave: (() => void) | undefined;
      const has = () => {
        let found = bodies.get(subject);
        if (found === undefined) bodies.set(subject, (found = { coming: 0, bytes: 0 }));
        return found;
      };
      const isThere = () => {
        if (isComing) has().coming--;
        isComing = false;
      };
      return {
        take(bytes) {
          const its = has();
          // As with turns: nobody has more than three times what is free, so that there is room for who comes next.
          if (bytes > free || (its.bytes > 0 && its.bytes + bytes > 3 * (free - bytes))) throw refused(bodiesFull);
          // A body that comes in slowly is a call that waits.
          if (!isComing && its.coming >= most) throw refused(tooManyWaits(most));
          if (!isComing) its.coming++;
          isComing = true;
          its.bytes += bytes;
          taken += bytes;
          free -= bytes;
        },
        arrived() {
          isThere();
          return taken < LARGE ? undefined : sluice.enter(taken).then((left) => void (leave = left));
        },
        [Symbol.dispose]() {
          isThere();
          leave?.();
          leave = undefined;
          const its = has();
          its.bytes -= taken;
          free += taken;
          taken = 0;
          if (its.bytes === 0 && its.coming === 0) bodies.delete(subject);
        },
      };
    },
  };
}

function once(code: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    code();
  };
}
