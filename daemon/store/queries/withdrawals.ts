/** Statements about withdrawals, their signed transactions, and reserved coins. */

import { sql } from 'kysely';
import type { AssetId } from '../../domain/assets.ts';
import type { WithdrawalState } from '../../domain/withdrawal.ts';
import type { Row } from '../schema.ts';
import {
  below,
  columnsBut,
  find,
  inOrder,
  insert,
  matching,
  NO,
  newest,
  oldest,
  remove,
  SOME,
  type Statement,
  sqlite,
  statement,
  update,
  word,
  YES,
} from '../statement.ts';

export type WithdrawalRow = Row<'withdrawal'>;

export type SpendRow = Row<'spend'>;

export type VersionRow = Row<'spend_version'>;

export type PayoutRow = Row<'spend_payout'>;

/** The columns of coins with their derivation indices and their decisions in the inbox. */
const COIN = [
  'id',
  'outpoint',
  'txid',
  'asset',
  'units',
  'block_height',
  'maturity',
  'locked',
  'confirmed',
  'own_change',
] as const;
const POSITION = ['script', 'branch', 'idx'] as const;

export type CoinRow = Pick<Row<'credit'>, (typeof COIN)[number]> &
  Pick<Row<'target'>, (typeof POSITION)[number]> & { inbox_state: string | null };

/** A coin, whether it still exists and is unspent or not. */
export type AnyCoinRow = CoinRow &
  Pick<Row<'credit'>, 'spent_txid' | 'block_hash' | 'gone'> & { spent_in_block: string | null };

const OPEN = word('open');
const WAITING = word('waiting');
const APPROVED = word('approved');
const COMPLETED = word('completed');

export const insertWithdrawal = insert(
  'withdrawal',
  columnsBut('withdrawal', 'id', 'may_be_paid', 'refund_told', 'speed'),
);

/** Updates all columns of a withdrawal that can change, if its state is still the one that the caller read. */
export const updateWithdrawal = statement((p: WithdrawalRow & { was: WithdrawalState }) =>
  sqlite
    .updateTable('withdrawal')
    .set({
      units: p.units,
      fee_held: p.fee_held,
      speed: p.speed,
      state: p.state,
      held: p.held,
      reason: p.reason,
      approved_by: p.approved_by,
      approved_at: p.approved_at,
      approval: p.approval,
      deadline_at: p.deadline_at,
      spend_id: p.spend_id,
      cancel: p.cancel,
      fee: p.fee,
      txid: p.txid,
      problem: p.problem,
      updated_at: p.updated_at,
    })
    .where('id', '=', p.id)
    .where('state', '=', p.was),
);

/** Notes that shops are told of a refund, if they were not. */
export const setRefundTold = update('withdrawal', [{ refund_told: true }], 'id', { refund_told: false });

export const withdrawalById = find('withdrawal', 'id');

export const withdrawalsBelow = below('withdrawal');

export const withdrawalsOfBusinessBelow = below('withdrawal', ['business_id']);

/** The amounts of an invoice's refunds, without rejected and failed ones. */
export const refundsOfInvoice = statement((p: { invoice_id: number; asset: AssetId }) =>
  sqlite
    .selectFrom('withdrawal')
    .select('units')
    .where('invoice_id', '=', p.invoice_id)
    .where('asset', '=', p.asset)
    .where('state', 'not in', [word('rejected'), word('failed')]),
);

/** The amounts of an invoice's other refunds that are being signed, or were. */
export const refundsUnderWay = statement((p: { invoice_id: number; asset: AssetId; id: number }) =>
  sqlite
    .selectFrom('withdrawal')
    .select('units')
    .where('invoice_id', '=', p.invoice_id)
    .where('asset', '=', p.asset)
    .where('id', '!=', p.id)
    .where('state', 'not in', [word('rejected'), word('failed')])
    .where((eb) =>
      eb.or([
        eb('spend_id', 'is not', null),
        eb('state', 'in', [word('signed'), word('broadcast'), word('completed')]),
      ]),
    ),
);

/** The completed refunds of a business's invoices that changed since a time, newest first. */
export const refundsSince = statement((p: { business_id: number; since: number; limit: number }) =>
  sqlite
    .selectFrom('withdrawal')
    .select(['txid', 'chain_key', 'usd_value', 'updated_at'])
    .where('business_id', '=', p.business_id)
    .where('invoice_id', 'is not', null)
    .where('state', '=', COMPLETED)
    .where('updated_at', '>=', p.since)
    .orderBy('updated_at', 'desc')
    .limit(p.limit),
);

