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

/** Of the oldest attempts, those that began before a time. */
export const oldAttempts = statement((p: { before: number; limit: number }) =>
  sqlite
    .selectFrom(({ selectFrom }) =>
      selectFrom('webhook_attempt').select(['id', 'started_at']).orderBy('id').limit(p.limit).as('some'),
    )
    .select('id')
    .where('started_at', '<', p.before),
);

export const dropAttempt = remove('webhook_attempt', 'id');

/** Of the oldest alerts, those that were closed before a time. */
export const oldAlerts = statement((p: { after: number; before: number; limit: number }) =>
  sqlite
    .selectFrom(({ selectFrom }) =>
      selectFrom('alert').select(['id', 'seen_at']).where('id', '>', p.after).orderBy('id').limit(p.limit).as('some'),
    )
    .select(['id', 'seen_at'])
    .where('seen_at', '<', p.before),
);

export const dropAlert = remove('alert', 'id');
