/** Statements of a business's lists, newest first. Each reads a bounded number of rows after a position. */
import { sql } from 'kysely';
import { sqlite, statement } from '../statement.ts';
import { moved } from './ledger.ts';

/**
 * Receipts of a business from outside. Change of transactions that spent its coins and money that moved between its
 * addresses are excluded, whether they still exist or not.
 */
export const receiptsBelow = statement((p: { business_id: number; id: number; limit: number }) =>
  sqlite
    .selectFrom('credit')
    .innerJoin('account', 'account.id', 'credit.account_id')
    .innerJoin('target', 'target.id', 'credit.target_id')
    .leftJoin('invoice', 'invoice.id', 'credit.invoice_id')
    .selectAll('credit')
    .select(['target.address', 'invoice.slug', 'invoice.order_id', 'invoice.currency'])
    .where('account.business_id', '=', p.business_id)
    .where(sql<boolean>`not (credit.claim is 'moved' or ${moved}
      or target.branch = 1 and exists (select 1 from spend_version
        where spend_version.txid = credit.txid and spend_version.chain_key = credit.chain_key))`)
    .where('credit.id', '<', p.id)
    .orderBy('credit.id', 'desc')
    .limit(p.limit),
);
