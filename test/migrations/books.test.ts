/**
 * The books of a database whose debits were not written down yet (`books/0018.json`: deposits, withdrawals, replacements,
 * reorganisations, a spend by another program and some under way, with what the release said of them): its migration makes
 * entries that say the same.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type ExportCursor, type ExportRow, exportPage } from '../../daemon/app/books/export.ts';
import { reconcile } from '../../daemon/app/books/reconcile.ts';
import { availableUnits } from '../../daemon/app/spends/coins.ts';
import { sqlite, statement } from '../../daemon/store/statement.ts';
import { Store } from '../../daemon/store/store.ts';
import { PayBench } from '../unit/app/pay-bench.ts';

const everyDebit = statement((_: object) => sqlite.selectFrom('debit').selectAll().orderBy('id'));

type Lines = { asset: string; received: string; paidOut: string; fees: string; held: string }[];
type Kept = { sql: string[]; export: Old[]; lines: Lines; problems: string[]; available: string };

const kept = JSON.parse(readFileSync(join(import.meta.dirname, 'books/0018.json'), 'utf8')) as Kept;
const EVER = { from: { year: 1970, month: 1, day: 1 }, to: { year: 2100, month: 1, day: 1 } };

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'countinghouse-books-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

/** The database as that release left it, with more rows, opened by this one. */
async function opened(more: readonly string[] = []): Promise<Store> {
  const db = new Database(join(dataDir, 'countinghouse.db'));
  db.transaction(() => {
    for (const statement of [...kept.sql, ...more]) db.exec(statement);
  })();
  db.close();
  return Store.open(dataDir);
}

type Old = Omit<ExportRow, `book_${string}` | 'vat'>;
const byLine = (a: Old, b: Old): number => (lineOf(a) < lineOf(b) ? -1 : 1);
const lineOf = ({ tx_id, kind, reference, amount }: Old): string => [tx_id, kind, reference, amount].join();

it('says the same in the balance, the export and the proof', async () => {
  const store = await opened();
  const { app, bench } = await PayBench.open('LTC');
  try {
    Object.assign(app, { store });
    app.directory.load(store);
    const rows: ExportRow[] = [];
    const business = app.directory.business(bench.businessId);
    let cursor: ExportCursor | null = null;
    do {
      const page: ReturnType<typeof exportPage> = exportPage(app, { business, ...EVER, cursor });
      rows.push(...page.rows);
      cursor = page.next;
    } while (cursor);
    // the release had no column for refunds, and these books have none
    const then = kept.export.map((row) => ({ ...row, refund_of: '' }));
    const known = rows.map(({ book_currency, book_rate, book_value, book_rate_at, vat, ...row }) => {
      // what that release valued is in dollars; of no rate is it known when it was found
      expect([book_value, book_currency, book_rate_at]).toEqual([
        book_rate === '' && row.kind !== 'receipt' ? '' : row.usd_value,
        book_value === '' ? '' : 'USD',
        '',
      ]);
      return row;
    });
    expect(known.sort(byLine)).toEqual(then.sort(byLine));
    // the proof compares the balance, which was not touched, with the entries
    const { lines, problems } = await reconcile(app, bench.chain, new AbortController().signal);
    const texts = lines.map((line) => ({
      asset: line.asset,
      received: `${line.received}`,
      paidOut: `${line.paidOut}`,
      fees: `${line.fees}`,
      held: `${line.held}`,
    }));
    // the release named smallest units, all of whole coins here
    const worded = kept.problems.map((text) => text.replace('100000000 LTC', '1 LTC'));
    expect({ lines: texts, problems }).toEqual({ lines: kept.lines, problems: worded });
    expect(`${availableUnits(store, bench.accountId, 'LTC')}`).toBe(kept.available);
    const debits = store.all(everyDebit, {});
    expect(new Set(debits.map(({ kind }) => kind))).toEqual(new Set(['paid', 'fee', 'moved']));
    expect(debits.some(({ block_hash }) => block_hash === null)).toBe(true);
  } finally {
    await store.close();
  }
});

it('adds up amounts beyond 64 bits', async () => {
  const coin = (n: number): string =>
    `INSERT INTO credit (chain_key, outpoint, txid, target_id, account_id, asset, units, block_height, block_hash,
       first_seen_at, required, maturity, locked, replaceable, confirmed, settled, counted, gone, spent_txid,
       spent_block_hash, spent_block_height, own_change)
     VALUES ('sandbox:ETH', '0xa${n}:0', '0xa${n}', 1, 1, 'ETH', '12345678901234567890123456789', 1, 'x', ${n}, 1, 0, 0, 0, 1,
       1, 0, 0, '0xb', 'y', 2, 0)`;
  const store = await opened([coin(1), coin(2), coin(3)]);
  const debits = store.all(everyDebit, {}).filter(({ asset }) => asset === 'ETH');
  const units = 3n * 12345678901234567890123456789n;
  expect(debits).toMatchObject([{ kind: 'paid', units, txid: '0xb', block_hash: 'y', block_height: 2, at: 3 }]);
  await store.close();
});
