/**
 * Gives memory back when there is nothing to do. V8 keeps a young generation of 48 MB once a burst has grown it; a
 * full collection makes it small again, and the next burst finds it as fast as before.
 *
 * Invariant: a collection stops the program for a tenth of a second or so, so there is one only while nobody asks for
 * anything, seldom, and when it is worth it.
 */
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const LOOK_MS = 5_000;
const PAUSE_MS = 60_000;
const IDLE_UTILIZATION_MAX = 0.05;
const WORTH_BYTES_MIN = 20_000_000;

type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

/** Begins to look; returns what ends it. */
export function startHeapTrimming(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as Collect;
  let last = performance.eventLoopUtilization();
  let collectedAt = -PAUSE_MS;
  /** The heap after the last collection; none yet. */
  let heapThen = 0;
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    if (utilization > IDLE_UTILIZATION_MAX || performance.now() - collectedAt < PAUSE_MS) return;
    if (process.memoryUsage().heapTotal - heapThen < WORTH_BYTES_MIN) return;
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    collectedAt = performance.now();
    heapThen = process.memoryUsage().heapTotal;
    // what the collection took is no work
    last = performance.eventLoopUtilization();
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}
