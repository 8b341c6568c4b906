/** Statements about withdrawals, what was signed for them, and the coins that are spoken for. */
import { type Selectable, sql } from 'kysely';
import type { Schema } from '../schema.ts';
import { sqlite, statement } from '../statement.ts';

export type WithdrawalRow = Selectable<Schema['withdrawal']>;

export type SpendRow = Selectable<Schema['spend']>;

export type VersionRow = Selectable<Schema['spend_version']>;

export type PayoutRow = Selectable<Schema['spend_payout']>;

export type CoinRow = {
  id: number;
  outpoint: string;
  txid: string;
  units: string;
  block_height: number | null;
  maturity: number;
  locked: number;
  confirmed: number;
  own_change: number;
  script: Uint8Array;
  branch: number;
  idx: number;
  inbox_state: string | null;
};

/** A coin whether or not it is there and unspent. */
export type AnyCoinRow = CoinRow & {
  spent_txid: string | null;
  spent_in_block: string | null;
  block_hash: string | null;
  gone: number;
};

const OPEN = sql.lit('open');
const WAITING = sql.lit('waiting');
const APPROVED = sql.lit('approved');

export const insertWithdrawal = statement((p: Omit<WithdrawalRow, 'id' | 'may_be_paid'>) =>
  sqlite.insertInto('withdrawal').values({
    uuid: p.uuid,
    business_id: p.business_id,
    account_id: p.account_id,
    chain_key: p.chain_key,
    asset: p.asset,
    origin: p.origin,
    units: p.units,
    sweep: p.sweep,
    fee_held: p.fee_held,
    address: p.address,
    face: p.face,
    outpoint: p.outpoint,
    inbox_id: p.inbox_id,
    invoice_id: p.invoice_id,
    state: p.state,
    held: p.held,
    reason: p.reason,
    usd_value: p.usd_value,
    approved_by: p.approved_by,
    approved_at: p.approved_at,
    approval: p.approval,
    deadline_at: p.deadline_at,
    spend_id: p.spend_id,
    cancel: p.cancel,
    fee: p.fee,
    txid: p.txid,
    problem: p.problem,
    created_at: p.created_at,
    updated_at: p.updated_at,
  }),
);