/** The amounts of an invoice's refunds whose transactions are confirmed, in the order of their requests. */
export const refundedOf = oldest('withdrawal', ['invoice_id'], { state: 'completed' }, [
  'id',
  'asset',
  'units',
  'txid',
  'chain_key',
]);

/** The newest refunds of an invoice, in any state. */
export const newestRefundsOf = newest('withdrawal', ['invoice_id']);

/** Withdrawals that reserve a balance of an account, in any asset: open ones without a transaction. */
export const heldWithdrawals = inOrder('withdrawal', ['account_id'], { held: true });

/** The failed withdrawals of a business to similar addresses. */
export const failedWithdrawalsTo = inOrder('withdrawal', ['business_id', 'lookalike_key'], { state: 'failed' });

/** The approved withdrawals of a chain that were never planned, oldest first. */
export const untriedWithdrawals = oldest('withdrawal', ['chain_key'], {
  state: 'approved',
  spend_id: null,
  problem: null,
});

/** The approved withdrawals of a chain above an id whose planning failed, oldest first. */
export const triedWithdrawalsAbove = statement((p: { chain_key: string; id: number; limit: number }) =>
  sqlite
    .selectFrom('withdrawal')
    .selectAll()
    .where('chain_key', '=', p.chain_key)
    .where('state', '=', APPROVED)
    .where('spend_id', 'is', null)
    .where('problem', 'is not', null)
    .where('id', '>', p.id)
    .orderBy('id')
    .limit(p.limit),
);

/** Returns a row if a chain has an approved withdrawal without a transaction. */
export const unclaimedWithdrawal = statement((p: { chain_key: string }) =>
  sqlite
    .selectFrom('withdrawal')
    .select('id')
    .where('chain_key', '=', p.chain_key)
    .where('state', '=', APPROVED)
    .where('spend_id', 'is', null)
    .orderBy('id')
    .limit(1),
);

/** Returns a row if more than `above` withdrawals of a business are unsigned. */
export const waitingWithdrawalsAbove = statement((p: { business_id: number; above: number }) =>
  sqlite
    .selectFrom('withdrawal')
    .select('id')
    .where('business_id', '=', p.business_id)
    .where('state', 'in', [word('requested'), APPROVED])
    .orderBy('id')
    .limit(1)
    .offset(p.above),
);

/** Unsigned withdrawals without a transaction whose deadline has passed. */
export const expiredWithdrawals = statement((p: { now: number; limit: number }) =>
  sqlite
    .selectFrom('withdrawal')
    .selectAll()
    .where('deadline_at', 'is not', null)
    .where('deadline_at', '<=', p.now)
    .where('spend_id', 'is', null)
    .orderBy('deadline_at')
    .limit(p.limit),
);

export const withdrawalsOfSpend = inOrder('withdrawal', ['spend_id']);

/** The values that a business's policy approved since a time, in 1e-8 US dollars each. */
export const approvedByPolicySince = statement((p: { business_id: number; since: number }) =>
  sqlite
    .selectFrom('withdrawal')
    .select(['usd_value', 'state'])
    .where('business_id', '=', p.business_id)
    .where('approved_by', '=', word('policy'))
    .where('approved_at', '>', p.since),
);

type Alike = { business_id: number; lookalike_key: string; limit: number };

const payees = (p: Alike) =>
  sqlite
    .selectFrom('withdrawal')
    .select((eb) => [
      'address',
      eb.fn.countAll<number>().as('payments'),
      eb.fn.min<number | null>('approved_at').as('first_at'),
      eb.fn.max<number>('updated_at').as('last_at'),
    ])
    .where('business_id', '=', p.business_id)
    .where('lookalike_key', '=', p.lookalike_key)
    .limit(p.limit);

/**
 * By address, a business's withdrawals to similar addresses that the operator approved and the chain completed. They
 * are asked for by themselves, so that no number of others hides them.
 */
export const approvedPayees = statement((p: Alike) =>
  payees(p).where('approved_by', '=', word('operator')).where('state', '=', word('completed')).groupBy('address'),
);

