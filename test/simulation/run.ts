/** Runs the simulator: see USAGE in options.ts, which `npm run simulate -- --help` prints. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ACTIONS as ACCOUNT_ACTIONS, simulateAccounts } from './accounts/simulation.ts';
import type { AccountWorld } from './accounts/world.ts';
import { buryRest, Crashed } from './appliance.ts';
import { serveConnections } from './electrum.ts';
import { serveHosts } from './http.ts';
import { ACTIONS as MONERO_ACTIONS, simulateMonero } from './monero/simulation.ts';
import type { MoneroWorld } from './monero/world.ts';
import type { Network } from './network.ts';
import { type Options, optionsOf, rowText, USAGE, unknownNames, WrongOption } from './options.ts';
import { hostOfNode } from './rpc.ts';
import { type Kind, ROW_OVER, type Row } from './seeds.ts';
import { ACTIONS, type Choice, simulate } from './simulation.ts';
import { stopwatch, Time } from './time.ts';
import { Wallet } from './wallet.ts';
import { START, type World } from './world.ts';

const TRAIL_SHOWN = 60;

function actionsOf(kind: Kind): string[] {
  const actions = kind === 'accounts' ? ACCOUNT_ACTIONS : kind === 'monero' ? MONERO_ACTIONS : ACTIONS;
  return actions.map(([, name]) => name);
}

/** Ends the process for a command line that runs nothing. */
function commandLine(): Options {
  try {
    const options = optionsOf(process.argv.slice(2));
    if (options) {
      const { only, also, without, kind } = options;
      const [unknown] = unknownNames(`${only},${also},${without}`, actionsOf(kind));
      if (unknown === undefined) return options;
      throw new WrongOption(`"${unknown}" is no action of this kind; these are: ${actionsOf(kind).join(', ')}`);
    }
    process.stdout.write(USAGE);
    process.exit(0);
  } catch (error) {
    if (!(error instanceof WrongOption)) throw error;
    process.stderr.write(`${error.message}\n\n${USAGE}`);
    process.exit(2);
  }
}

const values = commandLine();
/** Of the command line: the rows that it names, or a range of seeds. */
function* asked(): Generator<Row & { only?: string }> {
  if (values.rows) {
    yield* values.rows;
    return;
  }
  const { seeds, steps, kind, only, also, without } = values;
  for (let seed = seeds.from; seed <= seeds.to; seed++) yield { seed, steps, kind, only, also, without };
}

function choiceOf({
  only: onlyThese = '',
  also = '',
  without: left = '',
  kind = 'any',
}: Row & { only?: string }): Choice {
  /** By name, with another weight where one is given: `mine:20`. */
  const only = new Map(
    [...onlyThese.split(','), ...also.split(',')].map((text) => {
      const [name = '', weight] = text.split(':');
      return [name, weight] as const;
    }),
  );
  const others = onlyThese === '' ? [] : actionsOf(kind).filter((name) => !only.has(name));
  return { only, without: new Set([...left.split(','), ...others]), kind };
}
const deadline = stopwatch() + values.minutes * 60_000;

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
let accounts: AccountWorld | null = null;
let monero: MoneroWorld | null = null;
const time = new Time(START);
serveHosts((name) => {
  const endpoint = accounts?.host(name) ?? monero?.host(name);
  if (endpoint) return endpoint;
  const network = (world?.networks as ReadonlyMap<string, Network> | undefined)?.get(name.toUpperCase());
  return network && hostOfNode(network);
}, time);
serveConnections((name) => world?.servers.get(name), time);
const began = stopwatch();
let taken = 0;
let longest = 0;
let longestWrites = 0;
let faults = 0;
let runs = 0;
try {
  const wallet = await Wallet.open();
  time.install();
  for (const row of asked()) {
    if (stopwatch() >= deadline) break;
    const { seed, steps } = row;
    time.reset(seed);
    const connect = (made: World): void => {
      world = made;
    };
    const connectAccounts = (made: AccountWorld): void => {
      accounts = made;
    };
    const connectMonero = (made: MoneroWorld): void => {
      monero = made;
    };
    const place = join(folder, `${runs}`);
    const outcome =
      row.kind === 'accounts'
        ? await simulateAccounts(seed, steps, time, wallet, place, connectAccounts, choiceOf(row))
        : row.kind === 'monero'
          ? await simulateMonero(seed, steps, time, wallet, place, connectMonero, choiceOf(row))
          : await simulate(seed, steps, time, wallet, place, connect, choiceOf(row));
    await buryRest();
    taken += outcome.steps;
    longest = Math.max(longest, time.longestTurnMs);
    longestWrites = Math.max(longestWrites, time.longestWritesMs);
    runs++;
    if (values.trail || outcome.fault !== null) {
      process.stdout.write(`${outcome.trail.slice(values.trail ? 0 : -TRAIL_SHOWN).join('\n')}\n`);
    }
    if (outcome.fault !== null) {
      faults++;
      process.stdout.write(`seed ${seed}, step ${outcome.steps}: ${outcome.fault}\n`);
      process.stdout.write(`as a test, in test/simulation/seeds.ts: ${rowText(row)}\n`);
    }
    if (values.rows) process.stdout.write(ROW_OVER);
    else if (outcome.fault !== null && !values.keepGoing) break;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const seconds = (stopwatch() - began) / 1_000;
process.stdout.write(
  `${runs} runs, ${taken} steps in ${seconds.toFixed(1)} s (${Math.round(taken / seconds)} a second), ${faults} faults; ` +
    `longest turn ${Math.round(longest)} ms of processor time, its writes ${Math.round(longestWrites)} ms\n`,
);
process.exit(faults > 0 ? 1 : 0);
