/** Addresses derived ahead with many businesses: an account that gave none away is not looked at. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { derive, takeAddress } from '../../../daemon/app/addresses/pool.ts';
import type { App } from '../../../daemon/app/app.ts';
import { addBusiness } from '../../../daemon/app/shops/businesses.ts';
import type { AccountKey } from '../../../daemon/domain/chain.ts';
import { poolAbove, poolSize } from '../../../daemon/store/queries/businesses.ts';
import { Jobs } from '../../../daemon/workers/jobs.ts';
import { until } from '../../support/daemon.ts';
import { Bench } from './bench.ts';

const BUSINESSES = 100;
const POOL = 40;
const TURNS = 2_000;

const addressNamed = (text: string) => ({ script: Buffer.from(text), address: text });
const keyOf = (name: string): AccountKey => ({ kind: 'secp256k1', publicKey: name, chainCode: '' });

/** Starts to fill pools. `asked`: the accounts whose pools were looked at; `most`: in one turn of the event loop. */
function filling(app: App): { jobs: Jobs; asked: number[]; most: () => number } {
  const jobs = new Jobs(app);
  app.wake.on({ pool: (account) => jobs.fill(account), business: () => jobs.fill() });
  const asked: number[] = [];
  let inTurn = 0;
  let most = 0;
  const get = app.store.get.bind(app.store);
  vi.spyOn(app.store, 'get').mockImplementation(((statement: unknown, given: { account_id: number }) => {
    if (statement === poolAbove) {
      asked.push(given.account_id);
      if (inTurn++ === 0) {
        setImmediate(() => {
          most = Math.max(most, inTurn);
          inTurn = 0;
        });
      }
    }
    return get(statement as typeof poolAbove, given as never);
  }) as typeof app.store.get);
  return { jobs, asked, most: () => most };
}

const take = (app: App, count: number): Promise<void> =>
  app.store.write((tx) => {
    const [own] = app.directory.accounts();
    for (let n = 1; n <= count; n++) takeAddress(app, own!, n, false, tx);
  });

it('only the accounts that gave addresses away are filled up, and all of them after a change of businesses', async () => {
  const bench = await Bench.open('BTC', { 'payments.address_pool': `${POOL}` });
  const { app } = bench;
  Object.assign(bench.chain.adapter, {
    deriveAddress: async ({ publicKey }: { publicKey: string }, branch: number, index: number) =>
      addressNamed(`${publicKey} ${branch} ${index}`),
  });
  for (let n = 1; n < BUSINESSES; n++) {
    const named = { name: `Shop ${n}`, network: 'mainnet', timeZone: 'UTC', accountNo: n, birthday: null } as const;
    await app.store.write((tx) => addBusiness(app, { ...named, accounts: { BTC: keyOf(`key ${n}`) } }, tx));
  }
  for (const account of app.directory.accounts()) await derive(app, account, POOL);
  const [own] = app.directory.accounts();
  const { jobs, asked, most } = filling(app);
  const ready = (): number => app.store.get(poolSize, { account_id: own!.id })?.ready ?? 0;
  jobs.fill();
  await until('every account was looked at twice', async () => asked.length >= 2 * BUSINESSES);
  expect(new Set(asked).size).toBe(BUSINESSES);
  expect(most()).toBeLessThanOrEqual(20);

  asked.length = 0;
  await take(app, ready());
  await until('the pool is full again', async () => ready() >= POOL && asked.length >= 2);
  expect(new Set(asked)).toEqual(new Set([own!.id]));

  // an address that is taken while a pass is under way
  asked.length = 0;
  await take(app, ready());
  const wanted = vi.spyOn(asked, 'push').mockImplementationOnce((...accounts) => {
    app.wake.pool(own!.id);
    wanted.mockRestore();
    return asked.push(...accounts);
  });
  await until('the account is looked at once more', async () => asked.length >= 4);
  expect(new Set(asked)).toEqual(new Set([own!.id]));

  asked.length = 0;
  app.wake.business();
  await until('every account was looked at again', async () => new Set(asked).size === BUSINESSES);
  await jobs.stop();
  vi.restoreAllMocks();
});

it("the account on the other chain with the same addresses is looked at, too: it lost the address's twin", async () => {
  const bench = await Bench.open('ETH', { 'payments.address_pool': `${POOL}` }, { also: ['BSC'] });
  const { app } = bench;
  const accounts = app.directory.accounts();
  for (const account of accounts) await derive(app, account, POOL);
  const { jobs, asked } = filling(app);
  jobs.fill();
  await until('both were looked at twice', async () => asked.length >= 4);
  asked.length = 0;
  await take(app, 1);
  await until('both are looked at', async () => new Set(asked).size === 2);
  expect(new Set(asked)).toEqual(new Set(accounts.map(({ id }) => id)));
  await jobs.stop();
  vi.restoreAllMocks();
});

describe('while more is given out than a pause allows', () => {
  let pauses: (() => void)[];
  beforeEach(() => {
    pauses = [];
    vi.stubGlobal('setTimeout', (over: () => void) => {
      pauses.push(over);
      return { unref: () => {} };
    });
  });
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  });

  /** Lets other work go on, for more turns than a look without a pause needs. */
  async function some(): Promise<void> {
    for (let n = 0; n < TURNS; n++) await new Promise(setImmediate);
  }
  const endPauses = (): void => pauses.splice(0).forEach((over) => void over());

  it('a pool is filled again at once, and looked at after a pause when it is full enough', async () => {
    const { app, chain } = await Bench.open('BTC', { 'payments.address_pool': `${POOL}` });
    chain.adapter.deriveAddress = async (_, branch, index) => addressNamed(`${branch} ${index}`);
    const [own] = app.directory.accounts();
    await derive(app, own!, POOL);
    const { jobs, asked } = filling(app);
    const ready = (): number => app.store.get(poolSize, { account_id: own!.id })?.ready ?? 0;
    await take(app, ready());
    await some();
    expect([ready(), asked]).toEqual([0, []]);
    endPauses();
    await some();
    expect(ready()).toBe(POOL);
    await take(app, ready());
    await some();
    expect([ready(), pauses.length]).toEqual([POOL, 0]);

    // the look after that found it full
    asked.length = 0;
    await take(app, 1);
    await some();
    expect([asked, pauses.length]).toEqual([[], 1]);
    endPauses();
    await some();
    expect(asked).toContain(own!.id);
    await jobs.stop();
  });
});
