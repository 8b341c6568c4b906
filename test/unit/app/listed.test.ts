/** The lists of a business's invoices, which are complete whether new ones were added to the tables on the disk or are in memory alone. */
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openAddresses } from '../../../daemon/app/addresses/given.ts';
import { bookInvoices } from '../../../daemon/app/books/lists.ts';
import { listInvoicesMade } from '../../../daemon/app/invoices/listed.ts';
import { listInvoices, sumInvoices } from '../../../daemon/app/operator/invoices.ts';
import { findInvoices } from '../../../daemon/app/operator/search.ts';
import { LISTED_SETTING, rememberLately } from '../../../daemon/store/lately.ts';
import { MIGRATIONS, migrate } from '../../../daemon/store/migrations.ts';
import { insertBusiness } from '../../../daemon/store/queries/businesses.ts';
import {
  type InvoiceRow,
  insertInvoice,
  invoiceById,
  setInvoiceStatus,
} from '../../../daemon/store/queries/invoices.ts';
import { insertInvoiceLately, invoicesLatelyAbove, listedBehind } from '../../../daemon/store/queries/listed.ts';
import { settingOf } from '../../../daemon/store/queries/settings.ts';
import { sqlite, statement } from '../../../daemon/store/statement.ts';
import { Jobs } from '../../../daemon/workers/jobs.ts';
import { Bench } from './bench.ts';

const onDisk = statement((_: Record<never, never>) => sqlite.selectFrom('invoice_listed').selectAll());
const ordersOnDisk = statement((_: Record<never, never>) => sqlite.selectFrom('invoice_ordered').selectAll());
const NO_FILTER = { status: null, orderId: null, crypto: null, from: null, to: null, limit: 3, after: null };

type Made = { id: number; business: number; at: number; order: string | null; status: InvoiceRow['status'] };

/** Three businesses, and the row of an invoice to make others of. */
class Shops {
  bench: Bench;
  readonly row: InvoiceRow;
  readonly made: Made[] = [];

  private constructor(bench: Bench, row: InvoiceRow) {
    this.bench = bench;
    this.row = row;
    this.made.push({ id: row.id, business: row.business_id, at: row.created_at, order: null, status: 'unpaid' });
  }

  static async open(): Promise<Shops> {
    const bench = await Bench.open('BTC');
    const { id } = await bench.invoice();
    await bench.app.store.write((tx) => {
      for (const n of [2, 3]) {
        const named = { uuid: `other-${n}`, name: `Shop ${n}`, network: 'mainnet' as const, time_zone: 'UTC' };
        tx.run(insertBusiness, { ...named, account_no: n, created_at: bench.at });
      }
    });
    bench.app.directory.load(bench.app.store);
    return new Shops(bench, bench.app.store.get(invoiceById, { id })!);
  }

  business(n: number) {
    return this.bench.app.directory.businesses()[n]!;
  }

  async add(n: number, at: number, order: string | null, status: InvoiceRow['status'] = 'unpaid'): Promise<number> {
    const id = this.made.length + 1;
    const business = this.business(n).id;
    const row = { ...this.row, id, uuid: `u${id}`, slug: `s${id}`, business_id: business, order_id: order };
    await this.bench.app.store.write((tx) => {
      tx.run(insertInvoice, { ...row, created_at: at, status: 'unpaid' });
      tx.run(insertInvoiceLately, { ...row, created_at: at });
      if (status !== 'unpaid') tx.run(setInvoiceStatus, { id, status, updated_at: at });
    });
    this.made.push({ id, business, at, order, status });
    return id;
  }

  /** The same service after it was killed. */
  async crash(): Promise<void> {
    const { app, at } = this.bench;
    const next = await Bench.revive(app.store.content(), at, 'BTC', {}, {});
    await app.store.close();
    next.app.directory.load(next.app.store);
    this.bench = next;
  }

  enter(stopped = () => false): Promise<void> {
    return listInvoicesMade(this.bench.app, stopped);
  }

  /** What every page of the shop's list has. */
  async listed(n: number, filter: Partial<Parameters<typeof bookInvoices>[2]> = {}): Promise<number[]> {
    const ids: number[] = [];
    let after: { at: number; id: number } | null = null;
    do {
      const page = await bookInvoices(this.bench.app, this.business(n), { ...NO_FILTER, ...filter, after });
      ids.push(...page.rows.map(({ invoice }) => invoice.id));
      after = page.next;
    } while (after);
    return ids;
  }

