/** A clock that is behind what has passed already: it is told, nothing new begins under it, and nothing ends by it later. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cancelForgotten } from '../../../daemon/app/invoices/invoices.ts';
import { refreshQuote } from '../../../daemon/app/invoices/payments.ts';
import { forgetOldReceipts } from '../../../daemon/app/notifications/receipts.ts';
import { markSeen } from '../../../daemon/app/operator/lists.ts';
import { tellClock } from '../../../daemon/app/operator/watchdog.ts';
import { BLOCK_TIME_AHEAD_MAX_MS } from '../../../daemon/domain/chain.ts';
import { openAlerts } from '../../../daemon/store/queries/effects.ts';
import { addRequest, requestsOfBusiness } from '../../../daemon/store/queries/receipts.ts';
import { saveSetting } from '../../../daemon/store/queries/settings.ts';
import { Bench, HOUR } from './bench.ts';

const DAY = 24 * HOUR;
let bench: Bench;
let right: number;

beforeEach(async () => {
  bench = await Bench.open();
  right = bench.at;
});
afterEach(() => bench.app.store.close());

const stamp = (at: number) =>
  bench.app.store.write((tx) =>
    tx.run(saveSetting, { key: 'instance', value: JSON.stringify({ at }), updated_at: bench.at }),
  );
const blocksAt = (at: number | null) => {
  bench.chain.latestNow = at === null ? null : at + BLOCK_TIME_AHEAD_MAX_MS;
};
const sourcesSay = (aheadMs: number) => {
  const { otherClocks } = bench.app.rates;
  for (const name of ['a', 'b', 'c']) otherClocks.note(name, new Date(bench.at - aheadMs).toUTCString(), bench.at);
};
/** Chains and rates are as recent as the clock says, so that only the clock can be why nothing is taken. */
const synced = () => {
  bench.chain.syncedAt = bench.at;
  bench.rate('60000');
};
const alerts = () => bench.app.store.all(openAlerts, { rank: 0, id: 2 ** 40, limit: 9 });
const told = async () => {
  await tellClock(bench.app);
  return alerts().map(({ kind, message }) => `${kind} ${message.code}`);
};
const taken = async () => {
  synced();
  return bench.invoice({ dueAt: bench.at + HOUR }).then(
    () => 'taken',
    (error: Error) => error.message,
  );
};
const WAITS = 'New invoices wait until the clock of this service is set: it is far behind';

describe('a clock that is behind', () => {
  it.each([
    ['by 50 minutes of the stamp', { behind: HOUR - 600_000, code: null, answer: 'taken' }],
    ['by two hours', { behind: 2 * HOUR, code: 'clock.behind_books', answer: 'taken' }],
    ['by a day', { behind: DAY, code: 'clock.behind_books', answer: WAITS }],
    ['since 1970', { behind: Date.UTC(2026, 0, 1), code: 'clock.behind_program', answer: WAITS }],
  ])('%s', async (_, { behind, code, answer }) => {
    await stamp(right);
    bench.at = right - behind;
    expect([await told(), await taken()]).toEqual([code === null ? [] : [`clock.wrong ${code}`], answer]);
    bench.at = right + 60_000;
    expect([await told(), await taken()]).toEqual([[], 'taken']);
  });

  it('of the newest invoice, where no stamp was made yet', async () => {
    await bench.invoice();
    bench.at = right - DAY;
    expect([await told(), await taken()]).toEqual([['clock.wrong clock.behind_books'], WAITS]);
  });

  it('of the newest blocks', async () => {
    blocksAt(right);
    bench.at = right - DAY;
    expect([await told(), await taken()]).toEqual([['clock.wrong clock.behind_blocks'], WAITS]);
    blocksAt(right + HOUR);
    expect(await told()).toEqual(['clock.wrong clock.behind_blocks']);
    expect(alerts()[0]!.message.values.known).toContain(new Date(right + HOUR).toISOString());
  });

  it('of three rate sources', async () => {
    sourcesSay(-DAY);
    expect([await told(), await taken()]).toEqual([['clock.wrong clock.behind'], WAITS]);
  });

  it('in 1970 makes no invoice that is canceled once it is set right', async () => {
    await stamp(right);
    bench.at = 30_000;
    expect(await taken()).toBe(WAITS);
    bench.at = right;
    expect(await bench.app.store.write((tx) => cancelForgotten(bench.app, tx))).toBe(0);
  });

  it('gives a payment no new quote', async () => {
    const { id } = await bench.invoice();
    await stamp(right + DAY);
    const business = bench.app.directory.business(bench.businessId);
    bench.at = right + HOUR;
    synced();
    const before = bench.payment(id);
    await bench.app.store.write((tx) => refreshQuote(bench.app, business, id, tx));
    expect(bench.payment(id)).toEqual(before);
    blocksAt(right);
    await bench.app.store.write((tx) => refreshQuote(bench.app, business, id, tx));
    expect(bench.payment(id).quote_issued_at).toBe(right + HOUR);
  });
});

