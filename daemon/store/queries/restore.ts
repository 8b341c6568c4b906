/** Statements of a restore: addresses and numbers that must not be used again. */
import { sql } from 'kysely';
import type { Message } from '../../domain/messages.ts';
import { inOrder, last, matching, sqlite, statement, update, word, YES } from '../statement.ts';
import { readyTargets } from './ready.ts';

type Nothing = Record<never, never>;

export const skipWebhooks = update('webhook', [{ state: 'skipped' }], { state: 'waiting' });

export const accountsToJump = inOrder('account', [], {}, ['id', 'chain_key', 'key', 'next_index', 'next_change']);

/** The indices of an account's ready addresses, which were not given out. */
export const readyIndices = statement((p: { account_id: number }) =>
  readyTargets(p.account_id).select('idx').orderBy('idx'),
);

export const unsignedPlans = matching('spend_version', [], { txid: null }, ['id', 'spend_id']);

/** Releases the withdrawals of a payment without versions, so that they are planned again. */
export const leaveSpend = update('withdrawal', [{ spend_id: null }], 'spend_id');

/** Withdraws the cancellation of a withdrawal that this version pays, because the cancellation was never signed. */
export const keepPaying = statement((p: { version_id: number }) =>
  sqlite
    .updateTable('withdrawal')
    .set({ cancel: false })
    .where('id', 'in', (eb) =>
      eb.selectFrom('spend_payout').select('withdrawal_id').where('version_id', '=', p.version_id),
    ),
);

/**
 * Makes every unsigned withdrawal wait for the operator, because it may have been paid after the backup. It has no
 * deadline, because a withdrawal that may have been paid has not failed.
 */
export const doubtUnsigned = statement((p: { problem: Message; now: number }) =>
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
    .where('state', 'in', [word('requested'), word('approved')]),
);

/** One withdrawal of a chain that may have been paid after the backup and is still not signed here. */
export const doubtedWithdrawal = statement((p: { chain_key: string }) =>
  sqlite
    .selectFrom('withdrawal')
    .select('id')
    .where('chain_key', '=', p.chain_key)
    .where('may_be_paid', '=', YES)
    .where('state', 'in', [word('requested'), word('approved')])
    .limit(1),
);

/** The keys of real money's businesses that are not revoked. */
export const realKeys = statement((_: Nothing) =>
  sqlite
    .selectFrom('api_key')
    .innerJoin('business', 'business.id', 'api_key.business_id')
    .selectAll('api_key')
    .where('api_key.revoked_at', 'is', null)
    .where('business.network', '!=', word('sandbox'))
    .orderBy('api_key.id'),
);

export const lastKey = last('api_key', [], {}, ['id']);

/** The businesses whose policy approved real withdrawals automatically. */
export const automaticPolicies = statement((_: Nothing) =>
  sqlite
    .selectFrom('policy')
    .innerJoin('business', 'business.id', 'policy.business_id')
    .select(['business.id', 'business.name'])
    .where('policy.mode', '=', word('automatic'))
    .where('business.network', '!=', word('sandbox')),
);

/** Suspends a policy. Its limits stay stored, but approve nothing. */
export const suspendPolicy = update('policy', [{ mode: 'manual' }], 'business_id');

/** The height of each chain in the backup. */
export const chainStates = matching('chain_state', [], {}, ['chain_key', 'checkpoint']);

export const lastWithdrawal = last('withdrawal', [], {}, ['id']);

export const lastVersion = last('spend_version', [], {}, ['id']);

export const lastDebit = last('debit', [], {}, ['id']);

/** Advances the ids of withdrawals by a number. */
export const jumpWithdrawals = statement((p: { by: number }) =>
  sqlite
    .updateTable('sqlite_sequence')
    .set((eb) => ({ seq: eb('seq', '+', p.by) }))
    .where('name', '=', word('withdrawal')),
);

/** The same if no withdrawal was ever stored. */
export const beginWithdrawals = statement((p: { by: number }) =>
  sqlite
    .insertInto('sqlite_sequence')
    .columns(['name', 'seq'])
    .expression(
      sqlite
        .selectNoFrom([word('withdrawal').as('name'), sql<number>`${p.by}`.as('seq')])
        .where((eb) =>
          eb.not(eb.exists(eb.selectFrom('sqlite_sequence').select('name').where('name', '=', word('withdrawal')))),
        ),
    ),
);