/** The addresses of a business that the operator approved a completed payment to, up to a limit. */
export const trustedPayees = statement((p: { business_id: number; limit: number }) =>
  sqlite
    .selectFrom('withdrawal')
    .select(['lookalike_key', 'address'])
    .where('business_id', '=', p.business_id)
    .where('approved_by', '=', word('operator'))
    .where('state', '=', word('completed'))
    .groupBy(['lookalike_key', 'address'])
    .limit(p.limit),
);

/** All of them, by address, approval and state. */
export const allPayees = statement((p: Alike) =>
  payees(p).select(['approved_by', 'state']).groupBy(['address', 'approved_by', 'state']),
);

export const insertSpend = statement((p: Omit<SpendRow, 'id' | 'state' | 'closed_height'>) =>
  sqlite.insertInto('spend').values({
    account_id: p.account_id,
    chain_key: p.chain_key,
    asset: p.asset,
    purpose: p.purpose,
    subject: p.subject,
    conflict_key: p.conflict_key,
    state: 'open',
    created_at: p.created_at,
    closed_height: null,
    forwards: p.forwards,
  }),
);

export const spendById = find('spend', 'id');

export const openSpends = inOrder('spend', ['chain_key'], { state: 'open' });

export const spendsByKey = find('spend', 'conflict_key', 'chain_key');

/** Spends whose coins vanished. They reserve no conflict keys. */
export const waitingSpends = inOrder('spend', ['chain_key'], { state: 'waiting' });

export const setSpendState = update('spend', ['state', 'closed_height'], 'id');

/** Reopens the spends that were decided at a tip of this height or a higher one. */
export const reopenSpendsFrom = statement((p: { chain_key: string; height: number }) =>
  sqlite
    .updateTable('spend')
    .set({ state: 'open', closed_height: null })
    .where('chain_key', '=', p.chain_key)
    .where('closed_height', 'is not', null)
    .where('closed_height', '>=', p.height),
);

export const deadTransaction = find('dead_tx', 'txid', 'chain_key');

export const insertDeadTransaction = insert('dead_tx', columnsBut('dead_tx'), 'ignore');

/** Drops the transactions that a block made impossible, after the block left the chain. */
export const dropDeadTransactions = remove('dead_tx', 'block_hash');

export const dropSpend = remove('spend', 'id');

export const insertVersion = insert('spend_version', [
  'spend_id',
  'chain_key',
  'kind',
  'plan',
  'approval',
  'fee',
  'size',
  'created_at',
]);

export const versionById = find('spend_version', 'id');

export const versionsOf = inOrder('spend_version', ['spend_id']);

export const versionByTxid = find('spend_version', 'txid', 'chain_key');

type SignedVersion = Pick<VersionRow, 'id' | 'fee' | 'size' | 'proof'> & {
  txid: string;
  raw: string;
  signed_at: number;
};

/** Stores the signed bytes of a version if it has none. */
export const signVersion: Statement<SignedVersion, never> = update(
  'spend_version',
  ['txid', 'raw', 'fee', 'size', 'proof', 'signed_at', { problem: null }],
  'id',
  { txid: null },
);

export const setVersionSent = update('spend_version', ['sent_at', { problem: null }], 'id');

export const setVersionProblem = update('spend_version', ['problem'], 'id');

/** Deletes an unsigned version. */
export const dropVersion = statement((p: { id: number }) =>
  sqlite.deleteFrom('spend_version').where('id', '=', p.id).where('txid', 'is', null),
);

export const insertKey = insert('spend_key', columnsBut('spend_key'));

export const keysOf = statement((p: { version_id: number }) =>
  sqlite.selectFrom('spend_key').select('conflict_key').where('version_id', '=', p.version_id).orderBy('conflict_key'),
);

export const dropKeys = remove('spend_key', 'version_id');

const keys = sqlite
  .selectFrom('spend_key')
  .innerJoin('spend_version', 'spend_version.id', 'spend_key.version_id')
  .innerJoin('spend', 'spend.id', 'spend_version.spend_id');

/** The open spends whose versions use a conflict key. While there is one, the key is reserved. */
export const spendsOfKey = statement((p: { conflict_key: string; chain_key: string }) =>
  keys
    .select(['spend.id', 'spend_version.id as version_id', 'spend_version.txid'])
    .where('spend_key.conflict_key', '=', p.conflict_key)
    .where('spend_key.chain_key', '=', p.chain_key)
    .where('spend.state', '=', OPEN),
);