  /** What they should have. */
  expected(n: number, wanted: (one: Made) => boolean = () => true): number[] {
    const { id } = this.business(n);
    return this.made
      .filter((one) => one.business === id && wanted(one))
      .sort((a, b) => b.at - a.at || b.id - a.id)
      .map((one) => one.id);
  }
}

let shops: Shops;
beforeEach(async () => {
  shops = await Shops.open();
});
afterEach(() => shops.bench.app.store.close());

describe('a new invoice', () => {
  it('is in the lists of its business before it is in the tables for them, and after', async () => {
    const at = shops.bench.at + 1;
    const id = await shops.add(0, at, 'A-1');
    const look = async (): Promise<unknown[]> => [
      await shops.listed(0),
      await shops.listed(0, { orderId: 'A-1' }),
      (await findInvoices(shops.bench.app, 'A-1', 5)).lines.map(({ invoice }) => invoice.id),
    ];
    expect(shops.bench.app.store.all(onDisk, {})).toEqual([]);
    const before = await look();
    expect(before).toEqual([[id, 1], [id], [id]]);
    await shops.enter();
    const { store } = shops.bench.app;
    const business_id = shops.business(0).id;
    expect(store.all(onDisk, {})).toEqual([
      { business_id, created_at: at - 1, id: 1 },
      { business_id, created_at: at, id },
    ]);
    expect(store.all(ordersOnDisk, {})).toEqual([{ business_id, order_id: 'A-1', created_at: at, id }]);
    expect(store.get(invoicesLatelyAbove, { above: 0 })).toBeUndefined();
    expect(store.get(settingOf, { key: LISTED_SETTING })).toEqual({ value: `${id}` });
    expect(await look()).toEqual(before);
  });

  it('is added by the jobs of every minute', async () => {
    const jobs = new Jobs(shops.bench.app);
    await jobs.minute();
    await jobs.stop();
    expect(shops.bench.app.store.all(onDisk, {})).toMatchObject([{ id: 1 }]);
  });

  it('whose write throws is in no list', async () => {
    const { store } = shops.bench.app;
    const failing = store.write((tx) => {
      tx.run(insertInvoiceLately, { ...shops.row, id: 9 });
      throw new Error('after it was remembered');
    });
    await expect(failing).rejects.toThrow('after it was remembered');
    await shops.enter();
    expect(await shops.listed(0)).toEqual([1]);
  });
});

it('no list lacks an invoice or has it twice, whatever comes between: crashes, adding that is cut off, a clock that goes back', async () => {
  const { at: start } = shops.bench;
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ business: fc.nat(2), ms: fc.nat(5), order: fc.constantFrom(null, 'A', 'B') }) },
    { weight: 1, arbitrary: fc.constantFrom('crash' as const, 'enter' as const, 'half' as const) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.nat(5), fc.nat(5), async (steps, from, to) => {
      const before = shops;
      shops = await Shops.open();
      await before.bench.app.store.close();
      for (const what of steps) {
        if (what === 'crash') await shops.crash();
        else if (what === 'enter') await shops.enter();
        else if (what === 'half') {
          let asked = 0;
          await shops.enter(() => asked++ > 0);
        } else await shops.add(what.business, start + what.ms, what.order);
      }
      const between = { from: start + from, to: start + to };
      for (const n of [0, 1, 2]) {
        expect(await shops.listed(n)).toEqual(shops.expected(n));
        expect(await shops.listed(n, { orderId: 'A' })).toEqual(shops.expected(n, ({ order }) => order === 'A'));
        expect(await shops.listed(n, between)).toEqual(
          shops.expected(n, ({ at }) => at >= between.from && at < between.to),
        );
      }
    }),
    { numRuns: 15 },
  );
});

it('adding that was cut off after its first part goes on after a crash, and adds none twice', async () => {
  for (let n = 0; n < 450; n++) await shops.add(n % 3, shops.bench.at + n, null);
  let asked = 0;
  await shops.enter(() => asked++ > 0);
  expect(shops.bench.app.store.all(onDisk, {})).toHaveLength(200);
  await shops.crash();
  expect(await shops.listed(1)).toEqual(shops.expected(1));
  await shops.enter();
  expect(shops.bench.app.store.all(onDisk, {})).toHaveLength(451);
  expect(await shops.listed(2)).toEqual(shops.expected(2));
});

