/** Statements of a restore: what must not be used again, and how far numbers jump. */
import { sql } from 'kysely';
import { sqlite, statement, YES } from '../statement.ts';

type Nothing = Record<never, never>;

export const skipWebhooks = statement((_: Nothing) =>
  sqlite.updateTable('webhook').set({ state: 'skipped' }).where('state', '=', sql.lit('waiting')),
);

export const accountsToJump = statement((_: Nothing) =>
  sqlite.selectFrom('account').select(['id', 'chain_key', 'next_index', 'next_change']).orderBy('id'),
);

/** Plans that nobody had signed. */
export const unsignedPlans = statement((_: Nothing) =>
  sqlite.selectFrom('spend_version').select(['id', 'spend_id']).where('txid', 'is', null),
);

/** Withdrawals of a payment that has no version any more are planned anew. */
export const leaveSpend = statement((p: { spend_id: number }) =>
  sqlite.updateTable('withdrawal').set({ spend_id: null }).where('spend_id', '=', p.spend_id),
);

/** A withdrawal that this version pays is not being canceled: what was to cancel it was never signed. */
export const keepPaying = statement((p: { version_id: number }) =>
  sqlite
    .updateTable('withdrawal')
    .set({ cancel: false })
    .where('id', 'in', (eb) =>
      eb.selectFrom('spend_payout').select('withdrawal_id').where('version_id', '=', p.version_id),
    ),
);

/**
 * What was not signed yet waits for the operator, who alone can know whether it was paid after the backup. The clock
 * does not end it: what may have been paid has not failed.
 */
export const doubtUnsigned = statement((p: { problem: string; now: number }) =>
  sqlite
    .updateTable('withdrawal')
    .set({
      state: 'requested',
      approved_by: null,
      approved_at: null,
      approval: null,
      deadline_at: null,
      problem: p.problem,
      may_be_paid: true,
      updated_at: p.now,
    })
    .where('state', 'in', [sql.lit('requested'), sql.lit('approved')]),
);

/** One withdrawal of a chain that may have been paid after the backup and is still not signed here. */
export const doubtedWithdrawal = statement((p: { chain_key: string }) =>
  sqlite
    .selectFrom('withdrawal')
    .select('id')
    .where('chain_key', '=', p.chain_key)
    .where('may_be_paid', '=', YES)
    .where('state', 'in', [sql.lit('requested'), sql.lit('approved')])
    .limit(1),
);

/** The businesses whose real withdrawals went without asking. */
export const automaticPolicies = statement((_: Nothing) =>
  sqlite
    .selectFrom('policy')
    .innerJoin('business', 'business.id', 'policy.business_id')
    .select(['business.id', 'business.name'])
    .where('policy.mode', '=', sql.lit('automatic'))
    .where('business.network', '!=', sql.lit('sandbox')),
);

/** Limits stay to be seen; nothing goes by them. */
export const suspendPolicy = statement((p: { business_id: number }) =>
  sqlite.updateTable('policy').set({ mode: 'manual' }).where('business_id', '=', p.business_id),
);

/** How far the backup knew each chain. */
export const chainStates = statement((_: Nothing) =>
  sqlite.selectFrom('chain_state').select(['chain_key', 'checkpoint']),
);

/** The newest withdrawal that the backup knew. */
export const lastWithdrawal = statement((_: Nothing) =>
  sqlite.selectFrom('withdrawal').select('id').orderBy('id', 'desc').limit(1),
);

/** The ids of withdrawals go on from so many later. */
export const jumpWithdrawals = statement((p: { by: number }) =>
  sqlite
    .updateTable('sqlite_sequence')
    .set((eb) => ({ seq: eb('seq', '+', p.by) }))
    .where('name', '=', sql.lit('withdrawal')),
);

/** The same where there never was one. */
export const beginWithdrawals = statement((p: { by: number }) =>
  sqlite
    .insertInto('sqlite_sequence')
    .columns(['name', 'seq'])
    .expression(
      sqlite
        .selectNoFrom([sql.lit('withdrawal').as('name'), sql<number>`${p.by}`.as('seq')])
        .where((eb) =>
          eb.not(eb.exists(eb.selectFrom('sqlite_sequence').select('name').where('name', '=', sql.lit('withdrawal')))),
        ),
    ),
);
