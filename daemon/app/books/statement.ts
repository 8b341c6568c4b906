/**
 * The statement of a month: takings, refunds, withdrawals, fees and VAT, from the lines of the export (`export.ts`).
 *
 * Invariants. In each coin the opening balance, takings and other receipts, less refunds, withdrawals and fees, with the corrections, are
 * the closing balance; the closing balance of a month is the opening one of the next. A sum in a currency is the sum of the lines' values,
 * each rounded toward zero to 1e-8, so that it is what the exported file adds up to. VAT is made of the summed gross amounts and rounded
 * once, so it may differ from the sum of the lines' VAT.
 */
import { ASSETS, type AssetId } from '../../domain/assets.ts';
import { type Day, daysInMonth } from '../../domain/calendar.ts';
import { stepOf, taxIn } from '../../domain/vat.ts';
import { creditUnitsByTime, debitUnitsByTime } from '../../store/queries/ledger.ts';
import type { App } from '../app.ts';
import type { Business } from '../shops/directory.ts';
import { beginOf, type ExportCursor, type Line, linesPage } from './export.ts';
import type { Taxed } from './taxed.ts';

/** `takings`: counted for invoices. `received`: all other receipts. `corrected`: below 0 for less. */
export const FLOWS = ['takings', 'received', 'refunds', 'withdrawals', 'fees', 'corrected'] as const;
export type Flow = (typeof FLOWS)[number];
export type Flows = Record<Flow, bigint>;

const IS_OUT: Record<Flow, boolean> = {
  takings: false,
  received: false,
  refunds: true,
  withdrawals: true,
  fees: true,
  corrected: false,
};
const FIRST_DAY: Day = { year: 1970, month: 1, day: 1 };
const OPENING_PAGE = 1_000;

export type Statement = {
  /** When it was begun, milliseconds since 1970. */
  asOf: number;
  /** Smallest units. */
  coins: { asset: AssetId; opening: bigint; closing: bigint; flows: Flows }[];
  /** 1e-8 of the currency that the entries were recorded in. `lines`: how many; `unrated`: those without a value, in no sum. */
  values: { currency: string; lines: number; unrated: number; flows: Flows }[];
  /** 1e-8 of the currency of the invoices; the amounts of refunds are taken off. */
  taxes: { currency: string; rate: Taxed['rate']; net: bigint; tax: bigint; gross: bigint }[];
};

type Coin = { opening: bigint; flows: Flows };
type Values = { lines: number; unrated: number; flows: Flows };

const nothing = (): Flows => ({ takings: 0n, received: 0n, refunds: 0n, withdrawals: 0n, fees: 0n, corrected: 0n });

/** The sum that a month adds to a balance. */
export const netOf = (flows: Flows): bigint =>
  FLOWS.reduce((sum, flow) => (IS_OUT[flow] ? sum - flows[flow] : sum + flows[flow]), 0n);

function flowOf({ row: { kind, refund_of }, counts }: Line): Flow {
  if (kind === 'receipt') return counts ? 'takings' : 'received';
  if (kind === 'withdrawal') return refund_of === '' ? 'withdrawals' : 'refunds';
  return kind === 'fee' ? 'fees' : 'corrected';
}

/** Finds a value of a map, or puts the one in that `make` makes. */
function of<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key) ?? make();
  map.set(key, found);
  return found;
}

type Running = { last: Promise<unknown>; made: Map<string, Promise<Statement>> };
const RUNNING = new WeakMap<App, Running>();

/**
 * Of a business and a month of its calendar, 1 to 12. Reads all entries up to its end, a page at a time. One statement is made at a time;
 * who asks for the one that is being made gets the same.
 */