/** Writes back all that may change of a withdrawal, if it is still in the state that the caller read. */
export const updateWithdrawal = statement((p: WithdrawalRow & { was: string }) =>
  sqlite
    .updateTable('withdrawal')
    .set({
      units: p.units,
      fee_held: p.fee_held,
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

export const withdrawalById = statement((p: { id: number }) =>
  sqlite.selectFrom('withdrawal').selectAll().where('id', '=', p.id),
);

export const withdrawalsBelow = statement((p: { id: number; limit: number }) =>
  sqlite.selectFrom('withdrawal').selectAll().where('id', '<', p.id).orderBy('id', 'desc').limit(p.limit),
);

export const withdrawalsOfBusinessBelow = statement((p: { business_id: number; id: number; limit: number }) =>
  sqlite
    .selectFrom('withdrawal')
    .selectAll()
    .where('business_id', '=', p.business_id)
    .where('id', '<', p.id)
    .orderBy('id', 'desc')
    .limit(p.limit),
);

/** What the refunds of an invoice pay, or will: the ones that were neither rejected nor have failed. */
export const refundsOfInvoice = statement((p: { invoice_id: number }) =>
  sqlite
    .selectFrom('withdrawal')
    .select('units')
    .where('invoice_id', '=', p.invoice_id)
    .where('state', 'not in', [sql.lit('rejected'), sql.lit('failed')]),
);

/** The newest refunds of an invoice, in any state. */
export const newestRefundsOf = statement((p: { invoice_id: number; limit: number }) =>
  sqlite
    .selectFrom('withdrawal')
    .selectAll()
    .where('invoice_id', '=', p.invoice_id)
    .orderBy('id', 'desc')
    .limit(p.limit),
);

/** What is taken off an account's balance: open, and spending no coin yet. */
export const heldWithdrawals = statement((p: { account_id: number; asset: string }) =>
  sqlite
    .selectFrom('withdrawal')
    .selectAll()
    .where('account_id', '=', p.account_id)
    .where('asset', '=', p.asset)
    .where('held', '=', sql.lit(1)),
);

/** The approved ones of a chain that nobody tried to plan yet, oldest first. */
export const untriedWithdrawals = statement((p: { chain_key: string; limit: number }) =>
  sqlite
    .selectFrom('withdrawal')
    .selectAll()
    .where('chain_key', '=', p.chain_key)
    .where('state', '=', APPROVED)
    .where('spend_id', 'is', null)
    .where('problem', 'is', null)
    .orderBy('id')
    .limit(p.limit),
);

/** The approved ones of a chain that could not be planned so far, oldest first, above an id. */
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

/** Whether a chain has an approved one without a transaction: a row, or none. */
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

/** Whether more than `above` withdrawals of a business are not signed yet: a row, or none. */
export const waitingWithdrawalsAbove = statement((p: { business_id: number; above: number }) =>
  sqlite
    .selectFrom('withdrawal')
    .select('id')
    .where('business_id', '=', p.business_id)
    .where('state', 'in', [sql.lit('requested'), APPROVED])
    .orderBy('id')
    .limit(1)
    .offset(p.above),
);

/** What nobody decided, or signed, in time. One with a transaction ends with that. */
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

export const withdrawalsOfSpend = statement((p: { spend_id: number }) =>
  sqlite.selectFrom('withdrawal').selectAll().where('spend_id', '=', p.spend_id).orderBy('id'),
);

/** What a business's policy let go since an instant, in 1e-8 US dollars each. */
export const approvedByPolicySince = statement((p: { business_id: number; since: number }) =>
  sqlite
    .selectFrom('withdrawal')
    .select(['usd_value', 'state'])
    .where('business_id', '=', p.business_id)
    .where('approved_by', '=', sql.lit('policy'))
    .where('approved_at', '>', p.since),
);

/** Earlier withdrawals of a business to addresses that look alike. */
export const withdrawalsByFace = statement((p: { business_id: number; face: string; limit: number }) =>
  sqlite
    .selectFrom('withdrawal')
    .select(['id', 'address', 'state'])
    .where('business_id', '=', p.business_id)
    .where('face', '=', p.face)
    .limit(p.limit),
);

export const insertSpend = statement((p: Omit<SpendRow, 'id' | 'state' | 'closed_height'>) =>
  sqlite.insertInto('spend').values({
    account_id: p.account_id,
    chain_key: p.chain_key,
    asset: p.asset,
    purpose: p.purpose,
    anchor: p.anchor,
    state: 'open',
    created_at: p.created_at,
    closed_height: null,
  }),
);

export const spendById = statement((p: { id: number }) =>
  sqlite.selectFrom('spend').selectAll().where('id', '=', p.id),
);

export const openSpends = statement((p: { chain_key: string }) =>
  sqlite.selectFrom('spend').selectAll().where('chain_key', '=', p.chain_key).where('state', '=', OPEN).orderBy('id'),
);

export const spendsByAnchor = statement((p: { anchor: string; chain_key: string }) =>
  sqlite.selectFrom('spend').selectAll().where('anchor', '=', p.anchor).where('chain_key', '=', p.chain_key),
);

/** The spends that wait for coins that vanished: they reserve nothing. */
export const waitingSpends = statement((p: { chain_key: string }) =>
  sqlite
    .selectFrom('spend')
    .selectAll()
    .where('chain_key', '=', p.chain_key)
    .where('state', '=', WAITING)
    .orderBy('id'),
);

export const setSpendState = statement((p: { id: number; state: string; closed_height: number | null }) =>
  sqlite.updateTable('spend').set({ state: p.state, closed_height: p.closed_height }).where('id', '=', p.id),
);

/** Opens again what was decided at a tip of this height or a higher one. */
export const reopenSpendsFrom = statement((p: { chain_key: string; height: number }) =>
  sqlite
    .updateTable('spend')
    .set({ state: 'open', closed_height: null })
    .where('chain_key', '=', p.chain_key)
    .where('closed_height', 'is not', null)
    .where('closed_height', '>=', p.height),
);

export const deadTransaction = statement((p: { txid: string; chain_key: string }) =>
  sqlite.selectFrom('dead_tx').selectAll().where('txid', '=', p.txid).where('chain_key', '=', p.chain_key),
);

export const insertDeadTransaction = statement((p: Selectable<Schema['dead_tx']>) =>
  sqlite
    .insertInto('dead_tx')
    .values({
      txid: p.txid,
      chain_key: p.chain_key,
      conflict_txid: p.conflict_txid,
      block_height: p.block_height,
      block_hash: p.block_hash,
    })
    .onConflict((conflict) => conflict.doNothing()),
);

/** Forgets what a block that left the chain had made impossible. */
export const dropDeadTransactions = statement((p: { block_hash: string }) =>
  sqlite.deleteFrom('dead_tx').where('block_hash', '=', p.block_hash),
);

export const dropSpend = statement((p: { id: number }) => sqlite.deleteFrom('spend').where('id', '=', p.id));

export const insertVersion = statement(
  (p: Pick<VersionRow, 'spend_id' | 'chain_key' | 'kind' | 'plan' | 'approval' | 'fee' | 'vsize' | 'created_at'>) =>
    sqlite.insertInto('spend_version').values({
      spend_id: p.spend_id,
      chain_key: p.chain_key,
      kind: p.kind,
      plan: p.plan,
      approval: p.approval,
      txid: null,
      raw: null,
      fee: p.fee,
      vsize: p.vsize,
      created_at: p.created_at,
      signed_at: null,
      sent_at: null,
      problem: null,
    }),
);

export const versionById = statement((p: { id: number }) =>
  sqlite.selectFrom('spend_version').selectAll().where('id', '=', p.id),
);

export const versionsOf = statement((p: { spend_id: number }) =>
  sqlite.selectFrom('spend_version').selectAll().where('spend_id', '=', p.spend_id).orderBy('id'),
);

export const versionByTxid = statement((p: { txid: string; chain_key: string }) =>
  sqlite.selectFrom('spend_version').selectAll().where('txid', '=', p.txid).where('chain_key', '=', p.chain_key),
);

/** Stores the signed bytes of a version, once. */
export const signVersion = statement(
  (p: { id: number; txid: string; raw: string; fee: string; vsize: number; signed_at: number }) =>
    sqlite
      .updateTable('spend_version')
      .set({ txid: p.txid, raw: p.raw, fee: p.fee, vsize: p.vsize, signed_at: p.signed_at, problem: null })
      .where('id', '=', p.id)
      .where('txid', 'is', null),
);

export const setVersionSent = statement((p: { id: number; sent_at: number }) =>
  sqlite.updateTable('spend_version').set({ sent_at: p.sent_at, problem: null }).where('id', '=', p.id),
);

export const setVersionProblem = statement((p: { id: number; problem: string | null }) =>
  sqlite.updateTable('spend_version').set({ problem: p.problem }).where('id', '=', p.id),
);

/** Forgets a version that was never signed. */
export const dropVersion = statement((p: { id: number }) =>
  sqlite.deleteFrom('spend_version').where('id', '=', p.id).where('txid', 'is', null),
);

export const insertInput = statement((p: { outpoint: string; chain_key: string; version_id: number }) =>
  sqlite.insertInto('spend_input').values({
    outpoint: p.outpoint,
    chain_key: p.chain_key,
    version_id: p.version_id,
  }),
);

export const inputsOf = statement((p: { version_id: number }) =>
  sqlite.selectFrom('spend_input').select('outpoint').where('version_id', '=', p.version_id).orderBy('outpoint'),
);

export const dropInputs = statement((p: { version_id: number }) =>
  sqlite.deleteFrom('spend_input').where('version_id', '=', p.version_id),
);

/** The open spends whose versions name an outpoint: while there is one, the coin is reserved. */
export const spendsOfOutpoint = statement((p: { outpoint: string; chain_key: string }) =>
  sqlite
    .selectFrom('spend_input')
    .innerJoin('spend_version', 'spend_version.id', 'spend_input.version_id')
    .innerJoin('spend', 'spend.id', 'spend_version.spend_id')
    .select(['spend.id', 'spend_version.id as version_id', 'spend_version.txid'])
    .where('spend_input.outpoint', '=', p.outpoint)
    .where('spend_input.chain_key', '=', p.chain_key)
    .where('spend.state', '=', OPEN),
);

/** The spends that are not decided yet whose versions name an outpoint. */
export const undecidedSpendsOfOutpoint = statement((p: { outpoint: string; chain_key: string }) =>
  sqlite
    .selectFrom('spend_input')
    .innerJoin('spend_version', 'spend_version.id', 'spend_input.version_id')
    .innerJoin('spend', 'spend.id', 'spend_version.spend_id')
    .select('spend.id')
    .where('spend_input.outpoint', '=', p.outpoint)
    .where('spend_input.chain_key', '=', p.chain_key)
    .where('spend.state', 'in', [OPEN, WAITING]),
);

/** The open spends that spend from a transaction: `from` is "txid:" and `to` "txid;". */
export const spendsOfTransaction = statement((p: { from: string; to: string; chain_key: string }) =>
  sqlite
    .selectFrom('spend_input')
    .innerJoin('spend_version', 'spend_version.id', 'spend_input.version_id')
    .innerJoin('spend', 'spend.id', 'spend_version.spend_id')
    .select('spend.id')
    .where('spend_input.outpoint', '>=', p.from)
    .where('spend_input.outpoint', '<', p.to)
    .where('spend_input.chain_key', '=', p.chain_key)
    .where('spend.state', '=', OPEN),
);

/** Every outpoint that the open spends of a chain name. */
export const reservedOutpoints = statement((p: { chain_key: string }) =>
  sqlite
    .selectFrom('spend')
    .innerJoin('spend_version', 'spend_version.spend_id', 'spend.id')
    .innerJoin('spend_input', 'spend_input.version_id', 'spend_version.id')
    .select('spend_input.outpoint')
    .where('spend.chain_key', '=', p.chain_key)
    .where('spend.state', '=', OPEN),
);

export const insertPayout = statement((p: PayoutRow) =>
  sqlite.insertInto('spend_payout').values({
    version_id: p.version_id,
    withdrawal_id: p.withdrawal_id,
    units: p.units,
  }),
);

export const payoutsOf = statement((p: { version_id: number }) =>
  sqlite.selectFrom('spend_payout').selectAll().where('version_id', '=', p.version_id).orderBy('withdrawal_id'),
);

export const dropPayouts = statement((p: { version_id: number }) =>
  sqlite.deleteFrom('spend_payout').where('version_id', '=', p.version_id),
);

/** Coins with where their keys are, and what became of them in the inbox. */
const coins = sqlite
  .selectFrom('credit')
  .innerJoin('target', 'target.id', 'credit.target_id')
  .leftJoin('inbox', 'inbox.credit_id', 'credit.id')
  .select([
    'credit.id',
    'credit.outpoint',
    'credit.txid',
    'credit.units',
    'credit.block_height',
    'credit.maturity',
    'credit.locked',
    'credit.confirmed',
    'credit.own_change',
    'target.script',
    'target.branch',
    'target.idx',
    'inbox.state as inbox_state',
  ]);

/** The unspent coins of an account, confirmed or not, the most valuable first: dust never hides what is worth more. */
export const coinsOf = statement((p: { account_id: number; asset: string; limit: number }) =>
  coins
    .where('credit.account_id', '=', p.account_id)
    .where('credit.asset', '=', p.asset)
    .where('credit.spent_txid', 'is', null)
    .where('credit.gone', '=', sql.lit(0))
    .orderBy(sql`length(credit.units)`, 'desc')
    .orderBy('credit.units', 'desc')
    .orderBy('credit.id')
    .limit(p.limit),
);

/** The coin of an outpoint, spent or not. */
export const coinByOutpoint = statement((p: { outpoint: string; chain_key: string }) =>
  coins
    .select(['credit.spent_txid', 'credit.spent_block_hash as spent_in_block', 'credit.block_hash', 'credit.gone'])
    .where('credit.outpoint', '=', p.outpoint)
    .where('credit.chain_key', '=', p.chain_key),
);

/** Takes a change index, if it is still the next one. */
export const takeChangeIndex = statement((p: { id: number; next_change: number }) =>
  sqlite
    .updateTable('account')
    .set((eb) => ({ next_change: eb('next_change', '+', 1) }))
    .where('id', '=', p.id)
    .where('next_change', '=', p.next_change),
);
