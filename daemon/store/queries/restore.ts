/** Statements of a restore: what must not be used again, and how far numbers jump. */
import { sql } from 'kysely';
import { sqlite, statement } from '../statement.ts';

type Nothing = Record<never, never>;

export const skipWebhooks = statement((_: Nothing) =>
  sqlite.updateTable('webhook').set({ state: 'skipped' }).where('state', '=', sql.lit('waiting')),
);

export const accountsToJump = statement((_: Nothing) =>
  sqlite.selectFrom('account').select(['id', 'chain_key', 'next_index', 'next_change']).orderBy('id'),
);

/** Addresses that nobody is known to have are given to nobody any more, and stay watched. */
export const retirePool = statement((p: { account_id: number }) =>
  sqlite
    .updateTable('target')
    .set({ invoice_id: 0 })
    .where('account_id', '=', p.account_id)
    .where('invoice_id', 'is', null)
    .where('branch', '=', sql.lit(0)),
);

/** Up to which index addresses are derived and watched before any is given out. */
export const jumpAccount = statement((p: { account_id: number; to_index: number; to_change: number }) =>
  sqlite
    .updateTable('account')
    .set({ jump_to_index: p.to_index, jump_to_change: p.to_change })
    .where('id', '=', p.account_id),
);

export const jumpsOf = statement((p: { account_id: number }) =>
  sqlite
    .selectFrom('account')
    .select(['next_index', 'next_change', 'jump_to_index', 'jump_to_change'])
    .where('id', '=', p.account_id),
);

/** Moves the next receiving index on, if it is still where the caller believes it to be. */
export const stepIndex = statement((p: { account_id: number; from: number; to: number }) =>
  sqlite
    .updateTable('account')
    .set({ next_index: p.to })
    .where('id', '=', p.account_id)
    .where('next_index', '=', p.from),
);

/** The same of the next change index. */
export const stepChange = statement((p: { account_id: number; from: number; to: number }) =>
  sqlite
    .updateTable('account')
    .set({ next_change: p.to })
    .where('id', '=', p.account_id)
    .where('next_change', '=', p.from),
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