it('the sum of the paid ones has those that are in memory', async () => {
  const { at } = shops.bench;
  await shops.add(1, at, null, 'paid');
  await shops.enter();
  await shops.add(1, at + 1, null, 'paid');
  await shops.add(1, at + 2, null, 'canceled');
  await shops.add(1, at + 3, null, 'paid');
  await shops.add(2, at + 1, null, 'paid');
  expect(sumInvoices(shops.bench.app, shops.business(1), at, at + 2)).toEqual({
    payments: 2,
    amounts: [{ currency: shops.row.currency, amount: 2n * shops.row.amount }],
    whole: true,
  });
});

describe('the unpaid ones of a business', () => {
  const unpaid = async (n: number, limit: number, before: number | null = null) => {
    const filter = { business: shops.business(n), status: 'unpaid' as const, orderId: null, limit, before };
    const { lines, next } = await listInvoices(shops.bench.app, filter);
    return [lines.map(({ invoice }) => invoice.id), next];
  };

  it('are found beside thousands of others, in pages', async () => {
    const { at } = shops.bench;
    const old = [await shops.add(1, at, null), await shops.add(1, at, null), await shops.add(1, at, null, 'paid')];
    const { store } = shops.bench.app;
    await store.write((tx) => {
      for (let id = 5; id <= 2_600; id++) tx.run(insertInvoice, { ...shops.row, id, uuid: `v${id}`, slug: `t${id}` });
      tx.run(insertInvoice, { ...shops.row, id: 2_601, uuid: 'n', slug: 'n', business_id: shops.business(1).id });
    });
    expect(await unpaid(1, 10)).toEqual([[2_601, old[1], old[0]], null]);
    expect(await unpaid(1, 2)).toEqual([[2_601, old[1]], old[1]]);
    expect(await unpaid(1, 2, old[1])).toEqual([[old[0]], null]);
    expect(await unpaid(2, 2)).toEqual([[], null]);
    expect((await unpaid(0, 1_500))[0]).toHaveLength(1_500);
  });
});

it('a computer at home is shown the unpaid ones of all businesses in pages, without those of the sandbox', async () => {
  const { app, at } = shops.bench;
  await app.store.write((tx) => {
    const named = { uuid: 'sandbox', name: 'Sandbox', network: 'sandbox' as const, time_zone: 'UTC', account_no: 9 };
    tx.run(insertBusiness, { ...named, created_at: at });
  });
  app.directory.load(app.store);
  // none of these has a payment
  const [other] = [await shops.add(1, at, null), await shops.add(3, at, null), await shops.add(2, at, null, 'paid')];
  const first = openAddresses(app, Number.MAX_SAFE_INTEGER, 1);
  expect(first).toEqual({ open: [], next: other });
  const second = openAddresses(app, first.next!, 1);
  expect(second.open.map(({ invoice }) => invoice)).toEqual([shops.row.slug]);
  expect(openAddresses(app, second.next!, 1)).toEqual({ open: [], next: null });
});

it('the invoices of an earlier release are in the tables already', () => {
  const db = new Database(':memory:');
  migrate(
    db,
    MIGRATIONS.filter(([name]) => name < '0088'),
  );
  for (const [id, business, at, order] of [
    [1, 7, 50, 'A'],
    [2, 8, 60, null],
    [3, 7, 40, null],
  ]) {
    db.prepare(
      `INSERT INTO invoice (id, uuid, slug, business_id, origin, amount, tolerance, currency, crypto, status, due_at, automatic_redirect,
         created_at, updated_at, order_id)
       VALUES (@id, @id || '', @id || '', @business, 'merchant', '1', '0', 'USD', 'ALL', 'unpaid', 1, 0, @at, @at, @order)`,
    ).run({ id, business, at, order });
  }
  migrate(db);
  rememberLately(db);
  expect(db.prepare('SELECT * FROM invoice_lately').all()).toEqual([]);
  expect(db.prepare('SELECT value FROM setting WHERE key = ?').pluck().get(LISTED_SETTING)).toBe('3');
  const of = { business_id: 7, from: 0, at: 100, id: 0, limit: 5 };
  expect(db.prepare(listedBehind.sql).all(...listedBehind.bind(of))).toEqual([
    { created_at: 50, id: 1 },
    { created_at: 40, id: 3 },
  ]);
  expect(db.prepare('SELECT * FROM invoice_ordered').all()).toEqual([
    { business_id: 7, order_id: 'A', created_at: 50, id: 1 },
  ]);
  db.close();
});
