/**
 * Plans to collect deposit addresses into the tank: approved once, as a grant of gas to the signer with its highest cost
 * and its end. The daemon keeps to the minimum worth, the price of gas and the beginning; the signer to cost and end.
 */
import { Rejected } from '../../domain/errors.ts';
import { type GasPlanRow, gasPlanOf, saveGasPlan, updateGasPlan } from '../../store/queries/gas.ts';
import type { Tx } from '../../store/store.ts';
import { GAS_GRANT_MS_MAX } from '../../wallet/signer/limits.ts';
import type { GasGrant } from '../../wallet/signer/port.ts';
import type { App } from '../app.ts';
import type { Desk } from './finds.ts';

/** `minUsd`: 1e-8 US dollars. `priceMax`: smallest units per 1,000 gas. Times are milliseconds since 1970. */
type NewPlan = {
  minUsd: bigint;
  priceMax: bigint | null;
  feeMax: bigint;
  beginsAt: number;
  endsAt: number;
};

/** A grant with the operator's MAC. */
export type SignedGasGrant = { grant: GasGrant; mac: string };

/** Grants gas and stores the plan, which replaces an earlier one. Throws `Rejected`: `gas.plan`, `gas.grant`, `signer.*`. */
export async function startPlan(app: App, desk: Desk, plan: NewPlan, signed: SignedGasGrant | null): Promise<void> {
  const now = app.now();
  const { beginsAt, endsAt, feeMax } = plan;
  if (endsAt <= Math.max(now, beginsAt)) throw new Rejected('gas.plan', 'It ends before it begins', 'ends_at');
  if (endsAt > now + GAS_GRANT_MS_MAX) throw new Rejected('gas.plan', 'A plan lasts 31 days at most', 'ends_at');
  if (feeMax <= 0n) throw new Rejected('gas.plan', 'It may cost nothing', 'fee_max');
  await grant(app, desk, signed, { feeMax, until: endsAt });
  await app.store.write((tx) => {
    tx.run(saveGasPlan, {
      account_id: desk.account.id,
      chain_key: desk.chain.key,
      min_usd: plan.minUsd,
      price_max: plan.priceMax,
      fee_max: feeMax,
      used: 0n,
      begins_at: beginsAt,
      ends_at: endsAt,
      state: 'open',
      problem: null,
      created_at: now,
    });
    tx.afterCommit(() => app.wake.withdrawals(desk.chain.key));
  });
}

/** Ends a plan. Transactions that are signed already are sent all the same. `signed`: ends the grant in the signer too. */
export async function stopPlan(app: App, desk: Desk, signed: SignedGasGrant | null): Promise<void> {
  await app.store.write((tx) => endPlan(tx, desk.account.id, 'stopped', null));
  if (signed) await grant(app, desk, signed, { feeMax: 0n, until: signed.grant.until });
}

async function grant(
  app: App,
  { business, chain }: Desk,
  signed: SignedGasGrant | null,
  wanted: { feeMax: bigint; until: number },
): Promise<void> {
  if (business.network === 'sandbox') return;
  if (!signed) throw new Rejected('gas.grant', 'The grant of gas is missing: it needs the passphrase', 'grant');
  const { network, accountNo, chain: on, feeMax, until } = signed.grant;
  const isSame = network === business.network && accountNo === business.accountNo && on === chain.adapter.chain;
  if (!isSame || BigInt(feeMax) !== wanted.feeMax || until !== wanted.until) {
    throw new Rejected('gas.grant', 'The grant of gas is not for this plan', 'grant');
  }
  await app.signer.grantPolicy(signed.grant, signed.mac);
}

/** The newest plan of a desk, or undefined. */
export const planOf = (app: App, { account }: Desk): GasPlanRow | undefined =>
  app.store.get(gasPlanOf, { account_id: account.id });

/** Ends the plan of an account if it is open. */
export function endPlan(tx: Tx, account_id: number, state: 'done' | 'stopped', problem: string | null): void {
  const plan = tx.get(gasPlanOf, { account_id });
  if (plan?.state === 'open') tx.run(updateGasPlan, { account_id, used: plan.used, state, problem });
}

/** Stores why a plan waits; null: it does not wait. Writes only if the text changed. */
export function notePlan(tx: Tx, account_id: number, problem: string | null): void {
  const plan = tx.get(gasPlanOf, { account_id });
  if (plan?.state !== 'open' || plan.problem === problem) return;
  tx.run(updateGasPlan, { account_id, used: plan.used, state: plan.state, problem });
}

/** Counts a cost against an open plan. Throws `Rejected('gas.used')` if it is above what is left. */
export function useOfPlan(tx: Tx, account_id: number, fee: bigint): void {
  const plan = tx.get(gasPlanOf, { account_id });
  if (plan?.state !== 'open' || plan.used + fee > plan.fee_max) {
    throw new Rejected('gas.used', 'The plan may not cost more');
  }
  tx.run(updateGasPlan, { account_id, used: plan.used + fee, state: plan.state, problem: plan.problem });
}

export const leftOf = ({ fee_max, used }: GasPlanRow): bigint => (fee_max > used ? fee_max - used : 0n);
