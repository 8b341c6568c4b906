/** The pages of the export for accounting: every entry once, in the order of time, with a bounded part of them in memory. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ExportCursor, type ExportRow, exportPage } from '../../../daemon/app/books/export.ts';
import type { Credit, Debit } from '../../../daemon/domain/chain.ts';
import { Bench, HOUR } from './bench.ts';

const BLOCKS = 40;
const RECEIPTS = 1_100;
const FEES = 550;

let bench: Bench;
beforeEach(async () => {
  bench = await Bench.open('ETH');
  for (let n = 0; n < BLOCKS; n++) {
    bench.advance(HOUR);
    await bench.tell({ blocks: 1 });
  }
});
afterEach(() => bench.app.store.close());

const txid = (n: number): string => `0x${n.toString(16).padStart(64, '0')}`;
/** Neighbours in the order of ids are in blocks far from each other. */
const backOf = (n: number): number => (n * 7) % BLOCKS;

function exported(from = { year: 1970, month: 1, day: 1 }, to = { year: 2999, month: 1, day: 1 }) {
  const business = bench.app.directory.business(bench.businessId);
  const pages: ExportRow[][] = [];
  let cursor: ExportCursor | null = null;
  do {
    const page: ReturnType<typeof exportPage> = exportPage(bench.app, { business, from, to, cursor });
    pages.push(page.rows);
    cursor = page.next;
  } while (cursor);
  return pages;
}

describe('the pages of an export', () => {
  beforeEach(async () => {
    const credits = (): Credit[] =>
      Array.from({ length: RECEIPTS }, (_, n) => bench.credit(1, 10n, backOf(n), { txid: txid(n), asset: 'ETH' }));
    const debits = (): Debit[] =>
      Array.from({ length: FEES }, (_, n) => ({
        id: `${txid(n)}:fee`,
        txid: txid(n),
        targetId: 1,
        kind: 'fee',
        amount: { asset: 'ETH', units: 1n },
        block: bench.block(backOf(n + 3)),
      }));
    await bench.tell({ credits, debits });
  });

  it('have every entry once, the oldest first, and receipts before what left at the same time', () => {
    const pages = exported();
    const rows = pages.flat();
    expect(Math.max(...pages.map(({ length }) => length))).toBeLessThanOrEqual(500);
    const of = (kind: string): string[] => rows.filter((row) => row.kind === kind).map(({ tx_id }) => tx_id);
    expect(of('receipt').toSorted()).toEqual(Array.from({ length: RECEIPTS }, (_, n) => txid(n)).toSorted());
    expect(of('fee').toSorted()).toEqual(Array.from({ length: FEES }, (_, n) => txid(n)).toSorted());
    const places = rows.map(({ at, kind }) => ({ at, part: kind === 'receipt' ? 0 : 1 }));
    expect(places.toSorted((a, b) => a.at - b.at || a.part - b.part)).toEqual(places);
    expect(new Set(places.map(({ at }) => at)).size).toBe(BLOCKS);
  });

  it('have the days that were asked for, and read nothing of the others', () => {
    const all = exported().flat();
    const { day } = all[all.length >> 1]!;
    const [year, month, date] = day.split('-').map(Number) as [number, number, number];
    const one = exported({ year, month, day: date }, { year, month, day: date });
    expect(one.flat()).toEqual(all.filter((row) => row.day === day));
    expect(exported({ year: year - 2, month, day: 1 }, { year: year - 1, month: 1, day: 1 })).toEqual([[]]);
    expect(exported({ year: year + 2, month, day: 1 })).toEqual([[]]);
  });
});
