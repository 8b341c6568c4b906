/** Statements about targets, credits, spends, running balances and the inbox. */
import { sql } from 'kysely';
import type { AssetId } from '../../domain/assets.ts';
import type { Row } from '../schema.ts';
import {
  columnsBut,
  find,
  inOrder,
  insert,
  matching,
  NO,
  page,
  remove,
  SOME,
  sqlite,
  statement,
  update,
  upTo,
  YES,
} from '../statement.ts';
import { invoiceOfTarget, readyTargets } from './ready.ts';

export type CreditRow = Row<'credit'>;

export type TargetRow = Row<'target'>;

export const insertTarget = insert('target', columnsBut('target', 'id'), 'ignore');

export const targetIdByScript = matching('target', ['script', 'chain_key'], {}, ['id']);

/** `invoice_id` is right also where the row does not say it yet. */
export const targetById = statement((p: { id: number }) =>
  sqlite
    .selectFrom('target')
    .select(columnsBut('target', 'invoice_id'))
    .select(invoiceOfTarget.as('invoice_id'))
    .where('id', '=', p.id),
);

const hasReceived = sql<0 | 1>`EXISTS (SELECT 1 FROM credit WHERE credit.target_id = target.id)`;

/** The next unused address of an account. */
export const nextFreeTarget = statement((p: { account_id: number }) => freeTargets(p.account_id));

/** The next unused address of an account that has received nothing. */
export const nextUntouchedTarget = statement((p: { account_id: number }) =>
  freeTargets(p.account_id).where(sql<boolean>`NOT ${hasReceived}`),
);

function freeTargets(accountId: number) {
  return readyTargets(accountId)
    .select(['id', 'account_id', 'idx', 'address', 'chain_key', 'script'])
    .select(hasReceived.as('touched'))
    .orderBy('idx')
    .limit(sql.lit(1));
}

export const assignTarget = update('target', ['invoice_id'], 'id');

export const insertCredit = insert('credit', columnsBut('credit', 'id'));

/** Updates all columns of a credit that can change. */
export const updateCredit = update(
  'credit',
  [
    'block_height',
    'block_hash',
    'block_time',
    'first_seen_at',
    'inherited',
    'value',
    'usd_value',
    'required',
    'replaceable',
    'locked',
    'confirmed',
    'settled',
    'counted',
    'gone',
    'gone_at',
    'claim',
    'spent_txid',
    'spent_block_hash',
    'spent_block_height',
  ],
  'id',
);

export const setClaim = update('credit', ['claim'], 'id');

export const creditById = find('credit', 'id');

export const creditByOutpoint = find('credit', 'outpoint', 'chain_key');

/** The credits of a transaction: `from` is "txid:" and `to` "txid;". */
export const creditsOfTransaction = statement((p: { from: string; to: string; chain_key: string }) =>
  sqlite
    .selectFrom('credit')
    .selectAll()
    .where('outpoint', '>=', p.from)
    .where('outpoint', '<', p.to)
    .where('chain_key', '=', p.chain_key),
);

/** The same in pages, after an outpoint. */
export const creditsOfTransactionAfter = statement(
  (p: { after: string; to: string; chain_key: string; limit: number }) =>
    sqlite
      .selectFrom('credit')
      .selectAll()
      .where('outpoint', '>', p.after)
      .where('outpoint', '<', p.to)
      .where('chain_key', '=', p.chain_key)
      .orderBy('outpoint')
      .limit(p.limit),
);

/** One credit of a target, whether it still exists or not. */
export const anyCreditOfTarget = matching('credit', ['target_id'], {}, ['id']);

export const creditsOfTarget = inOrder('credit', ['target_id']);

/** Whether a credit counts for the invoice of its address, or may count later. Written as in the partial index. */
const pays = sql<boolean>`(claim is null or claim = 'invoice')`;

/** The credits of an address in an asset that its invoice counts, or may count later. */
export const payingCredits = statement((p: { target_id: number; asset: AssetId }) =>
  sqlite
    .selectFrom('credit')
    .selectAll()
    .where('target_id', '=', p.target_id)
    .where('gone', '=', NO)
    .where(pays)
    .where('asset', '=', p.asset)
    .where('locked', '=', NO)
    .orderBy('id'),
);

/** The next credit of an address that its invoice may count, after `skip` others; undefined if there is none. */
export const payingCreditAfter = statement((p: { target_id: number; skip: number }) =>
  sqlite
    .selectFrom('credit')
    .select('id')
    .where('target_id', '=', p.target_id)
    .where('gone', '=', NO)
    .where(pays)
    .limit(sql.lit(1))
    .offset(p.skip),
);

/** The credits of an address in an asset, with any claim. */
export const arrivedCredits = upTo('credit', ['target_id', 'asset'], { gone: false, locked: false }, ['units']);

/** A credit of an address, with any claim, that lacks confirmations. */
export const creditUnderWay = matching(
  'credit',
  ['target_id', 'asset'],
  { gone: false, locked: false, confirmed: false },
  ['id'],
);

/** A page, by id, of the credits of a chain that further blocks can change. */
export const unsettledCredits = page('credit', ['chain_key'], { settled: false, gone: false });

/** A page, by id, of the credits that are in no block. */
export const unconfirmedCredits = page('credit', ['chain_key'], { block_hash: null, gone: false });

/** A page, by id, of the credits without a value in dollars. */
export const unvaluedCredits = statement((p: { chain_key: string; after: number; limit: number }) =>
  sqlite
    .selectFrom('credit')
    .selectAll()
    .where('chain_key', '=', p.chain_key)
    .where((eb) => eb.or([eb('value', 'is', null), eb('usd_value', 'is', null)]))
    .where('invoice_id', 'is not', null)
    .where('gone', '=', NO)
    .where('id', '>', p.after)
    .orderBy('id')
    .limit(p.limit),
);

