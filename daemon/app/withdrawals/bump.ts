/**
 * A child that pays for its parent (CPFP): spends a stuck deposit, or change of ours, to ourselves with a fee that
 * suffices for both. Only the fee leaves the wallet.
 */

import { randomUUIDv7 } from 'node:crypto';
import type { AssetId } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import { seenOf } from '../../domain/spend-state.ts';
import { setSpendState, spendsByKey, versionsOf } from '../../store/queries/withdrawals.ts';
import type { Tx } from '../../store/store.ts';
import { FEE_UNLIMITED } from '../../wallet/signer/limits.ts';
import type { Approval, Intent } from '../../wallet/signer/port.ts';
import type { App } from '../app.ts';
import { claimOwn, overtakenIsRejected } from '../spends/claim.ts';
import { coinAt } from '../spends/coins.ts';
import { versionFacts } from '../spends/facts.ts';
import { fastRate, needApprovable, RATE_TIMEOUT_MS } from '../spends/fees.ts';
import { ownIntent } from '../spends/own.ts';
import { type Holder, holderOf, needKeys, type Planned, prepare } from '../spends/plan.ts';
import { closeRefusals } from '../spends/refusals.ts';
import { dropUnsigned } from '../spends/rows.ts';
import type { StoredOwn } from '../spends/sign.ts';
import { checkApproval, describePlan, type GivenApproval, type Preview } from './approve.ts';
import { assetFor } from './request.ts';

/** A deposit to us that waits in the mempool. */
type BumpRequest = { outpoint: string; feeRate: bigint | null };

/** A preview of a bump. Throws `Rejected`. */
export async function previewBump(app: App, holder: Holder, wanted: BumpRequest): Promise<Preview> {
  const { plan } = await bumped(app, holder, wanted, FEE_UNLIMITED);
  needApprovable(holder.chain, plan);
  const intent = bumpIntent(holder, wanted, randomUUIDv7(), plan.fee);
  return { ...describePlan(app, holder, plan, []), purpose: 'pay', intents: [intent], feeMax: plan.fee };
}

/**
 * Spends a stuck deposit to ourselves with a fee that suffices for both. Returns the version's id. Throws `Rejected`.
 */
export async function bump(
  app: App,
  holder: Holder,
  wanted: BumpRequest,
  uuid: string,
  given: GivenApproval,
): Promise<number> {
  checkApproval(app, holder, given);
  const planned = await bumped(app, holder, wanted, given.feeMax);
  const { until, mac, feeMax } = given;
  const approval: Approval = mac === null ? { by: 'policy' } : { by: 'operator', until, mac };
  const stored: StoredOwn = { intent: bumpIntent(holder, wanted, uuid, feeMax), approval };
  return app.store.write((tx) =>
    overtakenIsRejected(() => {
      const versionId = claimOwn(app, tx, holder, planned, {
        purpose: 'bump',
        subject: wanted.outpoint,
        conflictKey: wanted.outpoint,
        approval: JSON.stringify(stored),
      });
      tx.afterCommit(() => app.wake.withdrawals(holder.chain.key));
      return versionId;
    }),
  );
}

/** The intent to approve for a bump: that coin, and the fee. */
const bumpIntent = (holder: Holder, { outpoint }: BumpRequest, uuid: string, feeMax: bigint): Intent =>
  ownIntent(holder, { uuid, coins: [outpoint], feeMax: feeMax.toString() });

/**
 * Gives up a bump that no node has, so that the deposit can be spent again. Its bytes pay only ourselves, so no
 * recipient can be paid twice. A refusal counts once the chain was synced without the bump after it. Throws `Rejected`:
 * `bump.not_found`, `.under_way`.
 */
export function giveUpBump(app: App, tx: Tx, { chain }: Holder, outpoint: string): void {
  const spend = tx
    .all(spendsByKey, { conflict_key: outpoint, chain_key: chain.key })
    .find(({ purpose, state }) => purpose === 'bump' && (state === 'open' || state === 'waiting'));
  if (!spend) throw new Rejected('bump.not_found', 'No bump of this deposit is open', 'outpoint');
  const known = versionFacts(tx, chain, spend.id);
  const isSure = known.every(({ version, lack }) => lack !== null || chain.isRefusalKnown(version.id));
  if (known.length > 0 && (!chain.isCurrent || !isSure || seenOf(known))) {
    const text = known.every(({ version, lack }) => lack !== null || version.problem !== null)
      ? 'Whether a node has it is not known yet: try again when the chain was synced'
      : 'It was sent, and no node refused it: it cannot be taken back';
    throw new Rejected('bump.under_way', text, 'outpoint');
  }
  closeRefusals(app, tx, tx.all(versionsOf, { spend_id: spend.id }));
  if (known.length > 0) tx.run(setSpendState, { id: spend.id, state: 'given_up', closed_height: null });
  dropUnsigned(app, tx, spend.id);
  tx.afterCommit(() => app.wake.withdrawals(chain.key));
}

async function bumped(app: App, holder: Holder, { outpoint, feeRate }: BumpRequest, feeMax: bigint): Promise<Planned> {
  const spending = holder.chain.spending;
  needKeys(holder.account, holder.asset);
  if (!spending.ancestorsOf) {
    const text = `Miners of ${holder.chain.adapter.chain} do not weigh what a child pays: a transaction there is not mined any sooner for it`;
    throw new Rejected('bump.unsupported', text, 'crypto');
  }
  const coin = coinAt(app.store, holder.chain, outpoint);
  if (!coin || coin.gone) throw new Rejected('bump.not_found', 'There is no such deposit', 'outpoint');
  if (coin.block_height !== null) throw new Rejected('bump.confirmed', 'The deposit is confirmed already', 'outpoint');
  if (coin.locked) throw new Rejected('bump.locked', 'This deposit cannot be spent', 'outpoint');
  const signal = holder.chain.limit(RATE_TIMEOUT_MS);
  const parents = await spending.ancestorsOf(coin.txid, signal);
  if (!parents) throw new Rejected('bump.not_found', 'The deposit is not in the mempool', 'outpoint');
  const rate = feeRate ?? (await fastRate(holder.chain));
  return prepare(app, holder, { payouts: [], conflictKeys: [outpoint], only: [], feeRate: rate, feeMax, parents });
}

/** The holder of an asset of a business. Throws `Rejected` if it has none. */
export function holderFor(app: App, businessId: number, asset: AssetId): Holder {
  return holderOf(app, { business_id: businessId, asset: assetFor({ asset }).symbol });
}
