/** The operator API's methods about reconciliation and the export for accounting. */
import { z } from 'zod';
import { changes, reads } from './method.ts';
import { Text } from './operator-shapes.ts';

const Units = z.string();

const Cursor = z.strictObject({ part: z.enum(['receipts', 'spends']), after: z.int().min(0) });

export const BOOKS = {
  /** Reconciles one chain (`mainnet:BTC`), or all connected ones. A node may take minutes. */
  'ledger.prove': changes(
    z.strictObject({ chain: Text.optional() }),
    z.object({
      chains: z.array(
        z.object({
          chain: z.string(),
          height: z.int(),
          compared: z.boolean(),
          /**
           * Whole coins as decimals. `held` is received less paid out less fees. None of them includes our own change.
           */
          lines: z.array(
            z.object({
              crypto: z.string(),
              received: Units,
              paid_out: Units,
              fees: Units,
              held: Units,
            }),
          ),
          problems: z.array(z.string()),
          /** Why it could not be proved, or null. */
          error: z.string().nullable(),
        }),
      ),
    }),
  ),
  /** Receipts, payments and fees, in pages that may be short; `next` is the cursor of the next call. */
  'export.page': reads(
    z.strictObject({
      business: Text.optional(),
      /** Days in the time zone of each business, both included. */
      from: z.iso.date(),
      to: z.iso.date(),
      cursor: Cursor.default({ part: 'receipts', after: 0 }),
    }),
    z.object({
      rows: z.array(
        z.object({
          at: z.string(),
          day: z.string(),
          kind: z.enum(['receipt', 'withdrawal', 'fee']),
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
        }),
      ),
      next: Cursor.nullable(),
    }),
  ),
} as const;
