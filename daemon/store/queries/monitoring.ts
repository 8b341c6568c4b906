/** Numbers of waiting items, for monitoring. Counts stop at a limit, because a larger number has no use. */
import { type SelectQueryBuilder, sql } from 'kysely';
import type { Schema } from '../schema.ts';
import { sqlite, statement } from '../statement.ts';

const COUNT_ROWS_MAX = 10_000;

const counted = <T extends keyof Schema>(rows: SelectQueryBuilder<Schema, T, { id: number }>) =>
  sqlite.selectFrom(rows.limit(COUNT_ROWS_MAX).as('some')).select(sql<number>`count(*)`.as('rows'));

export const webhooksWaiting = statement((p: { lane: string }) =>
  counted(sqlite.selectFrom('webhook').select('id').where('lane', '=', p.lane).where('state', '=', sql.lit('waiting'))),
);

export const deliveriesWaiting = statement((p: { endpoint_id: number }) =>
  counted(
    sqlite
      .selectFrom('event_delivery')
      .select('id')
      .where('endpoint_id', '=', p.endpoint_id)
      .where('state', '=', sql.lit('waiting')),
  ),
);

/** The withdrawals of a business in a state: waiting for an approval, or for the signer. */
export const withdrawalsWaiting = statement((p: { business_id: number; state: string }) =>
  counted(
    sqlite
      .selectFrom('withdrawal')
      .select('id')
      .where('business_id', '=', p.business_id)
      .where(sql<boolean>`state IN ('requested', 'approved')`)
      .where('state', '=', p.state),
  ),
);

/** Returns a withdrawal of a business in a state that was last changed before a time, if there is one. */
export const withdrawalWaitingSince = statement((p: { business_id: number; state: string; before: number }) =>
  sqlite
    .selectFrom('withdrawal')
    .select(['id', 'updated_at'])
    .where('business_id', '=', p.business_id)
    .where(sql<boolean>`state IN ('requested', 'approved')`)
    .where('state', '=', p.state)
    .where('updated_at', '<=', p.before)
    .orderBy('id')
    .limit(1),
);

export const spendsOpen = statement((p: { chain_key: string }) =>
  counted(
    sqlite.selectFrom('spend').select('id').where('chain_key', '=', p.chain_key).where('state', '=', sql.lit('open')),
  ),
);