/** The undecided spends whose versions use a conflict key. */
export const undecidedSpendsOfKey = statement((p: { conflict_key: string; chain_key: string }) =>
  keys
    .select('spend.id')
    .where('spend_key.conflict_key', '=', p.conflict_key)
    .where('spend_key.chain_key', '=', p.chain_key)
    .where('spend.state', 'in', [OPEN, WAITING]),
);

/** The open spends that spend from a transaction: `from` is "txid:" and `to` "txid;". */
export const spendsOfTransaction = statement((p: { from: string; to: string; chain_key: string }) =>
  keys
    .select('spend.id')
    .where('spend_key.conflict_key', '>=', p.from)
    .where('spend_key.conflict_key', '<', p.to)
    .where('spend_key.chain_key', '=', p.chain_key)
    .where('spend.state', '=', OPEN),
);

/** The open payments to ourselves for a deposit or an address. */
export const openSpendsFor = matching('spend', ['chain_key', 'subject'], { subject: SOME, state: 'open' });

/** Every conflict key that the open spends of a chain use. */
export const reservedKeys = statement((p: { chain_key: string }) =>
  sqlite
    .selectFrom('spend')
    .innerJoin('spend_version', 'spend_version.spend_id', 'spend.id')
    .innerJoin('spend_key', 'spend_key.version_id', 'spend_version.id')
    .select('spend_key.conflict_key')
    .where('spend.chain_key', '=', p.chain_key)
    .where('spend.state', '=', OPEN),
);

export const insertPayout = insert('spend_payout', columnsBut('spend_payout'));

export const payoutsOf = statement((p: { version_id: number }) =>
  sqlite.selectFrom('spend_payout').selectAll().where('version_id', '=', p.version_id).orderBy('withdrawal_id'),
);

/** The withdrawals that a version pays. */
export const paidBy = statement((p: { version_id: number }) =>
  sqlite
    .selectFrom('spend_payout')
    .innerJoin('withdrawal', 'withdrawal.id', 'spend_payout.withdrawal_id')
    .selectAll('withdrawal')
    .where('spend_payout.version_id', '=', p.version_id)
    .orderBy('spend_payout.withdrawal_id'),
);

export const dropPayouts = remove('spend_payout', 'version_id');

const coins = sqlite
  .selectFrom('credit')
  .innerJoin('target', 'target.id', 'credit.target_id')
  .leftJoin('inbox', 'inbox.credit_id', 'credit.id')
  .select(COIN.map((name) => `credit.${name}` as const))
  .select(POSITION.map((name) => `target.${name}` as const))
  .select('inbox.state as inbox_state');

/** The unspent coins of an account, confirmed or not, the most valuable first: dust never fills the limit. */
export const coinsOf = statement((p: { account_id: number; asset: AssetId; limit: number }) =>
  coins
    .where('credit.account_id', '=', p.account_id)
    .where('credit.asset', '=', p.asset)
    .where('credit.spent_txid', 'is', null)
    .where('credit.gone', '=', NO)
    .orderBy(sql`length(credit.units)`, 'desc')
    .orderBy('credit.units', 'desc')
    .orderBy('credit.id')
    .limit(p.limit),
);

/** Coins of an account that can be spent some blocks later: those in blocks, and our own change. */
export const immatureCoins = statement((p: { account_id: number; asset: AssetId; limit: number }) =>
  sqlite
    .selectFrom('credit')
    .select(['units', 'block_height', 'maturity'])
    .where('account_id', '=', p.account_id)
    .where('asset', '=', p.asset)
    .where('spent_txid', 'is', null)
    .where('gone', '=', NO)
    .where('counted', '=', NO)
    .where('locked', '=', NO)
    .where('maturity', '>', sql.lit(0))
    .where((eb) => eb.or([eb('block_height', 'is not', null), eb('own_change', '=', YES)]))
    .limit(p.limit),
);

/** The coin at an outpoint, spent or not. */
export const coinByOutpoint = statement((p: { outpoint: string; chain_key: string }) =>
  coins
    .select(['credit.spent_txid', 'credit.spent_block_hash as spent_in_block', 'credit.block_hash', 'credit.gone'])
    .where('credit.outpoint', '=', p.outpoint)
    .where('credit.chain_key', '=', p.chain_key),
);

/** Reserves a change index if it is still the next one. */
export const takeChangeIndex = statement((p: { id: number; next_change: number }) =>
  sqlite
    .updateTable('account')
    .set((eb) => ({ next_change: eb('next_change', '+', 1) }))
    .where('id', '=', p.id)
    .where('next_change', '=', p.next_change),
);
