/** Payment links under strangers who want all addresses of the shop: all links of a business share one limit. */
import { beforeEach, expect, it, vi } from 'vitest';
import { withAddress } from '../../../daemon/app/addresses/pool.ts';
import { decideInvoice, findInvoice } from '../../../daemon/app/invoices/invoices.ts';
import { requestPayment } from '../../../daemon/app/invoices/payments.ts';
import { readInvoice } from '../../../daemon/app/invoices/views.ts';
import { buy } from '../../../daemon/app/links/buy.ts';
import { addLink, findLink, viewOf } from '../../../daemon/app/links/links.ts';
import { networksOf } from '../../../daemon/http/limits.ts';
import { itemsOf } from '../../../daemon/store/queries/links.ts';
import { Bench, HOUR } from './bench.ts';

const LIMIT = 40;
const TEN = { amount: 1_000_000_000n, quantities: new Map<number, number>() };

let bench: Bench;
beforeEach(async () => {
  bench = await Bench.open('BTC', { 'browser.open_invoices_max': `${LIMIT}` });
  const wanted = { name: 'Tips', about: null, endsAt: null, least: null, suggested: [], items: [] };
  await bench.app.store.write((tx) => {
    const business = bench.app.directory.business(bench.businessId);
    for (const slug of ['one', 'two']) addLink(bench.app, tx, business, 'open', 'USD', slug, wanted);
  });
});

/** Asks for an address by a link; returns its invoice's slug, or why there is none. */
async function ask(link: string, address: string): Promise<string> {
  const { app } = bench;
  try {
    return await withAddress(app, (tx) => {
      const invoice = buy(app, tx, link, TEN);
      const business = app.directory.business(bench.businessId);
      requestPayment(app, business, invoice, () => 'BTC', tx, false, networksOf(address));
      return invoice.slug;
    });
  } catch (error) {
    return (error as Error).message;
  }
}

const isSlug = (text: string): boolean => /^[A-Za-z0-9]{12}$/.test(text);

it('give one address its share, by whatever link, and leave room for others', async () => {
  const got: string[] = [];
  for (let at = 0; at < 10; at++) got.push(await ask(at % 2 === 0 ? 'one' : 'two', '10.0.0.1'));
  const slugs = got.filter(isSlug);
  // a tenth of what is free
  expect(slugs).toHaveLength(4);
  expect(got.at(-1)).toBe('Too many open invoices from this address');
  expect(await ask('one', '10.0.0.2')).toSatisfy(isSlug);

  const invoice = findInvoice(bench.app.store, slugs[0]!);
  await bench.app.store.write((tx) => decideInvoice(bench.app, invoice, 'cancel', tx));
  expect(await ask('two', '10.0.0.1')).toSatisfy(isSlug);
});

it('give out no more addresses than the limit, and tell the merchant', async () => {
  let held = 0;
  for (let at = 0; at < 3 * LIMIT; at++) if (isSlug(await ask('one', `10.${at}.0.1`))) held += 1;
  expect(held).toBeLessThanOrEqual(LIMIT);
  expect(held).toBeGreaterThan(LIMIT / 2);
  expect(await ask('two', '203.0.113.1')).toBe('This shop has too many open invoices at the moment');
  await expect.poll(() => bench.alerts()).toEqual(['browser.full']);
});

it('are shown without a look at their sales where they have no items', async () => {
  const { app } = bench;
  expect(await ask('one', '10.0.0.1')).toSatisfy(isSlug);
  const link = findLink(app.store, 'one');
  const read = vi.spyOn(app.store, 'all');
  expect(viewOf(app, app.store, link)).toMatchObject({ items: [], state: 'open' });
  expect(read.mock.calls.map(([statement]) => statement)).toEqual([itemsOf]);
});

/** Makes a link of items, each with a stock, and returns their numbers. */
async function sell(...stocks: (number | null)[]): Promise<number[]> {
  const { app, businessId } = bench;
  const items = stocks.map((stock, at) => ({ id: null, name: `Item ${at}`, price: '20', stock }));
  const wanted = { name: 'Sale', about: null, endsAt: null, least: null, suggested: [], items };
  const { items: made } = await app.store.write((tx) =>
    addLink(app, tx, app.directory.business(businessId), 'items', 'USD', 'sale', wanted),
  );
  return made.map(({ id }) => id);
}

/** Orders so many of an item, and asks for an address; returns the invoice's slug, or why there is none. */
async function take(item: number, quantity: number, address: string): Promise<string> {
  const { app, businessId } = bench;
  const business = app.directory.business(businessId);
  const work = withAddress(app, (tx) => {
    const invoice = buy(app, tx, 'sale', { amount: null, quantities: new Map([[item, quantity]]) });
    requestPayment(app, business, invoice, () => 'BTC', tx, false, networksOf(address));
    return invoice.slug;
  });
  return work.catch((error: Error) => error.message);
}

