/**
 * Takes out what a few large messages leave in the heap of a thread. V8 lets garbage grow to hundreds of megabytes before it looks at all of
 * a heap, and in a thread that then has nothing to do it stays there.
 */
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** How often a thread's heap is looked at, in milliseconds. */
const EVERY = 2_000;
/** What may have come, in bytes, beside as much again as there was after the last collection. */
const ALLOWED = 64 * 1024 * 1024;
/** So much that lives takes long to go through: while it grows, that is better left to V8, which does it beside everything else. */
const MOST = 256 * 1024 * 1024;
/** After so many looks, what a collection found alive is looked through again: it may have been needed at that moment alone. */
const AGAIN = 2;
/** The same where more than {@link MOST} lives. */
const AGAIN_OF_MUCH = 4;
/** As above, where it has lived through many collections. */
const SELDOM = 1_000;

/** Looks after the heap of this thread, until it is disposed of. */
export function takeOutGarbage(): Disposable {
  const collect = collector();
  let left = heapBytes();
  let looks = 0;
  let again = AGAIN;
  const look = () => {
    const bytes = heapBytes();
    looks++;
    const hasGrown = left <= MOST && bytes >= 2 * left + ALLOWED;
    const isDue = bytes >= ALLOWED && looks >= again;
    if (!hasGrown && !isDue) return;
    collect();
    left = heapBytes();
    looks = 0;
    // What lives on is looked through ever more seldom.
    const first = left > MOST ? AGAIN_OF_MUCH : AGAIN;
    again = left < 0.75 * bytes ? first : Math.max(first, Math.min(2 * again, SELDOM));
  };
  const timer = setInterval(look, EVERY).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Of buffers that go through a thread: so many bytes, and what is left of them is taken out. */
const GONE_THROUGH = 16 * 1024 * 1024;

/**
 * Is told of each buffer that was made to go through this thread. V8 sees little of what hangs on them, and takes them out when there are
 * 64 MB; most are young, and those are looked through in a millisecond.
 */
export function takeOutBuffers(): (bytes: number) => void {
  const collect = collector();
  let through = 0;
  return (bytes) => {
    through += bytes;
    if (through < GONE_THROUGH) return;
    through = 0;
    collect({ type: "minor" });
  };
}

/** V8's own, which a context has that is made after it was asked for. The flag is the process's: a thread that took it back would take it from others. */
function collector(): (options?: { readonly type: "minor" }) => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as (options?: { readonly type: "minor" }) => void;
}

function heapBytes(): number {
  const { used_heap_size: used, external_memory: buffers } = getHeapStatistics();
  return used + buffers;
}
