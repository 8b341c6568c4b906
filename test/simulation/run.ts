/**
 * `npm run simulate -- --seed N --steps M`, or `--seeds A..B` for several. A fault is printed with the trail that led to it,
 * and with the line that makes a test of it. `--minutes T` ends a range early; `--keep-going` does not end it at a fault; `--trail`
 * prints the trail of every run; `--without NAME,…` leaves actions out, `--only NAME[:WEIGHT],…` all others, `--also NAME:WEIGHT,…` adds some. `--kind core|electrum|liars`:
 * what the appliance asks.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Crashed } from './appliance.ts';
import { serveConnections } from './electrum.ts';
import type { Network } from './network.ts';
import { serveNodes } from './rpc.ts';
import { ACTIONS, simulate } from './simulation.ts';
import { stopwatch, Time } from './time.ts';
import { Wallet } from './wallet.ts';
import { type Kind, START, type World } from './world.ts';

const STEPS = 400;
const TRAIL_SHOWN = 60;

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    steps: { type: 'string', default: `${STEPS}` },
    minutes: { type: 'string' },
    without: { type: 'string', default: '' },
    kind: { type: 'string', default: 'any' },
    only: { type: 'string', default: '' },
    also: { type: 'string', default: '' },
    trail: { type: 'boolean', default: false },
    'keep-going': { type: 'boolean', default: false },
  },
});
const [from, to] = (values.seeds ?? `${values.seed ?? 1}..${values.seed ?? 1}`).split('..').map(Number);
const steps = Number(values.steps);
/** By name, with another weight where one is given: `mine:20`. */
const only = new Map(
  [...values.only.split(','), ...values.also.split(',')].map((text) => {
    const [name = '', weight] = text.split(':');
    return [name, weight] as const;
  }),
);
const without = new Set([
  ...values.without.split(','),
  ...(values.only === '' ? [] : ACTIONS.map(([, name]) => name).filter((name) => !only.has(name))),
]);
const deadline =
  values.minutes === undefined ? Number.POSITIVE_INFINITY : stopwatch() + Number(values.minutes) * 60_000;

// what a dead machine was about to do fails when its files are closed
process.on('uncaughtException', (error) => {
  if (error instanceof Crashed) return;
  process.stderr.write(`${error.stack}\n`);
  process.exit(2);
});
process.on('unhandledRejection', (error) => {
  const { message } = error as Error;
  if (/database connection is not open|service is stopping|power failed/.test(message)) return;
  process.stderr.write(`unhandled: ${(error as Error).stack}\n`);
  process.exit(2);
});

// memory where there is one: a commit need not survive more than this process
const shared = '/dev/shm';
const folder = mkdtempSync(join(existsSync(shared) ? shared : tmpdir(), 'countinghouse-simulation-'));
let world: World | null = null;
const time = new Time(START);
serveNodes((name) => (world?.networks as ReadonlyMap<string, Network> | undefined)?.get(name), time);
serveConnections((name) => world?.servers.get(name), time);
const began = stopwatch();
let taken = 0;
let longest = 0;
let faults = 0;
let runs = 0;
try {
  const wallet = await Wallet.open();
  time.install();
  for (let seed = from ?? 1; seed <= (to ?? from ?? 1) && stopwatch() < deadline; seed++) {
    time.reset(seed);
    const outcome = await simulate(
      seed,
      steps,
      time,
      wallet,
      join(folder, `${seed}`),
      (made) => {
        world = made;
      },
      { without, only, kind: values.kind as Kind },
    );
    taken += outcome.steps;
    longest = Math.max(longest, time.longestTurnMs);
    runs++;
    if (values.trail || outcome.fault !== null) {
      process.stdout.write(`${outcome.trail.slice(values.trail ? 0 : -TRAIL_SHOWN).join('\n')}\n`);
    }
    if (outcome.fault === null) continue;
    faults++;
    process.stdout.write(`seed ${seed}, step ${outcome.steps}: ${outcome.fault}\n`);
    process.stdout.write(`as a test, in test/simulation/seeds.ts: { seed: ${seed}, steps: ${steps} }\n`);
    if (!values['keep-going']) break;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const seconds = (stopwatch() - began) / 1_000;
process.stdout.write(
  `${runs} runs, ${taken} steps in ${seconds.toFixed(1)} s (${Math.round(taken / seconds)} a second), ${faults} faults; ` +
    `longest turn ${Math.round(longest)} ms of processor time\n`,
);
process.exit(faults > 0 ? 1 : 0);
