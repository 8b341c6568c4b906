/**
 * The operator's decisions about unsigned withdrawals, and the previews before them.
 *
 * Invariant: approval and rejection are a compare-and-set on the state; the later one fails.
 */
import { usualFee } from '../../chains/accounts.ts';
import { type AddressFunds, type Description, payoutTo } from '../../chains/spending.ts';
import { type AssetId, assetOf } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import { type Message, message, messageOf } from '../../domain/messages.ts';
import { formatUnits, maxOf, minOf } from '../../domain/money.ts';
import { nonceOf, type SpendPlan } from '../../domain/spend.ts';
import { APPROVAL_HOLDS_MS, type Speed } from '../../domain/withdrawal.ts';
import type { WithdrawalRow } from '../../store/queries/withdrawals.ts';
import type { Tx } from '../../store/store.ts';
import { FEE_UNLIMITED } from '../../wallet/signer/limits.ts';
import type { Intent, SignPurpose } from '../../wallet/signer/port.ts';
import type { App } from '../app.ts';
import { type CollectTerms, collectTerms } from '../gas/needed.ts';
import { refuseInQuarantine } from '../recovery/quarantine.ts';
import { fundsOf } from '../spends/address-funds.ts';
import { availableUnits, sweepLimit, takesAll } from '../spends/coins.ts';
import { feeRateNow, needApprovable, type SpeedCost, speedsOf } from '../spends/fees.ts';
import { giveUp } from '../spends/outside.ts';
import { isForCollecting, paymentOf, whyNotNow } from '../spends/payment.ts';
import { type Holder, holderOf, isOutside, prepare } from '../spends/plan.ts';
import { applyEvent, findWithdrawal } from '../spends/rows.ts';
import { intentOf, type StoredApproval } from '../spends/sign.ts';
import { reportAddress } from './known-addresses.ts';
import { refundSaid, typedSaid } from './refund.ts';
import { needGas } from './request.ts';
import {
  feeWarnings,
  firstApproved,
  highFeeWarnings,
  ownAddressWarning,
  restoredWarnings,
  type Warning,
  warningsOf,
} from './warnings.ts';

/** The transaction that would be signed now, decoded from its own bytes. */
export type Preview = Description & {
  /** The purpose under the approval's MAC. */
  purpose: SignPurpose;
  intents: Intent[];
  asset: AssetId;
  feeAsset: AssetId;
  fee: bigint;
  /** The maximum that the approval allows. */
  feeMax: bigint;
  /** The transaction's size, in the unit of the fee rate. */
  size: number;
  /** 1e-8 US dollars per coin of the asset, and of the fee's asset; null while no rate is known. */
  usdRate: bigint | null;
  feeUsdRate: bigint | null;
  warnings: Warning[];
  /** The purposes of the withdrawals, where known. */
  notes: Message[];
  /** Whether another wallet signs it, so that the approval needs no passphrase. */
  outside: boolean;
  /** Until when an approval made now holds, milliseconds since 1970. */
  until: number;
  /** The approximate fees of other speeds; empty if there is no choice. */
  speeds: SpeedCost[];
};

/**
 * The current result of a proposal. `preview` null: it cannot be planned yet, for the reason in `why`. It can be
 * approved all the same, and then waits.
 */
export type Proposed = {
  rows: WithdrawalRow[];
  preview: Preview | null;
  why: Message | null;
  /**
   * The money is on several addresses, and is collected first if the operator grants that together with the approval. The
   * preview then has no bytes, because the transaction can be planned only afterwards.
   */
  collect: CollectTerms | null;
};

/**
 * A preview of the transaction that approving a withdrawal would sign now. Throws `Rejected('withdrawal.not_found')`.
 */
export async function previewWithdrawal(app: App, name: string, speed: Speed = 'normal'): Promise<Proposed> {
  const row = { ...findWithdrawal(app.store, name), speed };
  const all = takesAll(row) ? await allOf(app, row) : null;
  if (all) return all;
  try {
    return { rows: [row], preview: await planned(app, row), why: null, collect: null };
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    const collect = isForCollecting(error) ? await collectTerms(app, row) : null;
    if (collect)
      return { rows: [row], preview: await afterCollecting(app, row, row.units, collect.cost), why: null, collect };
    const refusal = isForCollecting(error) ? await app.gas.refusalOf(app, row) : null;
    return { rows: [row], preview: null, why: messageOf(whyNotNow(app, row, refusal ?? error)), collect: null };
  }
}