describe('a clock that was ahead, and is right again', () => {
  beforeEach(() => stamp(right + 40 * DAY));

  it('is vouched for by the newest blocks', async () => {
    blocksAt(right - HOUR);
    expect([await told(), await taken()]).toEqual([[], 'taken']);
  });

  it('is vouched for by three rate sources', async () => {
    sourcesSay(1_000);
    expect([await told(), await taken()]).toEqual([[], 'taken']);
  });

  it('is left as it is by an operator who has seen the alert, until the books know more', async () => {
    expect([await told(), await taken()]).toEqual([['clock.wrong clock.behind_books'], WAITS]);
    const { id } = alerts()[0]!;
    expect(await bench.app.store.write((tx) => markSeen(bench.app, [id], tx))).toBe(1);
    expect([await told(), await taken()]).toEqual([[], 'taken']);
    await stamp(right + 41 * DAY);
    expect([await told(), await taken()]).toEqual([['clock.wrong clock.behind_books'], WAITS]);
  });

  it('forgets who asked for receipts while it was ahead', async () => {
    const { store } = bench.app;
    const asked = (at: number) =>
      store.write((tx) => tx.run(addRequest, { at, business_id: bench.businessId, address: `${at}` }));
    await asked(right + 3_650 * DAY);
    await asked(right - HOUR);
    await store.write((tx) => forgetOldReceipts(bench.app, tx));
    const left = store.all(requestsOfBusiness, { business_id: bench.businessId, since: 0, limit: 9 });
    expect(left).toHaveLength(1);
  });
});

it('is believed as far as the newest blocks of any chain that is used allow, and not before one was read', async () => {
  const two = await Bench.open('BTC', {}, { also: ['LTC'] });
  const { chains } = two.app;
  const [btc, ltc] = chains.all();
  if (!btc || !ltc) throw new Error('two chains');
  const believed = (latest: [number | null, number | null], syncs: [number, number], dormant: [boolean, boolean]) => {
    for (const [at, chain] of [btc, ltc].entries()) {
      Object.assign(chain, { latestNow: latest[at], syncs: syncs[at], dormant: dormant[at] });
    }
    return [chains.credibleNow(6), chains.credibleNow(10)];
  };
  expect(believed([5, 7], [1, 1], [false, false])).toEqual([6, 7]);
  expect(believed([5, null], [1, 1], [false, false])).toEqual([5, 5]);
  expect(believed([null, null], [0, 1], [false, false])).toEqual([6, 10]);
  expect(believed([null, null], [0, 0], [false, false])).toEqual([0, 0]);
  expect(believed([null, null], [0, 0], [false, true])).toEqual([0, 0]);
  expect(believed([null, null], [0, 0], [true, true])).toEqual([6, 10]);
});