/** The prices of all sales run out, and the next ones can be made. */
async function expire(): Promise<void> {
  bench.advance(2 * HOUR);
  bench.rate('60000');
  await bench.tell();
}

const SOLD_OUT = 'This is sold out, or there is not so much of it left';
const statusOf = (slug: string): string => findInvoice(bench.app.store, slug).status;
const left = (): (number | null)[] => {
  const { app } = bench;
  return viewOf(app, app.store, findLink(app.store, 'sale')).items.map(({ stock, taken }) => stock && stock - taken);
};

it('sell what nobody pays again, whatever was left of other items before', async () => {
  const [plenty, rare] = await sell(null, 1);
  const others: string[] = [];
  for (let at = 0; at < 12; at++) others.push(await take(plenty!, 1, `10.${at}.0.1`));
  const first = await take(rare!, 1, '10.20.0.1');
  expect(await take(rare!, 1, '10.21.0.1')).toBe(SOLD_OUT);
  await expire();
  expect(left()).toEqual([null, 1]);
  expect(await take(rare!, 1, '10.21.0.1')).toSatisfy(isSlug);
  expect([statusOf(first), ...others.map(statusOf)]).toEqual(['canceled', ...others.map(() => 'unpaid')]);
  expect(left()).toEqual([null, 0]);
});

it('end as many of such sales as one buyer needs', async () => {
  const [item] = await sell(12);
  const former: string[] = [];
  for (let at = 0; at < 12; at++) former.push(await take(item!, 1, `10.${at}.0.1`));
  await expire();
  expect(await take(item!, 13, '10.20.0.1')).toBe(SOLD_OUT);
  expect(await take(item!, 11, '10.20.0.1')).toSatisfy(isSlug);
  expect(former.map(statusOf)).toEqual([...new Array(11).fill('canceled'), 'unpaid']);
});

it('hold nothing longer because their page is open', async () => {
  const [item] = await sell(1);
  const first = await take(item!, 1, '10.1.0.1');
  bench.advance(HOUR + 1);
  bench.rate('60000');
  await bench.tell();
  const { payment } = await readInvoice(bench.app, null, first);
  expect(payment?.quoteEnded).toBe(false);
  expect(left()).toEqual([1]);
  expect(await take(item!, 1, '10.2.0.1')).toSatisfy(isSlug);
  expect(statusOf(first)).toBe('canceled');
});

it.each([
  ['a crumb', 99n, 'canceled', ['short']],
  ['a part of the price', 100n, 'unpaid', []],
])('and %s decides as it should about what they hold', async (_, tenthousandths, status, inbox) => {
  const [item] = await sell(1);
  const first = await take(item!, 1, '10.1.0.1');
  const { target_id, quote_amount } = bench.payment(findInvoice(bench.app.store, first).id);
  const units = (quote_amount * tenthousandths) / 10_000n + 1n;
  await bench.tell({ blocks: 1, credits: () => [bench.credit(target_id, units, 0)] });
  expect(left()).toEqual([0]);
  await expire();
  expect(await take(item!, 1, '10.2.0.1')).toSatisfy((text: string) => isSlug(text) === (status === 'canceled'));
  expect(statusOf(first)).toBe(status);
  expect(bench.inbox().map(({ reason }) => reason)).toEqual(inbox);
});

it('keep what they hold while the worth of their money is not known', async () => {
  const [item] = await sell(1);
  const first = await take(item!, 1, '10.1.0.1');
  const { target_id } = bench.payment(findInvoice(bench.app.store, first).id);
  bench.advance(2 * HOUR);
  await bench.tell({ blocks: 1, credits: () => [bench.credit(target_id, 1_000n, 0)] });
  expect(bench.row(`tx${target_id}:0`).value).toBeNull();
  expect(left()).toEqual([0]);
});

it('keep what they hold for the price that they were given, though prices hold for less since', async () => {
  const [item] = await sell(1);
  const first = await take(item!, 1, '10.1.0.1');
  const { config } = bench.app;
  Object.assign(bench.app, { config: { ...config, payments: { ...config.payments, quoteMinutes: 1 } } });
  bench.advance(2 * 60_000);
  bench.rate('60000');
  await bench.tell();
  expect(left()).toEqual([0]);
  expect(await take(item!, 1, '10.2.0.1')).toBe(SOLD_OUT);
  expect(statusOf(first)).toBe('unpaid');
});
