/**
 * Plans that send the takings of a business on, one for each of its coins. The operator grants the address and the fees to the
 * signer; the daemon keeps to the amounts and times.
 */
import { addressFault } from '../../chains/address-fault.ts';
import { type Asset, assetOf, findAsset } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import { LEFT_OUT_MAX, nextDue } from '../../domain/forwarding.ts';
import { textOf } from '../../domain/messages.ts';
import { isOpen } from '../../domain/withdrawal.ts';
import {
  dropForwardPlan,
  type ForwardPlanRow,
  forwardPlanById,
  forwardPlanOf,
  forwardPlansOf,
  insertForwardPlan,
} from '../../store/queries/forwarding.ts';
import { addressInBook } from '../../store/queries/policies.ts';
import type { WithdrawalRow } from '../../store/queries/withdrawals.ts';
import { forwardKeyOf } from '../../wallet/forward-key.ts';
import { ownAddress } from '../../wallet/own-address.ts';
import type { ForwardGrant } from '../../wallet/signer/port.ts';
import type { App } from '../app.ts';
import type { Business } from '../shops/directory.ts';
import { needKeys } from '../spends/plan.ts';
import { canSpend, chainOf } from '../withdrawals/request.ts';
import { whyNot } from './pass.ts';
import { indexAfter } from './payee.ts';
import { beginPayment, dropPayment, isRunning, note, paymentOf, timesOf, unchanged } from './payments.ts';
import { forecast } from './run.ts';

/** The part of a plan that the operator chooses. `key_index`: the first index of an extended public key; null: it is an address. Amounts are smallest units; those of fees are of the asset that fees are paid in. */
export type ForwardTerms = Pick<
  ForwardPlanRow,
  | 'address'
  | 'key_index'
  | 'keep'
  | 'least'
  | 'every'
  | 'minute'
  | 'weekday'
  | 'cheap'
  | 'fee_share_ppm'
  | 'fee_max'
  | 'fee_day'
>;

/** A grant with the operator's MAC. */
export type SignedForward = { grant: ForwardGrant; mac: string };

const notFound = (business: Business, asset: Asset): Rejected =>
  new Rejected('forward.not_found', `${business.name} forwards no ${asset.symbol}`, 'crypto');

/** An asset that a business can forward. Throws `Rejected`: `withdrawal.crypto`, `account.watch_only`. */
export function forwardable(app: App, business: Business, crypto: string): Asset {
  const asset = findAsset(crypto);
  const account = asset && app.directory.account(business, asset.symbol);
  if (asset && account && canSpend(app, business, asset)) {
    needKeys(account, asset.symbol);
    return asset;
  }
  throw new Rejected('withdrawal.crypto', `${business.name} cannot withdraw ${crypto}`, 'crypto');
}

/** The plan of an asset. Throws `Rejected('forward.not_found')`. */
export function planFor(app: App, business: Business, asset: Asset): ForwardPlanRow {
  const plan = app.store.get(forwardPlanOf, { business_id: business.id, asset: asset.symbol });
  if (!plan) throw notFound(business, asset);
  return plan;
}

/** The name of a plan's address in the address book; null: it is not there any more. */
export function labelOf(app: App, { business_id, asset, address }: ForwardPlanRow): string | null {
  return app.store.get(addressInBook, { business_id, chain: assetOf(asset).chain, address })?.label ?? null;
}

export const plansOf = (app: App, business: Business): ForwardPlanRow[] =>
  app.store.all(forwardPlansOf, { business_id: business.id });

/** Checks the terms of a plan. Throws `Rejected`: `forward.destination`, `.fee`, `.schedule`. */
export function needTerms(app: App, business: Business, asset: Asset, terms: ForwardTerms): void {
  const { address, every, weekday, fee_share_ppm, fee_max, fee_day } = terms;
  if ((every === 'week') !== (weekday !== null)) {
    throw new Rejected('forward.schedule', 'A plan of each week names its day, and no other plan does', 'weekday');
  }
  const chain = chainOf(app, business, asset);
  if (terms.cheap && chain?.adapter.accountBased !== true) {
    const text = `The hours of ${asset.symbol} are not measured: only the price of gas is`;
    throw new Rejected('forward.schedule', text, 'cheap');
  }
  if (fee_day <= 0n || fee_max === 0n || (fee_share_ppm === null && fee_max === null)) {
    const text = 'A plan needs the highest fees of 24 hours, and a highest fee of one payment: a share or an amount';
    throw new Rejected('forward.fee', text, 'fee_day');
  }
  if (fee_share_ppm !== null && chain?.spending.feeAsset !== asset.symbol) {
    const text = `The fee of ${asset.symbol} is paid in ${chain?.spending.feeAsset}: name an amount, a share limits nothing`;
    throw new Rejected('forward.fee', text, 'fee_share');
  }
  if (terms.key_index === null) needInBook(app, business, asset, address);
  else needForeign(app, business, asset, address);
}

