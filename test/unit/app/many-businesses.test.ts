/** A thousand businesses: the next one is refused, and what looks at each of them leaves turns to requests. */
import { afterEach, expect, it, vi } from 'vitest';
import type { App } from '../../../daemon/app/app.ts';
import { tellInbox } from '../../../daemon/app/notifications/inbox-deposits.ts';
import { findInvoices } from '../../../daemon/app/operator/search.ts';
import { tellWaiting } from '../../../daemon/app/operator/watchdog.ts';
import { addBusiness } from '../../../daemon/app/shops/businesses.ts';
import { BUSINESSES_MAX } from '../../../daemon/app/shops/directory.ts';
import { insertBusiness } from '../../../daemon/store/queries/businesses.ts';
import { Bench } from './bench.ts';

/** Five times what a turn of twenty businesses takes, and a twentieth of what all take. */
const STATEMENTS_IN_A_TURN_MAX = 200;

afterEach(() => void vi.restoreAllMocks());

const add = (app: App, accountNo: number): Promise<number> =>
  app.store.write((tx) =>
    addBusiness(
      app,
      { name: `New ${accountNo}`, network: 'mainnet', timeZone: 'UTC', accountNo, birthday: null, accounts: {} },
      tx,
    ),
  );

/** A program with as many businesses as there may be, less one. */
async function almostAll(): Promise<App> {
  const { app } = await Bench.open('BTC');
  await app.store.write((tx) => {
    for (let n = app.directory.businesses().length; n < BUSINESSES_MAX - 1; n++) {
      const named = { uuid: `many-${n}`, name: `Shop ${n}`, network: 'mainnet' as const, time_zone: 'UTC' };
      tx.run(insertBusiness, { ...named, account_no: n, created_at: app.now() });
    }
  });
  app.directory.load(app.store);
  return app;
}

/** The most statements that ran in one turn of the event loop while `work` ran. */
async function mostInATurn(app: App, work: () => Promise<unknown>): Promise<{ most: number; all: number }> {
  let [inTurn, most, all] = [0, 0, 0];
  const count = (): void => {
    all++;
    if (inTurn++ === 0) setImmediate(() => (inTurn = 0));
    most = Math.max(most, inTurn);
  };
  for (const name of ['get', 'all'] as const) {
    const real = app.store[name].bind(app.store) as (...given: never[]) => unknown;
    vi.spyOn(app.store, name).mockImplementation(((...given: never[]) => {
      count();
      return real(...given);
    }) as never);
  }
  await work();
  return { most, all };
}

it('a thousand may be added, and no further one', async () => {
  const app = await almostAll();
  expect(app.directory.businesses()).toHaveLength(999);
  await add(app, 999);
  expect(app.directory.businesses()).toHaveLength(1_000);
  await expect(add(app, 1_000)).rejects.toMatchObject({ code: 'business.too_many' });
});

it.each([
  ['withdrawals that wait', (app: App) => tellWaiting(app)],
  ['deposits to decide', (app: App) => tellInbox(app)],
  ['an invoice by its reference', (app: App) => findInvoices(app, 'order 17', 10)],
])('%s are looked for in turns', async (_, look) => {
  const app = await almostAll();
  const { most, all } = await mostInATurn(app, () => look(app));
  expect(all).toBeGreaterThanOrEqual(999);
  expect(most).toBeLessThanOrEqual(STATEMENTS_IN_A_TURN_MAX);
});
