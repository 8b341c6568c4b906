/** Several withdrawals in one transaction. */
import { Rejected } from '../../domain/errors.ts';
import { maxOf, shareOf } from '../../domain/money.ts';
import type { WithdrawalRow } from '../../store/queries/withdrawals.ts';
import type { Tx } from '../../store/store.ts';
import { FEE_UNLIMITED } from '../../wallet/signer/limits.ts';
import type { Intent } from '../../wallet/signer/port.ts';
import type { App } from '../app.ts';
import { claim, overtakenIsRejected } from '../spends/claim.ts';
import { feeRateNow, needApprovable } from '../spends/fees.ts';
import { isUnasked } from '../spends/payment.ts';
import { holderOf, prepare } from '../spends/plan.ts';
import { whyUncovered } from '../spends/refund-left.ts';
import { applyEvent, findWithdrawal, withdrawalOf } from '../spends/rows.ts';
import { intentOf } from '../spends/sign.ts';
import { approvedFields, describePlan, type GivenApproval, heldWithin, type Preview } from './approve.ts';
import { feeWarnings } from './warnings.ts';

const BATCH_MAX = 100;

/** A preview of one transaction for all of these withdrawals. Throws `Rejected`. */
export async function previewBatch(app: App, names: readonly string[]): Promise<Preview> {
  const { holder, rows, planned } = await batched(app, names, () => FEE_UNLIMITED);
  const limit = needApprovable(holder.chain, planned.plan);
  const share = shareOf(planned.plan.fee, rows.length);
  // more may be reserved for each, as long as the sum is within the limits
  const allowed = rows.map((row) => ({ row, feeMax: maxOf(share, heldWithin(row, limit / BigInt(rows.length))) }));
  const intents = allowed.map(({ row, feeMax }): Intent => ({ ...intentOf(holder, row), feeMax: `${feeMax}` }));
  const sum = allowed.reduce((total, { feeMax }) => total + feeMax, 0n);
  const described = describePlan(app, holder, planned.plan, rows);
  const lowered = allowed.flatMap(({ row, feeMax }) => feeWarnings(row, feeMax));
  const warnings = [...described.warnings, ...lowered];
  return { ...described, warnings, purpose: 'pay', intents, feeMax: sum };
}

/** Approves the withdrawals that still wait, and claims all of them for one transaction. Throws `Rejected`. */
export async function batch(
  app: App,
  names: readonly string[],
  approvals: ReadonlyMap<string, GivenApproval>,
): Promise<WithdrawalRow[]> {
  const { holder, rows, planned } = await batched(app, names, (row) => approvals.get(row.uuid)?.feeMax ?? row.fee_held);
  return app.store.write((tx) =>
    overtakenIsRejected(() => {
      for (const { id } of rows) approveForBatch(app, tx, withdrawalOf(tx, id), approvals);
      claim(
        app,
        tx,
        holder,
        planned,
        rows.map(({ id }) => withdrawalOf(tx, id)),
      );
      tx.afterCommit(() => app.wake.withdrawals(holder.chain.key));
      return rows.map(({ id }) => withdrawalOf(tx, id));
    }),
  );
}

/** Approved ones need a new approval too, because the batch's fee is part of it. */
function approveForBatch(app: App, tx: Tx, row: WithdrawalRow, approvals: ReadonlyMap<string, GivenApproval>): void {
  const given = approvals.get(row.uuid);
  if (given) {
    const waiting = row.state === 'approved' ? applyEvent(app, tx, row, 'return') : row;
    applyEvent(app, tx, waiting, 'approve', approvedFields(app, tx, waiting, given));
  } else if (row.state !== 'approved') {
    throw new Rejected('withdrawal.approval', `Withdrawal ${row.id} is not approved yet`);
  }
}

async function batched(app: App, names: readonly string[], feeMaxOf: (row: WithdrawalRow) => bigint) {
  const rows = [...new Set(names)].map((name) => findWithdrawal(app.store, name)).sort((a, b) => a.id - b.id);
  const [first] = rows;
  if (!first || rows.length < 2 || rows.length > BATCH_MAX) {
    throw new Rejected('withdrawal.batch', `A batch has 2 to ${BATCH_MAX} withdrawals`, 'ids');
  }
  for (const row of rows) {
    if (row.account_id !== first.account_id || row.asset !== first.asset) {
      throw new Rejected('withdrawal.batch', 'A batch is of one business and one crypto', 'ids');
    }
    if ((row.state !== 'requested' && row.state !== 'approved') || row.spend_id !== null) {
      throw new Rejected('withdrawal.state', `Withdrawal ${row.id} is ${row.state}: it cannot join a batch`);
    }
    const uncovered = whyUncovered(app.store, row);
    if (uncovered) throw uncovered;
    if (row.sweep || row.outpoint !== null) {
      throw new Rejected('withdrawal.batch', `Withdrawal ${row.id} takes whole coins and stands alone`, 'ids');
    }
  }
  const holder = holderOf(app, first);
  const planned = await prepare(app, holder, {
    payouts: rows.map(({ address, units }) => ({ address, units })),
    feeRate: await feeRateNow(holder.chain),
    feeMax: rows.reduce((sum, row) => sum + feeMaxOf(row), 0n),
    settledOnly: rows.some(({ approved_by }) => isUnasked(approved_by)),
  });
  return { holder, rows, planned };
}
