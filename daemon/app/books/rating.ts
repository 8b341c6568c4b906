/**
 * The rate of an entry at its time, in the currency that its business had then.
 *
 * Invariants. A rate is stored once and never changed, so a later change of the currency or of the market changes no value. It is never
 * invented: where no rate was found at most an hour away from the entry, the rate stays empty. A deposit within a quote in that
 * currency has the quote's rate, at which the payer was told to pay; every other entry has the market's.
 */

import type { AssetId } from '../../domain/assets.ts';
import type { Rate } from '../../domain/money.ts';
import { MS_PER_HOUR } from '../../domain/time.ts';
import {
  setCreditRate,
  setDebitRate,
  type UnratedRow,
  unratedCredits,
  unratedDebits,
} from '../../store/queries/booked.ts';
import type { CreditRow } from '../../store/queries/credits.ts';
import type { DebitRow } from '../../store/queries/debits.ts';
import { invoiceById, paymentOf } from '../../store/queries/invoices.ts';
import type { Reader } from '../../store/store.ts';
import type { App } from '../app.ts';
import { quoteAt } from '../chains/valuation.ts';

/** In which a business reckons that has chosen no currency. */
export const DEFAULT_CURRENCY = 'USD';
/** How far from an entry a rate may have been found that it gets later. */
const NEAR_MS = MS_PER_HOUR;
/** As long as past rates are kept. Fixed prices have no past; they count for as long. */
const PAST_MS = 72 * MS_PER_HOUR;
const PAGE = 500;
/** How often entries are looked at again that found no rate. */
const WHOLE_MS = MS_PER_HOUR;

export type Rated = Pick<DebitRow, 'book_currency' | 'book_rate' | 'book_rate_at'>;
type Entry = { account_id: number; asset: AssetId };

/** Of an entry that is in no export. */
export const UNRATED: Rated = { book_currency: null, book_rate: null, book_rate_at: null };

const businessOf = (app: App, { account_id }: Entry) =>
  app.directory.business(app.directory.businessOfAccount(account_id));

/** The market's rate of an entry at a time, milliseconds since 1970. */
export function ratedAt(app: App, entry: Entry, at: number): Rated {
  const { network, brand } = businessOf(app, entry);
  const book_currency = brand.currency ?? DEFAULT_CURRENCY;
  const rate = app.now() - at > PAST_MS ? null : app.rates.rateAt(network, entry.asset, book_currency, at);
  return { book_currency, book_rate: rate?.scaled ?? null, book_rate_at: rate?.at ?? null };
}

/** The rate of a deposit when it was first seen. Change of a transaction of ours has none. */
export function ratedCredit(
  app: App,
  reader: Reader,
  credit: Entry & Pick<CreditRow, 'invoice_id' | 'first_seen_at' | 'own_change'>,
): Rated {
  if (credit.own_change) return UNRATED;
  const { invoice_id, asset, first_seen_at: at } = credit;
  const invoice = invoice_id === null ? undefined : reader.get(invoiceById, { id: invoice_id });
  const payment = invoice && reader.get(paymentOf, { invoice_id: invoice.id });
  const book_currency = businessOf(app, credit).brand.currency ?? DEFAULT_CURRENCY;
  const quote = payment && invoice.currency === book_currency ? quoteAt(reader, payment, asset, at) : null;
  return quote ? { book_currency, book_rate: quote.rate, book_rate_at: quote.issuedAt } : ratedAt(app, credit, at);
}

/** When entries without a rate were last looked at: all of them, and those up to a time. */
type Looked = { wholeAt: number; until: number };
const looked = new WeakMap<App, Looked>();

/**
 * Gives entries that were made while prices were away the nearest rate that is stored, at most an hour away. It waits until that hour is
 * over, so that no nearer one can come: each minute only the entries whose hour ended meanwhile are looked at, and all of the last three
 * days every hour, since a chain may tell late of an older one. Returns how many got one.
 */
export async function rateLate(app: App): Promise<number> {
  const now = app.now();
  const until = now - NEAR_MS;
  const last = looked.get(app);
  const isWhole = !last || now < last.wholeAt || now - last.wholeAt >= WHOLE_MS;
  const from = isWhole ? now - PAST_MS : last.until;
  const count = await rateSince(app, from, until);
  looked.set(app, { wholeAt: isWhole ? now : last.wholeAt, until });
  return count;
}

async function rateSince(app: App, from: number, until: number): Promise<number> {
  const parts = [
    { read: unratedCredits, set: setCreditRate },
    { read: unratedDebits, set: setDebitRate },
  ];
  let count = 0;
  for (const { read, set } of parts) {
    let last = { at: from, id: 0 };
    for (let full = true; full; ) {
      const rows: UnratedRow[] = app.store.all(read, { ...last, until, limit: PAGE });
      const find = nearestRates(app);
      const found = rows.flatMap((row) => {
        const rate = find(row);
        return rate ? [{ id: row.id, book_rate: rate.scaled, book_rate_at: rate.at }] : [];
      });
      if (found.length > 0) {
        await app.store.write((tx) => {
          for (const one of found) tx.run(set, one);
        });
      } else await new Promise(setImmediate);
      count += found.length;
      const end = rows.at(-1);
      if (end) last = { at: end.at ?? 0, id: end.id };
      full = rows.length === PAGE;
    }
  }
  return count;
}

/** The nearest rates of a page of entries. Those of one coin and one time, as of a block, are asked for once. */
function nearestRates(app: App): (row: UnratedRow) => Rate | null {
  const known = new Map<string, Rate | null>();
  return (row) => {
    const { network } = businessOf(app, row);
    const question = `${network} ${row.asset} ${row.book_currency} ${row.at}`;
    const answer = known.get(question);
    if (answer !== undefined) return answer;
    const found = app.rates.rateNear(network, row.asset, `${row.book_currency}`, row.at ?? 0, NEAR_MS);
    known.set(question, found);
    return found;
  };
}
