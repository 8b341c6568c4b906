/**
 * Returns unused memory to the system. After a burst, V8 keeps a young generation of 48 MB, and a pool of pages that its
 * statistics do not count; a full collection frees both. So the size of the whole process decides.
 *
 * Invariant: a collection stops the program for about a tenth of a second, so it runs only while the program is idle,
 * seldom, and when it frees enough.
 */
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const LOOK_MS = 5_000;
const PAUSE_MS = 60_000;
const IDLE_UTILIZATION_MAX = 0.05;
const WORTH_BYTES_MIN = 20_000_000;
/** Between two parts of a long work: less of it gathers, for half of the processor's time more. */
const PART_BYTES_MIN = 8_000_000;

type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

function collector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as Collect;
  return () => collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/**
 * Returns a function for a program that works through many parts, to be called between two of them: it frees what they
 * left behind, once that is worth it. V8 by itself lets 60 MB of it gather.
 */
export function memorySaver(): () => void {
  const collect = collector();
  let residentThen = process.memoryUsage.rss();
  return () => {
    if (process.memoryUsage.rss() - residentThen < PART_BYTES_MIN) return;
    collect();
    residentThen = process.memoryUsage.rss();
  };
}

/** Starts the timer; returns a function that stops it. */
export function startHeapTrimming(): () => void {
  const collect = collector();
  let last = performance.eventLoopUtilization();
  let collectedAt = -PAUSE_MS;
  /** The process's resident bytes after the last collection; 0 before the first. */
  let residentThen = 0;
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    if (utilization > IDLE_UTILIZATION_MAX || performance.now() - collectedAt < PAUSE_MS) return;
    if (process.memoryUsage.rss() - residentThen < WORTH_BYTES_MIN) return;
    collect();
    collectedAt = performance.now();
    residentThen = process.memoryUsage.rss();
    // the time of the collection itself does not count as load
    last = performance.eventLoopUtilization();
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}