/** Taking everything where it is on several addresses that are worth their gas; null: one transaction takes it. */
async function allOf(app: App, row: WithdrawalRow): Promise<Proposed | null> {
  const { business } = holderOf(app, row);
  if (business.network === 'sandbox' || (await app.gas.refusalOf(app, row))) return null;
  const collect = await collectTerms(app, { ...row, approval: null });
  if (!collect || collect.places < 2) return null;
  const units = minOf(collect.units, sweepLimit(app.store, row) ?? collect.units);
  const preview = await afterCollecting(app, row, units, collect.cost);
  const left = collect.left.map(({ at }) => at);
  return {
    rows: [row],
    preview: { ...preview, warnings: [...preview.warnings, ...stays(row, left)] },
    why: null,
    collect,
  };
}

/**
 * A preview without a transaction: the recipient, the amount and the highest fee, which is all that the approval binds. `units`: the
 * amount, of a sweep the highest one. `cost`: of collecting.
 */
async function afterCollecting(app: App, row: WithdrawalRow, units: bigint, cost: bigint): Promise<Preview> {
  const holder = holderOf(app, row);
  const spending = holder.chain.spending;
  const fee = usualFee(spending, row.asset, await feeRateNow(holder.chain));
  const feeMax = maxOf(row.fee_held, fee);
  const outputs = [payoutTo(row.address, row.asset, units)];
  const intent: Intent = { ...intentOf(holder, row), units: units.toString(), feeMax: feeMax.toString() };
  return {
    ...describe(app, holder, { raw: null, conflictKeys: [], outputs }, { fee, cost, size: 0, rows: [row] }),
    purpose: 'pay',
    intents: [intent],
    feeMax,
  };
}

async function planned(app: App, row: WithdrawalRow): Promise<Preview> {
  const holder = holderOf(app, row);
  const rate = await feeRateNow(holder.chain, row.speed);
  // a new approval is not limited by the one before
  const wanted = paymentOf(app, holder, { ...row, approval: null }, rate);
  const { plan } = await prepare(app, holder, { ...wanted, feeMax: FEE_UNLIMITED, unsettledTokens: true });
  const limit = needApprovable(holder.chain, plan);
  const spending = holder.chain.spending;
  // rates may rise before it is signed: the fee may rise to the reserved one, or to twice the current one
  const highest = minOf((plan.fee * spending.highestRate(rate)) / rate, affordable(app, row));
  const feeMax = minOf([heldWithin(row, limit), highest, plan.fee].reduce(maxOf), limit);
  // a sweep takes only the coins of now, less the fee
  const total = plan.outputs.reduce((sum, { units }) => sum + units, spending.feeAsset === row.asset ? plan.fee : 0n);
  const units = (row.sweep ? total : row.units).toString();
  const intent: Intent = { ...intentOf(holder, row), units, feeMax: feeMax.toString() };
  const described = describePlan(app, holder, plan, [row]);
  const warnings = [...described.warnings, ...feeWarnings(row, feeMax), ...leftBehind(app, holder, row, plan)];
  return {
    ...described,
    warnings,
    purpose: 'pay',
    intents: [intent],
    feeMax,
    speeds: await speedsOf(holder, plan, rate),
  };
}

/** The highest fee that the balance has beside the amount. */
function affordable(
  { store }: App,
  { id, account_id, asset, fee_asset, units, sweep, outpoint }: WithdrawalRow,
): bigint {
  if (fee_asset === asset && (sweep || outpoint !== null)) return FEE_UNLIMITED;
  return availableUnits(store, account_id, fee_asset, id) - (fee_asset === asset ? units : 0n);
}

