/** The operator API's methods about reconciliation and the export for accounting. */
import { z } from 'zod';
import { changes, reads } from './method.ts';
import { Text } from './operator-shapes.ts';

const Units = z.string();

const Cursor = z.strictObject({ at: z.int(), part: z.enum(['receipts', 'spends']), after: z.int().min(0) });

const Proved = z.object({
  chain: z.string(),
  height: z.int(),
  compared: z.boolean(),
  /** Whole coins as decimals. `held` is received less paid out less fees less adopted. None of them includes our own change. */
  lines: z.array(
    z.object({
      crypto: z.string(),
      received: Units,
      paid_out: Units,
      fees: Units,
      /** The amount that the chain was found to have less than the other entries say; below 0: more. */
      adopted: Units,
      held: Units,
    }),
  ),
  problems: z.array(z.string()),
  /** The differences of an account chain on whose balance two operators agree: `ledger.adopt` takes it over. */
  offers: z.array(z.object({ address: z.string(), crypto: z.string(), booked: Units, held: Units })),
  /**
   * The newest changes of entries that no block made. `denied`: no operator has the entry on the chain. `adopted`: the chain's balance
   * was taken over. `amount`: what the address has more by it.
   */
  corrections: z.array(
    z.object({
      at: z.string(),
      kind: z.string(),
      address: z.string(),
      crypto: z.string(),
      amount: z.string(),
      entry: z.string(),
      height: z.int().nullable(),
    }),
  ),
  /** Why it could not be proved, or null. */
  error: z.string().nullable(),
});

const Flows = z.object({
  takings: z.string(),
  received: z.string(),
  refunds: z.string(),
  withdrawals: z.string(),
  fees: z.string(),
  corrected: z.string(),
});

export const BOOKS = {
  /** Reconciles one chain (`mainnet:BTC`), or all connected ones. A node may take minutes. */
  'ledger.prove': changes(z.strictObject({ chain: Text.optional() }), z.object({ chains: z.array(Proved) })),
  /**
   * Takes the balances of an account chain over where the books differ from it and two operators agree, and proves it
   * again. It moves no money.
   */
  'ledger.adopt': changes(z.strictObject({ chain: Text }), z.object({ chains: z.array(Proved) })),
  /**
   * The statement of a month of the business's calendar, decimals. `coins`: whole coins; opening + takings + received - refunds - withdrawals -
   * fees + corrected = closing. `as_of`: when
   * it was begun. `values`: the same in the currency that the entries were recorded in; `unrated` lines are in no sum.
   * `taxes`: in the invoices' currency, after refunds; `rate`: hundredths of a percent, 'tip', or null where none was given.
   */
  'books.statement': reads(
    z.strictObject({
      business: Text,
      month: z.string().regex(/^(19[7-9]\d|2\d{3})-(0[1-9]|1[0-2])$/, 'must be a month, such as 2026-10'),
    }),
    z.object({
      business: z.string(),
      month: z.string(),
      time_zone: z.string(),
      as_of: z.string(),
      coins: z.array(z.object({ crypto: z.string(), opening: z.string(), closing: z.string(), flows: Flows })),
      values: z.array(z.object({ currency: z.string(), lines: z.int(), unrated: z.int(), flows: Flows })),
      taxes: z.array(
        z.object({
          currency: z.string(),
          rate: z.union([z.int(), z.literal('tip')]).nullable(),
          net: z.string(),
          tax: z.string(),
          gross: z.string(),
        }),
      ),
    }),
  ),
  /** Receipts, payments and fees in the order of time, in pages that may be short, even empty; `next` is the cursor of the next call. */
  'export.page': reads(
    z.strictObject({
      business: Text.optional(),
      /** Days in the time zone of each business, both included. */
      from: z.iso.date(),
      to: z.iso.date(),
      /** Absent: from the beginning. */
      cursor: Cursor.nullable().default(null),
    }),
    z.object({
      rows: z.array(
        z.object({
          at: z.string(),
          day: z.string(),
          kind: z.enum(['receipt', 'withdrawal', 'fee', 'correction']),
          business: z.string(),
          network: z.string(),
          crypto: z.string(),
          amount: z.string(),
          currency: z.string(),
          value: z.string(),
          usd_value: z.string(),
          reference: z.string(),
          address: z.string(),
          tx_id: z.string(),
          order_id: z.string(),
          description: z.string(),
          refund_of: z.string(),
          book_currency: z.string(),
          book_rate: z.string(),
          book_value: z.string(),
          book_rate_at: z.string(),
          vat: z.string(),
        }),
      ),
      next: Cursor.nullable(),
    }),
  ),
} as const;
