/**
 * An idle service on an accelerated clock: a day, in which each job runs as often as in a real one, and then a year of
 * nights. The clock, the monotonic clock and intervals are faster; what waits for a disk, a process or a timeout is not. So a
 * year's nights are fewer than 365 where their jobs take longer than a night of it, and it says how many each job had.
 *
 * Prints processor seconds of the day, its share of one core, and the memory before, after the day, after the first nights
 * and after the year: resident, and what a collection of garbage leaves, in V8's heap and beside it. The latter two would show a
 * leak.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import Database from 'better-sqlite3';

const { dist, dataDir, days } = JSON.parse(process.argv[2] ?? '{}');
const DAY_MS = 86_400_000;
/** Real milliseconds of a simulated day: the first, and each of the year. */
const DAY_REAL_MS = 60_000;
const NIGHT_REAL_MS = 1_000;
/** After so many, caches and pools have their size. */
const FIRST_NIGHTS = 30;
const SETTLED_MS = 12_000;
/** A backup has a thread, with a heap of its own. */
const JOBS_MS_MAX = 120_000;
const BYTES_PER_MB = 1_000_000;
const BYTES_PER_KIB = 1_024;
const PASSPHRASE = 'a passphrase of the benchmark';
/** Timers have no shorter ones. */
const INTERVAL_MS_MIN = 1;

const realNow = Date.now;
const realPassed = performance.now.bind(performance);
let speed = 1;
let [clock, passed, at] = [realNow(), realPassed(), realPassed()];

/** Carries the clocks on at the present speed. */
function carry() {
  const real = realPassed();
  clock += (real - at) * speed;
  passed += (real - at) * speed;
  at = real;
}
const now = () => {
  carry();
  return Math.floor(clock);
};
Date.now = now;
performance.now = () => {
  carry();
  return passed;
};

/** Every interval of the process, so that a change of speed changes them. */
const intervals = new Map();
const [realInterval, realClear] = [globalThis.setInterval, globalThis.clearInterval];
const begin = (each) => {
  realClear(each.timer);
  each.timer = realInterval(each.work, Math.max(INTERVAL_MS_MIN, each.ms / speed));
  each.timer.unref();
};
globalThis.setInterval = (work, ms, ...parameters) => {
  const each = { work: () => work(...parameters), ms, timer: undefined };
  begin(each);
  intervals.set(each.timer, each);
  return each.timer;
};
globalThis.clearInterval = (handle) => {
  realClear(intervals.get(handle)?.timer ?? handle);
  intervals.delete(handle);
};

function setSpeed(to) {
  carry();
  speed = to;
  for (const each of intervals.values()) begin(each);
}

const load = (path) => import(pathToFileURL(join(dist, '..', 'daemon', path)).href);
const backups = join(dataDir, 'backups');
mkdirSync(backups, { recursive: true });
const { createWallet } = await load('wallet/wallet.ts');
await createWallet(join(dataDir, 'vault'), { passphrase: PASSPHRASE }).catch(() => undefined);
const configFile = join(dataDir, 'idle.toml');
writeFileSync(
  configFile,
  `port = 0\n[log]\nlevel = "error"\n[rates]\nsources = []\n[sandbox]\nblock_seconds = 0\n[payments]\naddress_pool = 20\n[backup]\nfolder = "${backups}"\nkeep = 3\n`,
);
const { startDaemon } = await load('main.ts');
const daemon = await startDaemon({ dataDir, configFile, now, givesMemoryBack: true });
await pause(SETTLED_MS);

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
const residentMb = () => process.memoryUsage.rss() / BYTES_PER_MB;
/** Anonymous memory of the process: V8's heap, and that of libraries. Null where the system does not say. */
function anonymousBytes() {
  try {
    const [, kib] = /^Anonymous:\s+(\d+) kB/m.exec(readFileSync('/proc/self/smaps_rollup', 'utf8'));
    return Number(kib) * BYTES_PER_KIB;
  } catch {
    return null;
  }
}
/** Memory as it is, and then what a collection of garbage leaves of V8's heap and of memory beside it. */
function memory() {
  const resident = residentMb();
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  const { heapUsed, heapTotal } = process.memoryUsage();
  const anonymous = anonymousBytes();
  const nativeMb = anonymous === null ? null : (anonymous - heapTotal) / BYTES_PER_MB;
  return { residentMb: resident, heapMb: heapUsed / BYTES_PER_MB, nativeMb };
}
const cpuSeconds = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000_000;
};
const THREADS = '/proc/self/task';
const threads = () => (existsSync(THREADS) ? readdirSync(THREADS).length : 0);
const threadsBefore = threads();
/** Waits until no job runs, and unused memory was given back. */
async function settled() {
  await pause(SETTLED_MS);
  for (const until = realPassed() + JOBS_MS_MAX; threads() > threadsBefore && realPassed() < until; ) await pause(500);
  await pause(SETTLED_MS);
}
const db = new Database(join(dataDir, 'countinghouse.db'), { readonly: true });
/** When each job was last done, by the service's own rows. */
const jobs = () => db.prepare(`SELECT key, value FROM setting WHERE key LIKE 'job.%'`).all();

/** Lets simulated days pass, and counts the nights of each job. */
async function live(count, dayRealMs) {
  const nights = {};
  const last = new Map(jobs().map(({ key, value }) => [key, value]));
  const cpu = cpuSeconds();
  setSpeed(DAY_MS / dayRealMs);
  for (const until = now() + count * DAY_MS; now() < until; ) {
    await pause(100);
    for (const { key, value } of jobs()) {
      if (last.get(key) === value) continue;
      last.set(key, value);
      nights[key.slice('job.'.length)] = (nights[key.slice('job.'.length)] ?? 0) + 1;
    }
  }
  setSpeed(1);
  const used = cpuSeconds() - cpu;
  await settled();
  return { cpuSeconds: used, ...memory(), nights };
}

const beforeMb = residentMb();
const day = await live(1, DAY_REAL_MS);
const first = await live(FIRST_NIGHTS, NIGHT_REAL_MS);
const year = await live(days, NIGHT_REAL_MS);
await daemon.stop();
process.stdout.write(`${JSON.stringify({ beforeMb, day, first, year, days })}\n`);
process.exit(0);