function needInBook(app: App, business: Business, asset: Asset, address: string): void {
  const chain = chainOf(app, business, asset);
  const fault = chain && addressFault(chain.adapter, address);
  if (fault)
    throw new Rejected('forward.destination', `${address} cannot be paid on ${asset.chain}: ${fault}`, 'address');
  if (!app.store.get(addressInBook, { business_id: business.id, chain: asset.chain, address })) {
    const text = `${address} is not in the address book of ${business.name} for ${asset.chain}: add it first`;
    throw new Rejected('forward.destination', text, 'address');
  }
}

/** Throws `Rejected('forward.destination')` for the key of an account of this wallet: its money would only burn fees. */
function needForeign(app: App, { network }: Business, asset: Asset, text: string): void {
  const { at } = forwardKeyOf(text, asset.symbol, network);
  const first = at(0);
  const isOwn = app.directory.accounts().some(({ chainKey, key }) => {
    const isSame = chainKey === `${network}:${asset.chain}`;
    return isSame && ownAddress(key, asset.chain, network, 0) === first;
  });
  if (isOwn) throw new Rejected('forward.destination', 'The key is of an account of this wallet itself', 'address');
}

/**
 * Grants a plan to the signer, and stores it in place of an earlier one of this asset, whose payment is rejected unless it is
 * signed. Throws `Rejected`: `forward.*`, `signer.*`.
 */
export async function setPlan(
  app: App,
  business: Business,
  asset: Asset,
  terms: ForwardTerms,
  signed: SignedForward | null,
): Promise<ForwardPlanRow> {
  needTerms(app, business, asset, terms);
  const account = app.directory.account(business, asset.symbol);
  if (!account) throw notFound(business, asset);
  await grant(app, business, asset, terms, signed);
  await app.store.write((tx) => {
    const before = tx.get(forwardPlanOf, { business_id: business.id, asset: asset.symbol });
    if (before) {
      dropPayment(app, tx, before);
      tx.run(dropForwardPlan, { id: before.id });
    }
    const now = app.now();
    const { every, minute, weekday } = terms;
    tx.run(insertForwardPlan, {
      business_id: business.id,
      account_id: account.id,
      chain_key: account.chainKey,
      asset: asset.symbol,
      address: terms.address,
      keep: terms.keep,
      least: terms.least,
      every,
      minute,
      weekday,
      fee_share_ppm: terms.fee_share_ppm,
      fee_max: terms.fee_max,
      fee_day: terms.fee_day,
      next_at: nextDue({ every, minute, weekday }, now, business.timeZone),
      // what is signed stays the plan's payment, so that the next one waits for it
      withdrawal_id: before ? openPayment(paymentOf(tx, before)) : null,
      problem: null,
      created_at: now,
      updated_at: now,
      run_at: null,
      left_out: 0,
      key_index: indexFrom(terms, before),
      cheap: terms.cheap,
      cheap_since: null,
    });
    tx.afterCommit(() => app.wake.withdrawals(account.chainKey));
  });
  return planFor(app, business, asset);
}

/** The index of a plan that takes the place of another one goes on behind that one's, if both send to the same key. */
function indexFrom({ address, key_index }: ForwardTerms, before: ForwardPlanRow | undefined): number | null {
  const isSame = before !== undefined && before.address === address && before.key_index !== null;
  return isSame && key_index !== null ? Math.max(key_index, before.key_index ?? 0) : key_index;
}

const openPayment = (row: WithdrawalRow | null): number | null => (row && isOpen(row.state) ? row.id : null);

/** Gives the signer the grant of these terms. Throws `Rejected`: `forward.grant`, `signer.*`. */
async function grant(
  app: App,
  business: Business,
  asset: Asset,
  terms: ForwardTerms,
  signed: SignedForward | null,
): Promise<void> {
  if (business.network === 'sandbox') return;
  if (!signed) throw new Rejected('forward.grant', 'The grant is missing: it needs the passphrase', 'signed');
  needSame(business, asset, signed);
  const { address, from = null, feeSharePpm, feeMax, feeDay } = signed.grant;
  const { fee_share_ppm, fee_max, fee_day } = terms;
  const isOther =
    address !== terms.address || feeSharePpm !== fee_share_ppm || feeMax !== (fee_max?.toString() ?? null);
  if (isOther || from !== terms.key_index || feeDay !== fee_day.toString()) {
    throw new Rejected('forward.grant', 'The grant is not for this plan', 'signed');
  }
  await app.signer.grantPolicy(signed.grant, signed.mac);
}

