/**
 * Takes back the coins of a payment that was signed elsewhere, by a machine that is lost. The wallet, which was restored, signs no
 * cancellation of what it does not know. So it is a payment to ourselves, which the operator approves as a first one.
 *
 * Invariants. It is a version of the payment and shares a conflict key with each version that was seen, so that at most one confirms. The
 * withdrawals end once it is deep; until then what was signed before may still pay them.
 */
import { randomUUIDv7 } from 'node:crypto';
import { Rejected } from '../../domain/errors.ts';
import { isOpen } from '../../domain/withdrawal.ts';
import { type WithdrawalRow, withdrawalsOfSpend } from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import { FEE_UNLIMITED } from '../../wallet/signer/limits.ts';
import type { Approval, Intent } from '../../wallet/signer/port.ts';
import type { App } from '../app.ts';
import { addVersion, Overtaken, overtakenIsRejected } from '../spends/claim.ts';
import { needApprovable } from '../spends/fees.ts';
import { ownIntent } from '../spends/own.ts';
import { type Holder, holderOf, needKeys, type Planned, prepare } from '../spends/plan.ts';
import { setCancel } from '../spends/rows.ts';
import type { StoredOwn } from '../spends/sign.ts';
import { checkApproval, describePlan, type GivenApproval, type Preview } from './approve.ts';
import { needOpen, outbidding } from './replace.ts';
import { endWarnings } from './warnings.ts';

/** `newest`: the id of the version that it was planned from. */
type Reclaimed = { holder: Holder; planned: Planned; intent: Intent; newest: number | undefined };

/** The other withdrawals that end with one: all that its coins pay. */
export const endedWith = (reader: Reader, { id, spend_id }: WithdrawalRow): WithdrawalRow[] =>
  spend_id === null
    ? []
    : reader.all(withdrawalsOfSpend, { spend_id }).filter((one) => one.id !== id && isOpen(one.state));

/** Throws `Rejected` with the obstacle. */
export async function previewReclaim(app: App, row: WithdrawalRow, feeRate: bigint | null): Promise<Preview> {
  const { holder, planned, intent } = await reclaimed(app, row, {
    feeRate,
    feeMax: FEE_UNLIMITED,
    uuid: randomUUIDv7(),
  });
  const { plan } = planned;
  needApprovable(holder.chain, plan);
  const described = describePlan(app, holder, plan, []);
  const warnings = [...endWarnings(endedWith(app.store, row)), ...described.warnings];
  return { ...described, warnings, purpose: 'pay', intents: [intent], feeMax: plan.fee };
}

/** It is signed and sent afterwards. `uuid`: of the approved intent. Returns the version's id. Throws `Rejected`. */
export async function reclaim(
  app: App,
  row: WithdrawalRow,
  feeRate: bigint | null,
  [uuid, given]: readonly [string, GivenApproval],
): Promise<number> {
  const { holder, planned, intent, newest } = await reclaimed(app, row, { feeRate, feeMax: given.feeMax, uuid });
  checkApproval(app, holder, given);
  const { until, mac, feeMax } = given;
  const approval: Approval = mac === null ? { by: 'policy' } : { by: 'operator', until, mac };
  const stored: StoredOwn = { intent: { ...intent, feeMax: feeMax.toString() }, approval };
  return app.store.write((tx) =>
    overtakenIsRejected(() => {
      const { spend, known } = needOpen(tx, holder, row);
      if (known.at(-1)?.version.id !== newest) throw new Overtaken('another version was signed');
      for (const { id } of tx.all(withdrawalsOfSpend, { spend_id: spend.id })) setCancel(app, tx, id, true);
      const version = {
        spendId: spend.id,
        kind: 'cancel',
        approval: JSON.stringify(stored),
        planned,
        pays: [],
      } as const;
      const versionId = addVersion(app, tx, holder, version);
      tx.afterCommit(() => app.wake.withdrawals(holder.chain.key));
      return versionId;
    }),
  );
}

async function reclaimed(
  app: App,
  row: WithdrawalRow,
  { feeRate, feeMax, uuid }: { feeRate: bigint | null; feeMax: bigint; uuid: string },
): Promise<Reclaimed> {
  const holder = holderOf(app, row);
  needKeys(holder.account, holder.asset);
  const { adapter, spending } = holder.chain;
  if (adapter.accountBased) {
    const text = `On ${adapter.chain} what a lost machine signed is known whole, and sent again: cancel it without --anew`;
    throw new Rejected('withdrawal.no_replacement', text);
  }
  const open = needOpen(app.store, holder, row);
  const planned = await prepare(app, holder, {
    payouts: [],
    conflictKeys: open.keys,
    spendId: open.spend.id,
    // they are enough
    only: [],
    ...(await outbidding(holder, open, feeRate)),
    feeMax,
  });
  const { plan } = planned;
  const intent = ownIntent(holder, { uuid, coins: spending.conflictKeys(plan), feeMax: plan.fee.toString() });
  return { holder, planned, intent, newest: open.known.at(-1)?.version.id };
}