/** On an account chain a sweep empties one address. On real networks the others were found not to be worth collecting. */
function leftBehind(app: App, holder: Holder, row: WithdrawalRow, plan: SpendPlan): Warning[] {
  const { chain } = holder;
  if (!takesAll(row) || !chain.adapter.accountBased) return [];
  const [key] = chain.spending.conflictKeys(plan);
  const sender = key === undefined ? null : nonceOf(key)?.address;
  const left = fundsOf(app.store, holder, {})
    .balances()
    .filter(({ address }) => address !== sender);
  return stays(row, left, message(holder.business.network === 'sandbox' ? 'left.one_place' : 'left.not_worth'));
}

function stays({ asset }: WithdrawalRow, left: readonly AddressFunds[], reason = message('left.not_worth')): Warning[] {
  if (left.length === 0) return [];
  const units = left.reduce((sum, funds) => sum + (funds.units[asset] ?? 0n), 0n);
  const count = left.length;
  const stay = { amount: formatUnits(units, assetOf(asset)), asset, reason };
  const said =
    count === 1 ? message('warning.left_behind_one', stay) : message('warning.left_behind', { ...stay, count });
  return [{ code: 'left_behind', said }];
}

/** The reserved fee; 0 if it is above the limits, so that the current fee decides. */
export function heldWithin({ fee_held }: WithdrawalRow, limit: bigint): bigint {
  const held = fee_held;
  return held <= limit ? held : 0n;
}

/** The description of a plan, decoded from its bytes. */
export function describePlan(
  app: App,
  { business, chain, asset }: Pick<Holder, 'business' | 'chain' | 'asset'>,
  plan: SpendPlan,
  rows: readonly WithdrawalRow[],
): Omit<Preview, 'purpose' | 'intents' | 'feeMax'> {
  const spending = chain.spending;
  const size = spending.sizeOf(plan);
  return describe(app, { business, chain, asset }, spending.describe(plan), { fee: plan.fee, size, rows });
}

/** `cost`: of collecting the money first. */
function describe(
  app: App,
  { business, chain, asset }: Pick<Holder, 'business' | 'chain' | 'asset'>,
  description: Description,
  { fee, cost = 0n, size, rows }: { fee: bigint; cost?: bigint; size: number; rows: readonly WithdrawalRow[] },
): Omit<Preview, 'purpose' | 'intents' | 'feeMax'> {
  const usdRateOf = (symbol: AssetId): bigint | null =>
    app.rates.rate(business.network, symbol, 'USD', app.now())?.scaled ?? null;
  const { feeAsset } = chain.spending;
  const { outputs } = description;
  const paid = outputs.filter(({ changeIndex }) => changeIndex === null);
  // the amount of a transaction that pays only ourselves is the returned amount
  const amount = (paid.length > 0 ? paid : outputs).reduce((sum, { units }) => sum + units, 0n);
  const rates = { usdRate: usdRateOf(asset), feeUsdRate: usdRateOf(feeAsset) };
  const reports = rows.map((row) => {
    const report = reportAddress(app.store, { business: business.id, chain: assetOf(row.asset).chain }, row.address);
    return { row, report };
  });
  const warnings = reports.flatMap(({ row, report }) => [
    ...warningsOf(report, row),
    ...restoredWarnings(app.store, row),
  ]);
  warnings.push(...paid.flatMap((output) => ownAddressWarning(app.store, chain, output)));
  const refunds = rows.flatMap((row) => refundSaid(app.store, row) ?? []);
  for (const { excess } of refunds) if (excess !== null) warnings.push({ code: 'over_refund', said: excess });
  const notes = [
    ...refunds.map(({ note }) => note),
    ...rows.flatMap((row) => typedSaid(app.store, row)),
    ...reports.flatMap(({ row, report }) => firstApproved(report, row)),
  ];
  warnings.push(...highFeeWarnings({ asset, feeAsset, fee: fee + cost, amount, ...rates }));
  return {
    ...description,
    asset,
    fee,
    feeAsset,
    size,
    ...rates,
    warnings,
    notes,
    outside: app.directory.isWatchOnly(business, chain.adapter.chain),
    until: app.now() + APPROVAL_HOLDS_MS,
    speeds: [],
  };
}