function needSame(business: Business, asset: Asset, { grant: given }: SignedForward): void {
  const { network, accountNo, asset: of } = given;
  if (network === business.network && accountNo === business.accountNo && of === asset.symbol) return;
  throw new Rejected('forward.grant', 'The grant is of another account or coin', 'signed');
}

/**
 * Ends a plan, and first the wallet's grant, also one without a plan: null. A payment that is signed goes on. `signed`: a grant of nothing.
 * `isTold`: the operator ended the wallet's grant without the service. Throws `Rejected`: `forward.grant`, `.not_found`, `signer.*`.
 */
export async function endPlan(
  app: App,
  business: Business,
  asset: Asset,
  { signed, isTold }: { signed: SignedForward | null; isTold: boolean },
): Promise<ForwardPlanRow | null> {
  const of = { business_id: business.id, asset: asset.symbol };
  if (signed) {
    needSame(business, asset, signed);
    if (signed.grant.feeDay !== '0') throw new Rejected('forward.grant', 'The grant ends nothing', 'signed');
  }
  const isGranted = business.network !== 'sandbox';
  if (!app.store.get(forwardPlanOf, of) && !(isGranted && (signed || isTold))) throw notFound(business, asset);
  // whoever could keep a grant that no plan shows would forward by it
  if (isGranted && signed) await app.signer.grantPolicy(signed.grant, signed.mac);
  else if (isGranted && !isTold) {
    throw new Rejected('forward.grant', "The end of the wallet's grant is missing: it needs the passphrase", 'signed');
  }
  return app.store.write((tx) => {
    const plan = tx.get(forwardPlanOf, of);
    if (!plan) return null;
    dropPayment(app, tx, plan);
    tx.run(dropForwardPlan, { id: plan.id });
    return plan;
  });
}

/** Leaves out the next time. Throws `Rejected`: `forward.not_found`, `.schedule`. */
export async function skipNext(app: App, business: Business, asset: Asset): Promise<ForwardPlanRow> {
  const plan = planFor(app, business, asset);
  if (plan.every === 'reached') {
    throw new Rejected('forward.schedule', 'It sends as soon as its sum is there: there is no time to leave out');
  }
  const { schedule, timeZone } = timesOf(app, plan);
  await app.store.write((tx) => {
    const now = tx.get(forwardPlanById, { id: plan.id });
    if (!now) throw notFound(business, asset);
    const isAhead = now.next_at > app.now();
    const left_out = isAhead ? now.left_out + 1 : 1;
    if (left_out > LEFT_OUT_MAX) {
      throw new Rejected('forward.schedule', `${LEFT_OUT_MAX} times are left out already: end the plan instead`);
    }
    const next_at = nextDue(schedule, isAhead ? now.next_at : app.now(), timeZone);
    const problem = now.problem?.code === 'forward.cheap' ? null : now.problem;
    note(tx, now, { next_at, left_out, problem, cheap_since: null });
  });
  return planFor(app, business, asset);
}

/**
 * Sends what is free now, whatever the time and the sum. Null: the run has begun, and its addresses get gas first. Throws `Rejected`:
 * `forward.*`, `withdrawal.*`.
 */
export async function sendNow(app: App, business: Business, asset: Asset): Promise<WithdrawalRow | null> {
  const plan = planFor(app, business, asset);
  const payment = paymentOf(app.store, plan);
  if (payment && isOpen(payment.state)) throw underWay(payment.id);
  const found = await forecast(app, plan, 0n);
  const { run } = found;
  const why = whyNot(app, plan, found);
  if (run.kind === 'less') throw new Rejected('forward.amount', 'Nothing is free to be sent now');
  if (run.kind !== 'send') throw new Rejected('forward.fee', why ? textOf(why) : 'The fee is too high');
  if (why) throw new Rejected('forward.destination', textOf(why), 'address');
  const begun = await app.store.write((tx) => {
    const now = unchanged(tx, plan);
    const before = now && paymentOf(tx, now);
    if (!now || (before && isOpen(before.state))) return null;
    const key_index = before ? indexAfter(now, before, business.network) : now.key_index;
    if (before) note(tx, now, { withdrawal_id: null, problem: null, key_index });
    if (found.isReady) return { row: beginPayment(app, tx, { ...now, withdrawal_id: null }, run) };
    const run_at = isRunning(now, app.now()) ? now.run_at : app.now();
    note(tx, now, { withdrawal_id: null, problem: null, run_at, key_index });
    tx.afterCommit(() => app.wake.withdrawals(plan.chain_key));
    return { row: null };
  });
  if (!begun || (found.isReady && !begun.row)) {
    throw new Rejected('forward.amount', 'The plan changed meanwhile: try again');
  }
  return begun.row;
}

const underWay = (id: number): Rejected =>
  new Rejected('forward.amount', `Withdrawal ${id} of this plan is under way: the next one follows it`);