export function statementOf(app: App, business: Business, year: number, month: number): Promise<Statement> {
  const running = RUNNING.get(app) ?? { last: Promise.resolve(), made: new Map() };
  RUNNING.set(app, running);
  const key = `${business.id} ${business.timeZone} ${year} ${month}`;
  return of(running.made, key, () => {
    const made = running.last.then(() => make(app, business, year, month)).finally(() => running.made.delete(key));
    running.last = made.catch(() => {});
    return made;
  });
}

/** Lets other requests run between two pages. */
const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Adds what all entries of before a time left in each coin. It needs no invoice, rate or text. */
async function addOpening(app: App, business: Business, until: number, add: (asset: AssetId, units: bigint) => void) {
  const isOurs = (account: number): boolean => app.directory.businessOfAccount(account) === business.id;
  for (const [read, sign] of [[creditUnitsByTime, 1n] as const, [debitUnitsByTime, -1n] as const]) {
    let after = { at: 0, id: 0 };
    for (let full = true; full; ) {
      const rows = app.store.all(read, { ...after, until, limit: OPENING_PAGE });
      for (const { account_id, asset, units, moved } of rows) {
        if (moved === 0 && isOurs(account_id)) add(asset, sign * units);
      }
      const end = rows.at(-1);
      if (end) after = { at: end.at ?? 0, id: end.id };
      full = rows.length === OPENING_PAGE;
      await pause();
    }
  }
}

async function make(app: App, business: Business, year: number, month: number): Promise<Statement> {
  const asOf = app.now();
  const to = { year, month, day: daysInMonth(year, month) };
  const first = `${`${year}`.padStart(4, '0')}-${`${month}`.padStart(2, '0')}-01`;
  const coins = new Map<AssetId, Coin>();
  const values = new Map<string, Values>();
  const taxes = new Map<string, { currency: string; rate: Taxed['rate']; gross: bigint }>();
  const add = (line: Line): void => {
    const { row, asset, units, book, taxed } = line;
    const coin = of(coins, asset.symbol, () => ({ opening: 0n, flows: nothing() }));
    const flow = flowOf(line);
    if (row.day < first) {
      coin.opening += IS_OUT[flow] ? -units : units;
      return;
    }
    coin.flows[flow] += units;
    const sums = of(values, row.book_currency, () => ({ lines: 0, unrated: 0, flows: nothing() }));
    sums.lines++;
    if (book === null) sums.unrated++;
    else sums.flows[flow] += book;
    for (const { rate, gross } of taxed) {
      const key = `${row.currency} ${rate}`;
      of(taxes, key, () => ({ currency: row.currency, rate, gross: 0n })).gross += gross;
    }
  };
  // in no time zone has the month begun then
  const begin = beginOf({ year, month, day: 1 });
  await addOpening(app, business, begin, (asset, units) => {
    of(coins, asset, () => ({ opening: 0n, flows: nothing() })).opening += units;
  });
  let cursor: ExportCursor | null = { at: begin, part: 'receipts', after: 0 };
  do {
    const page: ReturnType<typeof linesPage> = linesPage(app, { business, from: FIRST_DAY, to, cursor });
    page.lines.forEach(add);
    cursor = page.next;
    await pause();
  } while (cursor !== null);
  return {
    asOf,
    coins: ASSETS.flatMap(({ symbol }) => {
      const coin = coins.get(symbol);
      return coin ? [{ asset: symbol, ...coin, closing: coin.opening + netOf(coin.flows) }] : [];
    }),
    values: [...values].map(([currency, sums]) => ({ currency, ...sums })),
    taxes: [...taxes.values()]
      .sort((a, b) => placeOf(b.rate) - placeOf(a.rate))
      .map(({ currency, rate, gross }) => {
        const tax = typeof rate === 'number' ? taxIn(gross, rate, stepOf(currency)) : 0n;
        return { currency, rate, net: gross - tax, tax, gross };
      }),
  };
}

/** The highest rate comes first, then what has none, then tips. */
const placeOf = (rate: Taxed['rate']): number => (rate === 'tip' ? -2 : (rate ?? -1));
