/** The limit of a client ID's addresses under callers who want all of them. */
import { beforeEach, describe, expect, it } from 'vitest';
import { withAddress } from '../../../daemon/app/addresses/pool.ts';
import { createInvoice } from '../../../daemon/app/invoices/invoices.ts';
import { requestPayment } from '../../../daemon/app/invoices/payments.ts';
import { readInvoice } from '../../../daemon/app/invoices/views.ts';
import { addClient } from '../../../daemon/app/shops/clients.ts';
import { networksOf } from '../../../daemon/http/limits.ts';
import { Bench } from './bench.ts';

const LIMIT = 200;
const MINUTE = 60_000;

let bench: Bench;
let clientId: number;

beforeEach(async () => {
  bench = await Bench.open('BTC', { 'browser.open_invoices_max': `${LIMIT}` });
  const { app } = bench;
  const business = app.directory.business(bench.businessId);
  const site = { name: 'website', origins: ['https://shop.example'], hosts: [] };
  clientId = (await app.store.write((tx) => addClient(app, tx, business, site))).id;
});

/** Asks for an address; returns its invoice's slug, or why there is none. */
async function ask(address: string): Promise<string> {
  const { app } = bench;
  const business = app.directory.business(bench.businessId);
  const terms = { amount: 10_000_000_000n, currency: 'USD', crypto: 'ALL', dueAt: null, closeUrl: null } as const;
  const browser = {
    redirectUrl: null,
    webhookUrl: null,
    automaticRedirect: false,
    origin: 'client',
    clientId,
  } as const;
  try {
    return await withAddress(app, (tx) => {
      const invoice = createInvoice(app, business, { ...terms, ...browser }, tx);
      requestPayment(app, business, invoice, () => 'BTC', tx, false, networksOf(address));
      return invoice.slug;
    });
  } catch (error) {
    return (error as Error).message;
  }
}

const isSlug = (text: string): boolean => /^[A-Za-z0-9]{12}$/.test(text);

/** How many these addresses get in turn, until none gets another, over so many minutes. */
async function fill(addresses: readonly string[], minutes: number): Promise<number> {
  let held = 0;
  for (let minute = 0; minute <= minutes; minute++) {
    let more = true;
    while (more) {
      more = false;
      for (const address of addresses) if (isSlug(await ask(address))) [held, more] = [held + 1, true];
    }
    bench.at += MINUTE;
    await bench.tell({ blocks: 0 });
  }
  return held;
}

const alone = (count: number): string[] => Array.from({ length: count }, (_, at) => `10.${at >> 8}.${at & 255}.1`);

describe('within fourteen minutes', () => {
  it.each([
    ['one address', alone(1), 20],
    ['ten addresses', alone(10), 110],
    ['a hundred addresses', alone(100), 190],
    ['ten /64 of one /56', Array.from({ length: 10 }, (_, at) => `2001:db8:1:10${at}::1`), 40],
    ['256 /64 of one /48', Array.from({ length: 256 }, (_, at) => `2001:db8:1:${at.toString(16)}00::1`), 60],
  ])('%s leave a place to another payer', async (_, addresses, most) => {
    expect(await fill(addresses, 14)).toBeLessThanOrEqual(most);
    expect(await ask('192.0.2.1')).toSatisfy(isSlug);
    expect(await ask('2001:db8:ffff::1')).toSatisfy(isSlug);
  });
});

it('addresses beyond a first one are given at a pace, and a first one is never held up', async () => {
  const first = await fill(alone(100), 0);
  // one each, and the pace of a minute: a fifteenth of the limit
  expect(first).toBe(100 + Math.ceil(LIMIT / 15));
  const further = Math.ceil(LIMIT / 15);
  for (let at = 0; at < further; at++) expect(await ask(`10.0.${at}.1`)).toSatisfy(isSlug);
  expect(await ask('192.0.2.1')).toSatisfy(isSlug);
  expect(await ask('192.0.2.1')).toBe('Too many open invoices from this address');
});

it('when it is full, those make room that nobody looks at, the oldest first', async () => {
  const slugs: string[] = [];
  for (const address of alone(LIMIT)) slugs.push(await ask(address));
  expect(slugs.every(isSlug)).toBe(true);
  expect(await ask('192.0.2.1')).toBe('This shop has too many open invoices at the moment');
  bench.at += 10 * MINUTE;
  for (const slug of slugs.slice(0, LIMIT - 2)) await readInvoice(bench.app, null, slug);
  bench.at += 6 * MINUTE;
  bench.rate('50000');
  await bench.tell({ blocks: 0 });
  expect(await ask('192.0.2.1')).toSatisfy(isSlug);
  const left = await Promise.all(slugs.map(async (slug) => (await readInvoice(bench.app, null, slug)).invoice.status));
  expect(left.map((status, at) => (status === 'canceled' ? at : -1)).filter((at) => at >= 0)).toEqual([
    LIMIT - 2,
    LIMIT - 1,
  ]);
});
