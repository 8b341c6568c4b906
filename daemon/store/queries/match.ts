/** Statements with which a restored appliance finds and takes over transactions that were made after its backup. */
import { sql } from 'kysely';
import { remove, sqlite, statement, update } from '../statement.ts';
import type { VersionRow } from './withdrawals.ts';

/** Coins spent in blocks above a height, in the order of those. The cursor is the last row of the page before. */
export const creditsSpentAbove = statement((p: { chain_key: string; height: number; id: number; limit: number }) =>
  sqlite
    .selectFrom('credit')
    .select(['id', 'account_id', 'spent_txid', 'spent_block_height', 'spent_block_hash'])
    .where('chain_key', '=', p.chain_key)
    .where('spent_block_height', 'is not', null)
    .where(sql<boolean>`(spent_block_height, id) > (${p.height}, ${p.id})`)
    .orderBy('spent_block_height')
    .orderBy('id')
    .limit(p.limit),
);

/** Coins of any chain with ids above one, spent or not, in the order of their ids. */
export const creditsStoredAfter = statement((p: { id: number; limit: number }) =>
  sqlite
    .selectFrom('credit')
    .select(['id', 'chain_key', 'account_id', 'spent_txid', 'spent_block_height', 'spent_block_hash'])
    .where('id', '>', p.id)
    .orderBy('id')
    .limit(p.limit),
);

/** A version that was signed elsewhere. `raw` null: its signatures are not known. */
export const insertMatched = statement(
  (p: Pick<VersionRow, 'spend_id' | 'chain_key' | 'kind' | 'plan' | 'txid' | 'raw' | 'fee' | 'size' | 'created_at'>) =>
    sqlite.insertInto('spend_version').values({
      spend_id: p.spend_id,
      chain_key: p.chain_key,
      kind: p.kind,
      plan: p.plan,
      approval: null,
      txid: p.txid,
      raw: p.raw,
      fee: p.fee,
      size: p.size,
      created_at: p.created_at,
      signed_at: p.created_at,
      sent_at: p.created_at,
      problem: null,
    }),
);

/** Forgets a version that was signed elsewhere. */
export const dropMatched = remove('spend_version', 'id');

/** Marks a credit as change of a transaction of ours. The next sync counts it. */
export const markOwnChange = update('credit', [{ own_change: true }], 'id');
