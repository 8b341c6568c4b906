/**
 * Plans to collect deposit addresses into the tank: approved once, as a grant of gas to the signer with its highest cost
 * and its end. The daemon keeps to the minimum worth, the price of gas and the beginning; the signer to cost and end.
 */
import { isDeepStrictEqual } from 'node:util';
import { minuteOfDay } from '../../domain/calendar.ts';
import { chainOf } from '../../domain/chain.ts';
import { Rejected } from '../../domain/errors.ts';
import { needPossiblePlan } from '../../domain/gas-plan.ts';
import type { Message } from '../../domain/messages.ts';
import { type GasPlanRow, gasPlanOf, haltGasPlan, saveGasPlan, updateGasPlan } from '../../store/queries/gas.ts';
import type { SpendRow } from '../../store/queries/withdrawals.ts';
import type { Tx } from '../../store/store.ts';
import { GAS_GRANT_MS_MAX } from '../../wallet/signer/limits.ts';
import type { GasGrant } from '../../wallet/signer/port.ts';
import { endIn, raiseOn } from '../alerts.ts';
import type { App } from '../app.ts';
import type { Desk } from './finds.ts';

/** `minUsd`: 1e-8 US dollars. `priceMax`: smallest units per 1,000 gas. Times are milliseconds since 1970. */
type NewPlan = {
  minUsd: bigint;
  priceMax: bigint | null;
  feeMax: bigint;
  beginsAt: number;
  endsAt: number;
  /** The hours of each day at which it collects; null: at any time. */
  daily: Daily | null;
};

/** Minutes since midnight in the business's time zone. `to` may be below `from`: then it is on the next day. */
type Daily = { from: number; to: number };

/** A proposal for a highest cost: with room for a price that doubles. */
export const FEE_MAX_FACTOR = 2n;

const HALTED = 'gas.halted';

/** A grant with the operator's MAC. */
export type SignedGasGrant = { grant: GasGrant; mac: string };

/** Grants gas and stores the plan, which replaces an earlier one. Throws `Rejected`: `gas.plan`, `gas.grant`, `signer.*`. */
export async function startPlan(app: App, desk: Desk, plan: NewPlan, signed: SignedGasGrant | null): Promise<void> {
  const { beginsAt, endsAt, feeMax, daily } = plan;
  needPossiblePlan(plan, app.now(), GAS_GRANT_MS_MAX);
  await grantGas(app, desk, signed, { feeMax, until: endsAt });
  const terms = {
    min_usd: plan.minUsd,
    price_max: plan.priceMax,
    begins_at: beginsAt,
    only_needed: false,
    fee_max: feeMax,
    ends_at: endsAt,
    day_from: daily?.from ?? null,
    day_to: daily?.to ?? null,
  };
  await app.store.write((tx) => save(app, tx, desk, terms));
}

/**
 * Grants what collecting for a withdrawal may cost. The result stores the plan, in the transaction that approves the
 * withdrawal, since a plan ends once no withdrawal waits for it: an open plan uses that grant, too, else one begins that
 * collects nothing but what withdrawals wait for. Throws `Rejected`: `gas.plan`, `gas.grant`, `signer.*`.
 */
export async function collectForWithdrawals(app: App, desk: Desk, signed: SignedGasGrant): Promise<(tx: Tx) => void> {
  const now = app.now();
  const { until } = signed.grant;
  const feeMax = BigInt(signed.grant.feeMax);
  if (until <= now || until > now + GAS_GRANT_MS_MAX) throw new Rejected('gas.plan', 'A plan lasts 31 days at most');
  await grantGas(app, desk, signed, { feeMax, until });
  const limits = { fee_max: feeMax, ends_at: until };
  const fresh = { min_usd: 0n, price_max: null, begins_at: now, only_needed: true, day_from: null, day_to: null };
  return (tx) => {
    const before = tx.get(gasPlanOf, { account_id: desk.account.id });
    const isOpen = before?.state === 'open' && before.ends_at > now;
    save(app, tx, desk, { ...(isOpen ? before : fresh), ...limits });
  };
}

type Terms = Omit<
  GasPlanRow,
  'account_id' | 'chain_key' | 'used' | 'state' | 'problem' | 'created_at' | 'halted' | 'halted_by'
>;

