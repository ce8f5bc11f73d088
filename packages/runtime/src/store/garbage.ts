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
/** So much that lives takes long to go through: that is better left to V8, which does it beside everything else. */
const MOST = 256 * 1024 * 1024;

/** Looks after the heap of this thread, until it is disposed of. */
export function takeOutGarbage(): Disposable {
  const collect = collector();
  let left = heapBytes();
  const look = () => {
    if (left > MOST) {
      left = Math.min(left, heapBytes());
      return;
    }
    if (heapBytes() < 2 * left + ALLOWED) return;
    collect();
    left = heapBytes();
  };
  const timer = setInterval(look, EVERY).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** V8's own, which a thread has only where it is asked for. */
function collector(): () => void {
  setFlagsFromString("--expose-gc");
  try {
    return runInNewContext("gc") as () => void;
  } finally {
    setFlagsFromString("--no-expose-gc");
  }
}

function heapBytes(): number {
  const { used_heap_size: used, external_memory: buffers } = getHeapStatistics();
  return used + buffers;
}
