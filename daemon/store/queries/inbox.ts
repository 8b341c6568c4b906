/** Statements that list the inbox. */
import { sql } from 'kysely';
import { NO, sqlite, statement } from '../statement.ts';

const listed = sqlite
  .selectFrom('inbox')
  .innerJoin('credit', 'credit.id', 'inbox.credit_id')
  .innerJoin('target', 'target.id', 'credit.target_id')
  .leftJoin('invoice', 'invoice.id', 'inbox.invoice_id')
  .leftJoin('withdrawal', 'withdrawal.id', 'inbox.withdrawal_id')
  .select([
    'inbox.id',
    'inbox.business_id',
    'inbox.reason',
    'inbox.state',
    'inbox.created_at',
    'inbox.updated_at',
    'inbox.units as part',
    'inbox.withdrawal_id',
    'withdrawal.state as withdrawal_state',
    'withdrawal.txid as withdrawal_txid',
    'withdrawal.deadline_at as withdrawal_deadline_at',
    'credit.outpoint',
    'credit.chain_key',
    'credit.asset',
    'credit.units',
    'credit.usd_value',
    'credit.block_height',
    'credit.confirmed',
    'credit.gone',
    'target.address',
    'invoice.slug as invoice_slug',
  ]);

/** The newest deposits below an id that no invoice claims, with their amounts. */
export const inboxBelow = statement((p: { id: number; limit: number }) =>
  listed.where('inbox.id', '<', p.id).orderBy('inbox.id', 'desc').limit(p.limit),
);

/** Those of a business that wait for a decision and are more than crumbs, in the order in which they are told. */
export const inboxWaiting = statement((p: { business_id: number; limit: number }) =>
  listed
    .where('inbox.business_id', '=', p.business_id)
    .where('inbox.state', '=', sql.lit('open'))
    .where('inbox.silent', '=', NO)
    .orderBy('inbox.told')
    .orderBy('inbox.id')
    .limit(p.limit),
);
