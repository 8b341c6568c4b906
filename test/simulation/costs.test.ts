/**
 * An Electrum server that counts what a client costs, as ElectrumX does at its default limits, and 10,000 addresses: what is
 * asked for first, how long it takes and what is said of that, and that the server never ends the connection; and three of them. In the time of
 * the simulation, so that six days take seconds; this file has a process of its own.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { AccountDiscovery } from '../../daemon/app/recovery/account-discovery.ts';
import type { ChainAdapter, ScriptList } from '../../daemon/chains/adapter.ts';
import { ElectrumAdapter } from '../../daemon/chains/utxo/electrum/electrum.ts';
import { scriptHashOf } from '../../daemon/chains/utxo/electrum/histories/scripts.ts';
import type { AccountKey, Branch } from '../../daemon/domain/chain.ts';
import { Unavailable } from '../../daemon/domain/errors.ts';
import { hashOfId, Numbers } from '../adapters/numbers.ts';
import { ELECTRUMX_LIMITS } from '../nodes/cost-limit.ts';
import type { ElectrumServer } from '../nodes/electrum-server.ts';
import { hostOf, Served, serveConnections } from './electrum.ts';
import { Random } from './random.ts';
import { Time } from './time.ts';
import { Wallet } from './wallet.ts';
import { START, World } from './world.ts';

const SUBSCRIBE = 'blockchain.scripthash.subscribe';
const HISTORY = 'blockchain.scripthash.get_history';
const ADDRESSES = 10_000;
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Every timer fires by itself. */
const ALL = Number.POSITIVE_INFINITY;
const LATENCY_MS = 20;
/** Requests that are under way together come in any order. */
const TOGETHER = 512;
/** Addresses that a round looks at together. */
const PAGE = 10;
/** Its share of six days. */
const PAGE_MS = (PAGE / ADDRESSES) * 6 * DAY_MS;
/** The place of the address that is paid in the round. */
const AHEAD = 25;

const time = new Time(START);
let folder: string;
let wallet: Wallet;
let world: World;
let server: ElectrumServer;
/** By method: the script hashes that it was asked for, in order, and when. */
let asked: { method: string; hash: string; at: number }[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'costs-'));
  wallet = await Wallet.open();
  serveConnections((name) => world.servers.get(name), time);
  time.install();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeEach(async () => {
  time.reset(1);
  asked = [];
  // a seed whose only coin is BTC
  let seed = 1;
  do world = new World(seed++, time, wallet, join(folder, 'world'), 'electrum');
  while (world.coins.join() !== 'BTC');
  [server] = (await serve(1)) as [ElectrumServer];
});

/** Starts so many servers, each of another operator. */
async function serve(count: number): Promise<readonly ElectrumServer[]> {
  const near = Object.assign(new Random(1), { pick: () => LATENCY_MS, fraction: () => 0 });
  const served = await Served.start(world.network('BTC'), near, count, {
    costs: ELECTRUMX_LIMITS,
    behaviour: {
      answer: (method, [hash], honest) => {
        if (method.startsWith('blockchain.scripthash.')) asked.push({ method, hash: String(hash), at: time.monotonic });
        return honest();
      },
    },
  });
  world.servers.set('BTC', served);
  return served.servers;
}

/** Lets time pass until this is done. Returns its outcome. */
async function awaited<T>(work: Promise<T>): Promise<T> {
  let isOver = false;
  const over = (): void => {
    isOver = true;
  };
  work.then(over, over);
  while (!isOver) await time.advance(SECOND_MS, ALL);
  return work;
}

const askedFor = (method: string): string[] => asked.filter((one) => one.method === method).map(({ hash }) => hash);
const urlOf = (at: number): string => `tcp://${hostOf('BTC', at)}:50001`;

function adapterOf(list: ScriptList, log: (message: string) => void = () => {}, count = 1): ElectrumAdapter {
  const servers = Array.from({ length: count }, (_, at) => urlOf(at));
  return new ElectrumAdapter({ chain: 'BTC', network: 'regtest', folder, list, servers, log });
}

/** What the server has counted against the clients that it has, of its hard limit: at 1 it ends the connection. */
const costs = (): number => Math.max(...[...server.sessions].map((session) => session.costs?.most ?? 0));