/** A page, by id, of the credits in a block. */
export const creditsInBlock = page('credit', ['block_hash']);

/** A page, by id, of the coins of ours that a block spends. */
export const creditsSpentInBlock = page('credit', ['spent_block_hash']);

/** A page, by id, of the coins of ours that unconfirmed transactions spend. */
export const creditsSpentUnconfirmed = page('credit', ['chain_key'], { spent_txid: SOME, spent_block_hash: null });

/**
 * The credits that vanished first, up to a time. Own change, conflict keys of versions, decided deposits and those of refund links are
 * excluded: the number of a deleted item of the inbox may be given again, and a link would pay out another one's deposit.
 */
export const vanishedCredits = statement((p: { chain_key: string; before: number; limit: number }) =>
  sqlite
    .selectFrom('credit')
    .select(['id', 'txid', 'outpoint'])
    .where('chain_key', '=', p.chain_key)
    .where('gone', '=', YES)
    .where('gone_at', '<=', p.before)
    .where('own_change', '=', NO)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('spend_key')
            .select('version_id')
            .whereRef('spend_key.conflict_key', '=', 'credit.outpoint')
            .whereRef('spend_key.chain_key', '=', 'credit.chain_key'),
        ),
      ),
    )
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('inbox')
            .select('inbox.id')
            .whereRef('inbox.credit_id', '=', 'credit.id')
            .where((eb) =>
              eb.or([
                eb('inbox.state', '<>', sql.lit('open')),
                eb.exists(
                  eb
                    .selectFrom('refund_link')
                    .select('refund_link.id')
                    .whereRef('refund_link.inbox_id', '=', 'inbox.id')
                    .where('refund_link.inbox_id', 'is not', null),
                ),
              ]),
            ),
        ),
      ),
    )
    .orderBy('gone_at')
    .limit(p.limit),
);

/** When the credit vanished that is `skip` places before the last vanished one; undefined if there are fewer. */
export const vanishedAfter = statement((p: { chain_key: string; skip: number }) =>
  sqlite
    .selectFrom('credit')
    .select('gone_at')
    .where('chain_key', '=', p.chain_key)
    .where('gone', '=', YES)
    .orderBy('gone_at', 'desc')
    .limit(sql.lit(1))
    .offset(p.skip),
);

export const deleteCredit = remove('credit', 'id');

export const deleteInboxItem = remove('inbox', 'credit_id');

export const balanceOf = matching('balance', ['account_id', 'asset'], {}, ['units']);

export const balancesOfAccount = find('balance', 'account_id');

export const setBalance = insert('balance', columnsBut('balance'), ['account_id', 'asset']);

/**
 * Files a deposit. One that was counted for its invoice, and now is locked or turns out to be too much for it, is
 * decided about once more; any other is filed once.
 */
export const insertInboxItem = statement(
  (p: {
    credit_id: number;
    business_id: number;
    invoice_id: number | null;
    reason: Row<'inbox'>['reason'];
    state: Row<'inbox'>['state'];
    silent: boolean;
    units: bigint | null;
    created_at: number;
  }) =>
    sqlite
      .insertInto('inbox')
      .values({
        credit_id: p.credit_id,
        business_id: p.business_id,
        invoice_id: p.invoice_id,
        reason: p.reason,
        state: p.state,
        silent: p.silent,
        units: p.units,
        created_at: p.created_at,
        updated_at: p.created_at,
      })
      .onConflict((conflict) =>
        conflict
          .column('credit_id')
          .doUpdateSet((eb) => ({
            reason: eb.ref('excluded.reason'),
            state: eb.ref('excluded.state'),
            silent: eb.ref('excluded.silent'),
            units: eb.ref('excluded.units'),
            told: NO,
            updated_at: eb.ref('excluded.updated_at'),
          }))
          .where('inbox.state', '=', sql.lit('accepted')),
      ),
);

/** The deposits in blocks, with their confirmations, about which a business has to decide and hears by alerts. */
const waitingDeposits = sqlite
  .selectFrom('inbox')
  .innerJoin('credit', 'credit.id', 'inbox.credit_id')
  .select(['inbox.id', 'inbox.told', 'inbox.units as part', 'credit.asset', 'credit.units', 'credit.chain_key'])
  .where('inbox.state', '=', sql.lit('open'))
  .where('inbox.silent', '=', NO)
  .where('credit.settled', '=', YES)
  .where('credit.gone', '=', NO);

/** Those that no alert has counted come first. */
export const depositsToDecide = statement((p: { business_id: number; limit: number }) =>
  waitingDeposits
    .where('inbox.business_id', '=', p.business_id)
    .orderBy('inbox.told')
    .orderBy('inbox.id')
    .limit(p.limit),
);

/** Those that no alert has counted, above an id. */
export const untoldDeposits = statement((p: { business_id: number; after: number; limit: number }) =>
  waitingDeposits
    .where('inbox.business_id', '=', p.business_id)
    .where('inbox.told', '=', NO)
    .where('inbox.id', '>', p.after)
    .orderBy('inbox.id')
    .limit(p.limit),
);

export const markTold = update('inbox', [{ told: true }], 'id');

/** Deposits that wait again, such as one whose block left the chain, are told again. */
export const forgetTold = update('inbox', [{ told: false }], 'business_id', {
  state: 'open',
  silent: false,
  told: true,
});