/**
 * `feeMax`: the highest allowed fee, smallest units. `units`: the maximum of a sweep. `mac` is null only on the
 * sandbox.
 */
export type GivenApproval = { feeMax: bigint; units: bigint | null; until: number; mac: string | null };

/** Approves a waiting withdrawal. Throws `Rejected`: `withdrawal.state`, `.approval`, `.insufficient`. */
export function approve(app: App, tx: Tx, name: string, given: GivenApproval, speed: Speed = 'normal'): WithdrawalRow {
  const found = findWithdrawal(tx, name);
  // an approved withdrawal that cannot be claimed, because its fee rose for example, needs a new approval
  const stuck = found.state === 'approved' && found.spend_id === null && found.problem !== null;
  const row = stuck ? applyEvent(app, tx, found, 'return') : found;
  const change = { ...approvedFields(app, tx, row, given), speed };
  const approved = applyEvent(app, tx, row, 'approve', change);
  tx.afterCommit(() => app.wake.withdrawals(row.chain_key));
  return approved;
}

/** The fields that an approval changes. */
export function approvedFields(app: App, tx: Tx, row: WithdrawalRow, given: GivenApproval): Partial<WithdrawalRow> {
  const { feeMax, units, until, mac } = given;
  checkApproval(app, holderOf(app, row), given);
  if (row.sweep && mac !== null && units === null) {
    throw new Rejected('withdrawal.approval', 'The approval of a sweep names the most that it may give', 'units');
  }
  const isRaised = feeMax > row.fee_held;
  const feeAsset = row.fee_asset;
  if (feeAsset !== row.asset) {
    if (isRaised) needGas(tx, row.account_id, feeAsset, feeMax, row.id);
  } else if (isRaised && row.outpoint === null) {
    const needed = row.units + (row.sweep ? 0n : feeMax);
    if (availableUnits(tx, row.account_id, feeAsset, row.id) < needed) {
      throw new Rejected('withdrawal.insufficient', 'Insufficient balance for so high a fee', 'fee_max');
    }
  }
  const ends = row.sweep && units !== null ? { units: units.toString() } : {};
  const approval: StoredApproval | null = mac === null ? null : { until, mac, ...ends };
  return {
    fee_held: feeMax,
    approved_by: 'operator',
    approved_at: app.now(),
    approval: approval && JSON.stringify(approval),
    deadline_at: until,
    problem: null,
  };
}

/** Checks whether an approval is valid. Throws `Rejected('withdrawal.approval')`. */
export function checkApproval(
  app: App,
  { business: { network }, account }: Pick<Holder, 'business' | 'account'>,
  { until, mac }: GivenApproval,
): void {
  const now = app.now();
  // the signature in the wallet that has the keys is the approval
  if (mac === null && network !== 'sandbox' && !isOutside(account)) {
    throw new Rejected(
      'withdrawal.approval',
      "The operator's approval is missing: it needs the wallet's passphrase",
      'mac',
    );
  }
  if (until <= now || until > now + APPROVAL_HOLDS_MS + CLOCKS_APART_MAX_MS) {
    throw new Rejected('withdrawal.approval', 'An approval holds for up to seven days from now', 'until');
  }
}

/** The clock of the operator's machine may differ. */
const CLOCKS_APART_MAX_MS = 3_600_000;

/**
 * Rejects an unsigned withdrawal, or gives one up that was handed out to the wallet that has its keys and that nobody signed, as far as
 * is known. Throws `Rejected`: `withdrawal.not_found`, `withdrawal.state`, and in quarantine `Unavailable`.
 */
export function reject(app: App, tx: Tx, name: string, reason: string | null): WithdrawalRow {
  // it may have been paid after the backup
  refuseInQuarantine(tx, 'Rejections');
  const row = findWithdrawal(tx, name);
  if (row.state === 'signed' && isOutside(holderOf(app, row).account)) return giveUp(app, tx, row, reason);
  return applyEvent(app, tx, row, 'reject', {
    reason: reason === null ? message('ended.rejected') : message('ended.rejected_why', { reason }),
    deadline_at: null,
    problem: null,
  });
}