it('subscribes the most urgent first, and says how long it takes', async () => {
  const list = new Numbers(ADDRESSES);
  const said: { at: number; minutes: number }[] = [];
  const adapter = adapterOf(list, (text) => {
    const minutes = /watches \d+ of 10000 addresses so far, (\d+) minutes to go/.exec(text)?.[1];
    if (minutes !== undefined) said.push({ at: time.monotonic, minutes: Number(minutes) });
  });
  await awaited(complete(adapter));
  const tookMs = time.monotonic;
  const order = [...new Set(askedFor(SUBSCRIBE))];
  expect(order).toHaveLength(ADDRESSES);
  // some are asked about again meanwhile
  expect(askedFor(SUBSCRIBE).length).toBeLessThan(1.1 * ADDRESSES);
  const places = new Map(order.map((hash, at) => [hash, at]));
  for (const [at, id] of list.expecting.entries())
    expect(Math.abs((places.get(hashOfId(id)) ?? -ADDRESSES) - at)).toBeLessThan(TOGETHER);
  // slowed down to a third of its limit, which on ElectrumX 1.16 takes some four minutes
  expect(costs()).toBeGreaterThan(0.2);
  expect(tookMs).toBeLessThan(10 * MINUTE_MS);
  expectTrue(said.filter(({ at }) => at > MINUTE_MS).map(({ at, minutes }) => [minutes * MINUTE_MS, tookMs - at]));
  expect(server.connections).toBe(1);
  await awaited(adapter.close());
});

it('asks the same server first while three are told of more and more', async () => {
  await serve(3);
  const adapter = adapterOf(new Numbers(ADDRESSES), () => {}, 3);
  const primaries = new Set<string>();
  let isOver = false;
  const work = complete(adapter).finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await time.advance(SECOND_MS, ALL);
    if (adapter.servers().some((one) => one.asked)) primaries.add(adapter.health().source);
  }
  await work;
  expect(time.monotonic).toBeGreaterThan(2 * MINUTE_MS);
  expect(time.monotonic).toBeLessThan(3 * MINUTE_MS);
  expect(primaries.size).toBe(1);
  await awaited(adapter.close());
});

/** What was said of the time left, and what it was: within a factor of two, to the minute. */
function expectTrue(said: readonly (readonly [number, number])[]): void {
  expect(said.length).toBeGreaterThan(5);
  for (const [told, left] of said) {
    expect(told).toBeGreaterThan(left / 2 - MINUTE_MS);
    expect(told).toBeLessThan(left * 2 + MINUTE_MS);
  }
}

async function complete(adapter: ChainAdapter): Promise<void> {
  const { signal } = new AbortController();
  const checkpoint = await adapter.begin(null, signal);
  for (;;) {
    try {
      if ((await adapter.sync(checkpoint, signal))?.mempool === 'complete') return;
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, SECOND_MS));
  }
}

type Place = [account: number, branch: Branch, index: number];

const GAP = 60;
const ACCOUNTS = 2;

it('searches the words where money is likely first, and subscribes nothing', async () => {
  const keys = Array.from({ length: ACCOUNTS }, (_, account) => wallet.account('BTC', account));
  const book = adapterOf(new Numbers(0));
  const scriptsOf = (places: readonly Place[]): Promise<Uint8Array[]> =>
    Promise.all(
      places.map(async ([account, branch, index]) => {
        const { script } = await book.deriveAddress(keys[account] as AccountKey, branch, index);
        return script;
      }),
    );
  // the first gap, around a use and a gap behind it, other accounts, behind one restore; and what is left
  const places = { first: [[0, 0, 5]], around: [[0, 0, GAP + 4]], other: [[1, 0, 3]], behind: [[0, 0, 10_000 + GAP]] };
  const likely = await scriptsOf(Object.values(places).flat() as Place[]);
  const rest = await scriptsOf([[1, 1, GAP - 2]]);
  const network = world.network('BTC');
  const outputs = [...likely, ...rest].map((one) => ({ units: 100_000n, script: Buffer.from(one).toString('hex') }));
  network.submit(network.write([network.payersCoin()], outputs, false));
  network.mine(1);
  await time.advance(SECOND_MS, ALL);

  const request = { network: 'regtest', birthday: 0, gap: GAP, jumps: 0, accounts: { BTC: keys } } as const;
  const discovery = new AccountDiscovery(request, (_, __, list) => adapterOf(list));
  const began = time.monotonic;
  const said: { at: number; ms: number }[] = [];
  let near: { at: number; asked: number } | null = null;
  while (discovery.state.running) {
    await time.advance(SECOND_MS, ALL);
    const [chain] = discovery.state.chains;
    if (chain?.near) near ??= { at: time.monotonic, asked: askedFor(HISTORY).length };
    const left = chain?.addresses?.seconds_left ?? null;
    if (left !== null) said.push({ at: time.monotonic, ms: left * SECOND_MS });
  }
  await awaited(discovery.done);
  const tookMs = time.monotonic - began;

  expect(discovery.state.error).toBeNull();
  expect(discovery.state.used).toEqual([
    { chain: 'BTC', account_no: 0, receiving: 10_000 + GAP, change: -1 },
    { chain: 'BTC', account_no: 1, receiving: 3, change: GAP - 2 },
  ]);
  const order = askedFor(HISTORY);
  expect(order.length).toBeGreaterThan(ADDRESSES);
  expect(new Set(order).size).toBe(order.length);
  const whenOf = (scripts: readonly Uint8Array[]) => scripts.map((script) => order.indexOf(scriptHashOf(script)));
  const [first, around, other, behind] = whenOf(likely) as [number, number, number, number];
  expect(first).toBeLessThan(2 * GAP * ACCOUNTS);
  expect(around).toBeLessThan(behind);
  expect(other).toBeLessThan(behind);
  expect(near?.asked).toBeGreaterThan(behind);
  for (const when of whenOf(rest)) expect(when).toBeGreaterThan(around);
  // the wallet can be used long before the end
  expect((near?.at ?? tookMs) - began).toBeLessThan(tookMs / 10);
  const second = said.filter(({ at }) => at - began > tookMs / 4);
  expectTrue(second.map(({ at, ms }) => [ms, began + tookMs - at]));
  expect(askedFor(SUBSCRIBE)).toEqual([]);
  expect(server.connections).toBe(1);
  await awaited(book.close());
});

