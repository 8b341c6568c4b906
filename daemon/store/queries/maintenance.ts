/** Statements about rows that are no longer needed. Each reads a bounded number of rows. */
import { sql } from 'kysely';
import { remove, sqlite, statement } from '../statement.ts';

/** Coins that were spent in blocks up to `to`, in the order of the blocks, after a position. */
export const buriedSpends = statement(
  (p: { chain_key: string; height: number; id: number; to: number; limit: number }) =>
    sqlite
      .selectFrom('credit')
      .select(['id', 'txid', 'spent_block_height'])
      .where('chain_key', '=', p.chain_key)
      .where('spent_block_height', 'is not', null)
      .where('spent_block_height', '<=', p.to)
      .where(sql<boolean>`(spent_block_height, id) > (${p.height}, ${p.id})`)
      .orderBy('spent_block_height')
      .orderBy('id')
      .limit(p.limit),
);

/** Returns a coin of a transaction that can still be spent, or whose spend can still be undone, if there is one. */
export const coinInUse = statement((p: { after: string; to: string; chain_key: string; height: number }) =>
  sqlite
    .selectFrom('credit')
    .select('id')
    .where('outpoint', '>', p.after)
    .where('outpoint', '<', p.to)
    .where('chain_key', '=', p.chain_key)
    .where(sql<boolean>`(spent_block_height IS NULL OR spent_block_height > ${p.height})`)
    .limit(1),
);

export const dropPrevious = remove('previous_tx', 'txid', 'chain_key');

/** The attempts after an id, the oldest first. */
export const attemptsAfter = statement((p: { after: number; limit: number }) =>
  sqlite
    .selectFrom('webhook_attempt')
    .select(['id', 'started_at as at'])
    .where('id', '>', p.after)
    .orderBy('id')
    .limit(p.limit),
);

export const dropAttempt = remove('webhook_attempt', 'id');

/** The closed alerts after an id, the oldest first. `at`: when it was closed. */
export const alertsAfter = statement((p: { after: number; limit: number }) =>
  sqlite.selectFrom('alert').select(['id', 'seen_at as at']).where('id', '>', p.after).orderBy('id').limit(p.limit),
);

export const dropAlert = remove('alert', 'id');