/** Stores an open plan of which nothing is used. */
function save(app: App, tx: Tx, { account, chain }: Desk, terms: Terms): void {
  const place = { account_id: account.id, chain_key: chain.key };
  const before = tx.get(gasPlanOf, { account_id: account.id });
  const halts = { halted: false, halted_by: before?.halted_by ?? 0 };
  tx.run(saveGasPlan, { ...terms, ...place, ...halts, used: 0n, state: 'open', problem: null, created_at: app.now() });
  endIn(app, tx, HALTED, `${account.id}`);
  tx.afterCommit(() => app.wake.withdrawals(chain.key));
}

/** Whether a plan collects at this time of the day. */
export function isHour({ day_from: from, day_to: to }: GasPlanRow, now: number, timeZone: string): boolean {
  if (from === null || to === null) return true;
  const minute = minuteOfDay(now, timeZone);
  return from < to ? minute >= from && minute < to : minute >= from || minute < to;
}

/** Ends a plan. Transactions that are signed already are sent all the same. `signed`: ends the grant in the signer too. */
export async function stopPlan(app: App, desk: Desk, signed: SignedGasGrant | null): Promise<void> {
  await app.store.write((tx) => endPlan(tx, desk.account.id, 'stopped', null));
  if (signed) await grantGas(app, desk, signed, { feeMax: 0n, until: signed.grant.until });
}

/** Gives a grant of gas to the signer. Throws `Rejected`: `gas.grant`, `signer.*`. */
export async function grantGas(
  app: App,
  { business, chain }: Desk,
  signed: SignedGasGrant | null,
  wanted: { feeMax: bigint; until: number; tank?: number },
): Promise<void> {
  if (business.network === 'sandbox') return;
  if (!signed) throw new Rejected('gas.grant', 'The grant of gas is missing: it needs the passphrase', 'grant');
  const { network, accountNo, chain: on, feeMax, until, tank } = signed.grant;
  const isSame = network === business.network && accountNo === business.accountNo && on === chain.adapter.chain;
  if (!isSame || BigInt(feeMax) !== wanted.feeMax || until !== wanted.until || tank !== wanted.tank) {
    throw new Rejected('gas.grant', 'The grant of gas is not for this', 'grant');
  }
  await app.signer.grantPolicy(signed.grant, signed.mac);
}

/** The newest plan of a desk, or undefined. */
export const planOf = (app: App, { account }: Desk): GasPlanRow | undefined =>
  app.store.get(gasPlanOf, { account_id: account.id });

/** Ends the plan of an account if it is open. */
export function endPlan(tx: Tx, account_id: number, state: 'done' | 'stopped', problem: Message | null): void {
  const plan = tx.get(gasPlanOf, { account_id });
  if (plan?.state === 'open') tx.run(updateGasPlan, { account_id, used: plan.used, state, problem });
}

/**
 * Halts an open plan after one of its transactions failed on the chain, which paid its fee for nothing: the next would probably fail,
 * too. Each spend halts a plan once.
 */
export function haltPlan(app: App, tx: Tx, { id, account_id, chain_key, subject }: SpendRow, txid: string): void {
  const plan = tx.get(gasPlanOf, { account_id });
  if (plan?.state !== 'open' || plan.halted_by >= id) return;
  tx.run(haltGasPlan, { account_id, halted: true, halted_by: id });
  const business = app.directory.business(app.directory.businessOfAccount(account_id)).id;
  const values = { address: `${subject}`, tx: txid, chain: chainOf(chain_key), business };
  raiseOn(app, tx, chain_key, `${account_id}`, HALTED, values);
}

/** Lets a halted plan go on. Throws `Rejected('gas.plan')`. */
export async function resumePlan(app: App, { account, chain }: Desk): Promise<void> {
  await app.store.write((tx) => {
    const plan = tx.get(gasPlanOf, { account_id: account.id });
    if (plan?.state !== 'open' || !plan.halted) throw new Rejected('gas.plan', 'No plan is halted here');
    tx.run(haltGasPlan, { account_id: account.id, halted: false, halted_by: plan.halted_by });
    endIn(app, tx, HALTED, `${account.id}`);
    tx.afterCommit(() => app.wake.withdrawals(chain.key));
  });
}

/** Stores why a plan waits; null: it does not wait. Writes only if the message changed. */
export function notePlan(tx: Tx, account_id: number, problem: Message | null): void {
  const plan = tx.get(gasPlanOf, { account_id });
  if (plan?.state !== 'open' || isDeepStrictEqual(plan.problem, problem)) return;
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
