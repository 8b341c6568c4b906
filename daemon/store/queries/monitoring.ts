/** Numbers of waiting items, for monitoring. Counts stop at a limit, because a larger number has no use. */
import { type SelectQueryBuilder, sql } from 'kysely';
import type { WithdrawalState } from '../../domain/withdrawal.ts';
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

/** The withdrawals in a state: waiting for an approval, or for the signer. Reads the index of those two states. */
export const withdrawalsWaiting = statement((p: { state: WithdrawalState }) =>
  counted(
    sqlite
      .selectFrom('withdrawal')
      .select('id')
      .where(sql<boolean>`state IN ('requested', 'approved')`)
      .where('state', '=', p.state),
  ),
);

/**
 * The oldest and the newest withdrawal of a business in a state that were last changed before a time, and when the first of them ends;
 * null: there is none.
 */
export const withdrawalsWaitingSince = statement((p: { business_id: number; state: WithdrawalState; before: number }) =>
  sqlite
    .selectFrom('withdrawal')
    .select(({ fn }) => [
      fn.min<number | null>('id').as('oldest'),
      fn.max<number | null>('id').as('newest'),
      fn.min<number | null>('updated_at').as('since'),
      fn.min<number | null>('deadline_at').as('endsAt'),
    ])
    .where('business_id', '=', p.business_id)
    .where(sql<boolean>`state IN ('requested', 'approved')`)
    .where('state', '=', p.state)
    .where('updated_at', '<=', p.before),
);

export const spendsOpen = statement((p: { chain_key: string }) =>
  counted(
    sqlite.selectFrom('spend').select('id').where('chain_key', '=', p.chain_key).where('state', '=', sql.lit('open')),
  ),
);