it('finds and books money at an address that was given out long ago, when its turn comes', async () => {
  time.stepsMax = ALL;
  await world.startOn(world.newFolder());
  const birthday = new Date(START - 365 * DAY_MS).toISOString();
  await world.addBusiness({ birthday, gap: 1_000, used: { BTC: { receiving: 20, change: -1 } } });
  await passed(
    'the past is read',
    DAY_MS,
    async () => (await world.appliance.operator('wallet.discovery', {})).rescans.length === 0,
  );
  expect(new Set(asked.map(({ hash }) => hash)).size).toBeGreaterThan(ADDRESSES - 100);
  expect(costs()).toBeGreaterThan(0.2);
  expect(server.connections).toBe(1);

  await world.restart();
  const isFollowed = async () => [...server.sessions].some(({ subscriptions }) => subscriptions.size > 50);
  await passed('it is followed again', MINUTE_MS, isFollowed);
  // the round begins with the oldest ones: its turn comes after some others
  const script = wallet.script('BTC', 0, AHEAD);
  const hash = scriptHashOf(Buffer.from(script, 'hex'));
  const isWatched = () => [...server.sessions].some(({ subscriptions }) => subscriptions.has(hash));
  expect(isWatched()).toBe(false);
  const network = world.network('BTC');
  network.submit(network.write([network.payersCoin()], [{ units: 100_000n, script }], false));
  network.mine(3);
  const inbox = async () => (await world.appliance.operator('inbox.list', {})).items;
  await passed('it is booked', (AHEAD / PAGE + 2) * PAGE_MS, async () => (await inbox()).length > 0);
  expect(await inbox()).toMatchObject([{ chain: 'regtest:BTC', amount: '0.001', confirmed: true, block_height: 13 }]);
  // with news, it is watched like an open invoice's
  expect(isWatched()).toBe(true);
  expect(server.connections).toBe(2);
  world.appliance.crash();
});

/** The service works until this holds. */
async function passed(what: string, withinMs: number, holds: () => Promise<boolean>): Promise<void> {
  const end = time.monotonic + withinMs;
  while (!(await holds())) {
    if (time.monotonic > end) throw new Error(`it took too long until ${what}`);
    await world.appliance.pass(10 * SECOND_MS);
  }
}

it('looks at all within six days where each question makes news wait, and no faster', async () => {
  const adapter = adapterOf(new Numbers(0, ADDRESSES));
  await awaited(adapter.begin(null, new AbortController().signal));
  adapter.rescan();
  while (adapter.rescanning()) await time.advance(SECOND_MS, ALL);
  expect(new Set(askedFor(HISTORY)).size).toBe(ADDRESSES);
  const before = asked.length;
  // the round begins anew after half an hour
  await time.advance(HOUR_MS, ALL);
  const pages = asked.slice(before).filter((_, at) => at % PAGE === 0);
  expect(pages.length).toBeGreaterThan(3);
  for (const [i, { at }] of pages.slice(1).entries()) {
    expect(at - (pages[i]?.at ?? 0)).toBeLessThanOrEqual(PAGE_MS + SECOND_MS);
    expect(at - (pages[i]?.at ?? 0)).toBeGreaterThan(0.9 * PAGE_MS);
  }
  expect(server.connections).toBe(1);
  await awaited(adapter.close());
});
