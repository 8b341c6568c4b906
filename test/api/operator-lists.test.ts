/** A list of invoices looks at no more than it says, however many there are. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { App } from '../../daemon/app/app.ts';
import { INVOICES_SCANNED_MAX, type InvoiceFilter, listInvoices } from '../../daemon/app/operator/invoices.ts';
import { findInvoices } from '../../daemon/app/operator/search.ts';
import type { Business } from '../../daemon/app/shops/directory.ts';
import { insertInvoice } from '../../daemon/store/queries/invoices.ts';
import { insertInvoiceLately } from '../../daemon/store/queries/listed.ts';
import { Store } from '../../daemon/store/store.ts';

const COUNT = 25_000;
/** Of 12.34: the newest, two of one step, and the oldest. */
const CHEAP = [25_000, 20_000, 19_999, 1];
const HOUR_MS = 3_600_000;
const EVERYTHING: InvoiceFilter = { business: null, status: null, orderId: null, limit: 50, before: null };

let store: Store;
beforeAll(async () => {
  store = await Store.inMemory();
  await store.write((tx) => {
    for (let id = 1; id <= COUNT; id++) {
      const invoice = {
        id,
        uuid: `uuid ${id}`,
        slug: `slug ${id}`,
        business_id: id % 100 === 0 ? 2 : 1,
        origin: 'merchant',
        amount: CHEAP.includes(id) ? 1_234_000_000n : 1n,
        tolerance: 0n,
        currency: id === CHEAP[1] ? 'EUR' : 'USD',
        crypto: 'ALL',
        // one near the end of each scanned stretch but the last
        status: id === 15_001 || id === 5_002 || id === 5_001 ? ('paid' as const) : ('unpaid' as const),
        due_at: 0,
        check_at: null,
        close_url: null,
        redirect_url: null,
        webhook_url: null,
        automatic_redirect: false,
        order_id: null,
        description: null,
        metadata: null,
        created_at: id * HOUR_MS,
        updated_at: 0,
      };
      tx.run(insertInvoice, invoice);
      tx.run(insertInvoiceLately, invoice);
    }
  });
});
afterAll(() => store.close());

async function page(filter: Partial<InvoiceFilter>) {
  const { lines, next } = await listInvoices({ store } as unknown as App, { ...EVERYTHING, ...filter });
  return { ids: lines.map(({ invoice }) => invoice.id), next };
}

describe('listInvoices', () => {
  it('gives the newest and where to go on', async () => {
    expect(await page({ limit: 3 })).toEqual({ ids: [25_000, 24_999, 24_998], next: 24_998 });
    expect(await page({ limit: 2, before: 3 })).toEqual({ ids: [2, 1], next: null });
    expect(await page({ before: 1 })).toEqual({ ids: [], next: null });
  });

  it('stops a search that finds little, at a place from which nothing is skipped', async () => {
    const first = await page({ status: 'paid' });
    expect(first).toEqual({ ids: [15_001], next: COUNT + 1 - INVOICES_SCANNED_MAX });
    const second = await page({ status: 'paid', before: first.next });
    expect(second).toEqual({ ids: [5_002, 5_001], next: 5_001 });
    expect(await page({ status: 'paid', before: second.next })).toEqual({ ids: [], next: null });
  });

  it('goes on within a stretch when a page is full', async () => {
    const first = await page({ status: 'paid', before: 15_001, limit: 1 });
    expect(first).toEqual({ ids: [5_002], next: 5_002 });
    expect(await page({ status: 'paid', before: first.next, limit: 1 })).toEqual({ ids: [5_001], next: 5_001 });
  });

  it('filters by business', async () => {
    const { ids, next } = await page({ business: { id: 2 } as Business, limit: 4, before: 1_000 });
    expect(ids).toEqual([900, 800, 700, 600]);
    expect(next).toBe(600);
  });

  it('filters by the time of making, and reads no more than what lies between', async () => {
    const business = { id: 1 } as Business;
    const days = { business, createdFrom: 2_998 * HOUR_MS + 1, createdTo: 3_002 * HOUR_MS };
    // 3,000 is of the other business
    expect(await page(days)).toEqual({ ids: [3_002, 3_001, 2_999], next: null });
    expect(await page({ ...days, limit: 2 })).toEqual({ ids: [3_002, 3_001], next: 3_001 });
    expect(await page({ ...days, limit: 2, before: 3_001 })).toEqual({ ids: [2_999], next: null });
    expect(await page({ business, createdTo: 0 })).toEqual({ ids: [], next: null });
    expect(await page({ business, createdFrom: (COUNT + 1) * HOUR_MS })).toEqual({ ids: [], next: null });
    expect(await page({ ...days, asset: 'BTC' })).toEqual({ ids: [], next: null });
  });

  it('is empty without invoices', async () => {
    const empty = await Store.inMemory();
    const found = await listInvoices({ store: empty } as unknown as App, EVERYTHING);
    expect(found).toEqual({ lines: [], next: null });
    await empty.close();
  });

  it('lets others in between: no slice holds the event loop for long', async () => {
    let turns = 0;
    const count = (): void => {
      turns++;
      if (running) setImmediate(count);
    };
    let running = true;
    setImmediate(count);
    await page({ status: 'canceled' });
    running = false;
    expect(turns).toBeGreaterThanOrEqual(4);
  });
});

describe('findInvoices by an amount', () => {
  const find = async (text: string, limit: number): Promise<number[]> => {
    const none = { all: () => [], accounts: () => [], businesses: () => [] };
    const { lines } = await findInvoices({ store, chains: none, directory: none } as unknown as App, text, limit);
    return lines.map(({ invoice }) => invoice.id);
  };

  it('finds all of them, newest first, however far apart', async () => {
    expect(await find('12.34', 10)).toEqual(CHEAP);
    expect(await find('12.34 usd', 10)).toEqual([25_000, 19_999, 1]);
    expect(await find('12.34 EUR', 10)).toEqual([20_000]);
    expect(await find('12.35', 10)).toEqual([]);
  });

  it('finds no more than asked for, and of a currency the newest', async () => {
    expect(await find('12.34', 2)).toEqual([25_000, 20_000]);
    expect(await find('12.34 EUR', 1)).toEqual([20_000]);
    expect(await find('12.34 USD', 2)).toEqual([25_000, 19_999]);
  });
});
