/** How long work holds the event loop, for tests and benches. */
import { createHash } from 'node:crypto';
import { PerformanceObserver } from 'node:perf_hooks';

/** The thread's CPU time, milliseconds: on a busy machine a turn of the clock's time says nothing. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** CPU milliseconds of `yardstick` near its fastest, chosen from runs on two cores under load. It was not measured on an idle machine. */
const YARDSTICK_MS = 5;
/** So many until the compiler is done with it, and as many are measured. */
const YARDSTICKS = 9;

/** Work of the kind that the product's turns have: hashes, texts, rows, maps and units. */
function yardstick(): number {
  const before = cpuMs();
  const rows = Array.from({ length: 4_000 }, (_, n) => ({
    id: n,
    txid: createHash('sha256').update(`${n}`).digest('hex'),
    units: `${n * 7_919}`,
  }));
  const again: typeof rows = JSON.parse(JSON.stringify(rows));
  const units = new Map(again.map((row) => [row.txid, BigInt(row.units)]));
  if (units.size !== rows.length) throw new Error('the yardstick is wrong');
  return cpuMs() - before;
}

let isWarm = false;

/**
 * How many times `YARDSTICK_MS` the same work takes now; 1 at least. Under load a thread's CPU time for it was seen to triple. A limit
 * that is compared so is as many times wider on a busy machine.
 */
export function slowness(): number {
  if (!isWarm) for (let n = 0; n < YARDSTICKS; n++) yardstick();
  isWarm = true;
  const measured = Array.from({ length: YARDSTICKS }, yardstick).sort((a, b) => a - b);
  return Math.max(1, measured[YARDSTICKS >> 1]! / YARDSTICK_MS);
}

/** Milliseconds, as of `performance.now()`. */
type Span = { from: number; to: number };

/** `longest` is CPU milliseconds, which a limit has to be compared with by `slowness`. `whole` is the clock's. */
type Turns = { longest: number; longestWithGarbage: number; whole: number };

/**
 * The longest that the loop was held meanwhile, without and with collections of garbage, and how long the work took. A
 * collection may fall into any turn, and lasts as long as the heap of the whole process is large.
 */
export async function turnsOf(work: Promise<unknown>): Promise<Turns> {
  const collections: Span[] = [];
  const take = (entries: PerformanceEntry[]): void => {
    for (const { startTime, duration } of entries) collections.push({ from: startTime, to: startTime + duration });
  };
  const observer = new PerformanceObserver((list) => take(list.getEntries()));
  observer.observe({ entryTypes: ['gc'] });
  let over = false;
  const ended = work.finally(() => {
    over = true;
  });
  const began = performance.now();
  const turns: (Span & { cpu: number })[] = [];
  for (let [from, before] = [began, cpuMs()]; !over; ) {
    await new Promise((resolve) => setImmediate(resolve));
    const [to, now] = [performance.now(), cpuMs()];
    turns.push({ from, to, cpu: now - before });
    [from, before] = [to, now];
  }
  const whole = performance.now() - began;
  await new Promise((resolve) => setImmediate(resolve));
  take(observer.takeRecords());
  observer.disconnect();
  await ended;
  const collecting = ({ from, to }: Span): number =>
    collections.reduce((sum, one) => sum + Math.max(0, Math.min(to, one.to) - Math.max(from, one.from)), 0);
  // there can be more turns than a call takes arguments
  const longestOf = (cpuOf: (turn: (typeof turns)[number]) => number): number =>
    turns.reduce((longest, turn) => Math.max(longest, cpuOf(turn)), 0);
  return {
    longest: longestOf((turn) => turn.cpu - collecting(turn)),
    longestWithGarbage: longestOf(({ cpu }) => cpu),
    whole,
  };
}
