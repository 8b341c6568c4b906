/** The operator API's methods about refund links: pages on which a payer types the address of a refund. */
import { z } from 'zod';
import { changes, reads } from './method.ts';
import { Decimal, Id, Instant, MessageShape, Page, Text } from './operator-shapes.ts';

const DAYS_MAX = 90;
const DAYS_USUAL = 7;
const Days = z.int().min(1).max(DAYS_MAX).default(DAYS_USUAL);

const RefundLinkShape = z.object({
  id: Id,
  url: z.string(),
  business_id: Id,
  business: z.string(),
  /** The invoice whose money it is, or the item of the inbox. */
  invoice: z.string().nullable(),
  inbox: Id.nullable(),
  crypto: z.string(),
  /** Null: the whole deposit, less the fee. */
  amount: Decimal.nullable(),
  /** `waits`: for the payer. `given`: the address was typed. `approved` to `refused`: its withdrawal. `over`: nobody typed one. */
  state: z.enum(['waits', 'given', 'approved', 'sent', 'done', 'refused', 'over']),
  ends_at: Instant,
  address: z.string().nullable(),
  given_at: Instant.nullable(),
  /** The withdrawal that it became. */
  withdrawal: Id.nullable(),
  /** Why there is none, although the address was typed. */
  problem: MessageShape.nullable(),
  created_at: Instant,
});

const One = z.object({ link: RefundLinkShape });

export const REFUNDS = {
  /** The newest first; of one invoice, or of one item of the inbox. */
  'refundLink.list': reads(
    Page.extend({ invoice: Text.optional(), inbox: Id.optional() }),
    z.object({ links: z.array(RefundLinkShape), next: Id.nullable() }),
  ),
  /**
   * Makes a link for the money of a paid invoice, or for an item of the inbox. No money leaves by it: the withdrawal that follows waits
   * for an approval. One that waits for the same already is returned. Throws `refund.*`, `inbox.*`.
   */
  'refundLink.make': changes(
    z.union([
      z.strictObject({ invoice: Text, amount: Text.optional(), crypto: Text.optional(), days: Days }),
      z.strictObject({ inbox: Id, days: Days }),
    ]),
    One,
  ),
  /** Ends a link before its withdrawal was made. */
  'refundLink.end': changes(z.strictObject({ id: Id }), One),
  /** Asks again for the withdrawal, where the address is known and it could not be asked for. */
  'refundLink.prepare': changes(z.strictObject({ id: Id }), One),
} as const;
