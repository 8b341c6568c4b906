/** Withdrawals, previews, policies and addresses in the form of the operator API. */
import type { App } from '../../app/app.ts';
import type { Business } from '../../app/shops/directory.ts';
import { whyOutside } from '../../app/spends/outside.ts';
import type { Preview } from '../../app/withdrawals/approve.ts';
import type { Cost } from '../../app/withdrawals/cost.ts';
import type { showWithdrawal } from '../../app/withdrawals/lists.ts';
import { policyFor, usedOfPolicy } from '../../app/withdrawals/policy.ts';
import type { Recipient } from '../../app/withdrawals/recipient.ts';
import { refundedInvoice } from '../../app/withdrawals/refund.ts';
import { feeAssetFor } from '../../app/withdrawals/request.ts';
import type { Result } from '../../contract/operator.ts';
import { type Asset, assetOf, type ChainId } from '../../domain/assets.ts';
import { isoOrNull, toIso } from '../../domain/calendar.ts';
import { FIAT_DECIMALS, fiatFor, formatDecimal, formatUnits } from '../../domain/money.ts';
import { inGroups, type Policy } from '../../domain/policy.ts';
import { hex } from '../../kit/bytes.ts';
import type { AddressBookRow } from '../../store/queries/policies.ts';
import type { WithdrawalRow } from '../../store/queries/withdrawals.ts';

type WithdrawalJson = Result<'withdrawal.list'>['withdrawals'][number];
type DetailJson = Result<'withdrawal.show'>['withdrawal'];
type PreviewJson = NonNullable<Result<'withdrawal.propose'>['preview']>;
type PolicyJson = Result<'policy.show'>['policy'];
type AddressJson = Result<'addressBook.add'>['address'];

const usd = (scaled: bigint): string => formatDecimal(scaled, FIAT_DECIMALS);
const usdOrNull = (scaled: bigint | null): string | null => (scaled === null ? null : usd(scaled));

export function withdrawalJson(app: App, row: WithdrawalRow): WithdrawalJson {
  const asset = assetOf(row.asset);
  const { name, network } = app.directory.business(row.business_id);
  const invoice = refundedInvoice(app.store, row);
  return {
    id: row.id,
    uuid: row.uuid,
    business_id: row.business_id,
    business: name,
    network,
    crypto: asset.symbol,
    origin: row.origin,
    refund_of: invoice && { invoice: invoice.slug, order_id: invoice.order_id },
    amount: formatUnits(row.units, asset),
    sweep: row.sweep,
    usd_value: usdOrNull(row.usd_value),
    address: row.address,
    state: row.state,
    reason: row.reason,
    problem: row.problem ?? whyOutside(app, row),
    approved_by: row.approved_by,
    approved_at: isoOrNull(row.approved_at),
    deadline_at: isoOrNull(row.deadline_at),
    fee_max: formatUnits(row.fee_held, feeAssetFor(row)),
    fee: row.fee === null ? null : formatUnits(row.fee, feeAssetFor(row)),
    fee_crypto: row.fee_asset,
    tx_id: row.txid,
    canceling: row.cancel && (row.state === 'signed' || row.state === 'broadcast'),
    created_at: toIso(row.created_at),
    updated_at: toIso(row.updated_at),
  };
}

export function detailJson(
  app: App,
  { row, spend, versions, replacements, isReclaimed }: ReturnType<typeof showWithdrawal>,
): DetailJson {
  const asset = feeAssetFor(row);
  return {
    ...withdrawalJson(app, row),
    conflict_key: spend?.conflict_key ?? null,
    replacements,
    reclaimed: isReclaimed,
    versions: versions.map((version) => ({
      id: version.id,
      kind: version.kind,
      // nobody signed what was handed out, as far as is known: its id may be another one then
      tx_id: version.signed_at === null && version.sent_at === null ? null : version.txid,
      proof: version.proof,
      fee: formatUnits(version.fee, asset),
      vsize: version.size,
      signed_at: isoOrNull(version.signed_at),
      sent_at: isoOrNull(version.sent_at),
      problem: version.problem,
    })),
  };
}

const RATE_DECIMALS = 3;

export function previewJson(preview: Preview): PreviewJson {
  const { purpose, intents, raw, conflictKeys, outputs, fee, feeMax, size, usdRate, feeUsdRate, warnings, notes } =
    preview;
  const feeAsset = assetOf(preview.feeAsset);
  const worth = (units: bigint, of: Asset, rate: bigint | null): string | null =>
    rate === null ? null : usd(fiatFor(units, of, rate));
  return {
    crypto: preview.asset,
    purpose,
    intents,
    raw,
    outputs: outputs.map(({ address, script, units, changeIndex, asset: symbol }) => ({
      address,
      groups: inGroups(address ?? hex(script)).join(' '),
      amount: formatUnits(units, assetOf(symbol)),
      usd_value: worth(units, assetOf(symbol), symbol === preview.asset ? usdRate : feeUsdRate),
      change: changeIndex !== null,
      change_index: changeIndex,
    })),
    inputs: conflictKeys,
    fee: formatUnits(fee, feeAsset),
    fee_crypto: feeAsset.symbol,
    fee_usd: worth(fee, feeAsset, feeUsdRate),
    fee_max: formatUnits(feeMax, feeAsset),
    fee_max_usd: worth(feeMax, feeAsset, feeUsdRate),
    usd_rate: usdOrNull(usdRate),
    fee_rate: formatDecimal(size > 0 ? (fee * 10n ** BigInt(RATE_DECIMALS)) / BigInt(size) : 0n, RATE_DECIMALS),
    vsize: size,
    warnings: warnings.map(({ code, said }) => ({ code, text: said })),
    notes,
    outside: preview.outside,
    until: preview.until,
    speeds: preview.speeds.map(({ speed, minutes, fee: units }) => ({
      speed,
      minutes,
      fee: formatUnits(units, feeAsset),
      fee_usd: worth(units, feeAsset, feeUsdRate),
    })),
  };
}

type RecipientJson = Result<'withdrawal.recipient'>;

export const costJson = (asset: Asset, { fee, feeAsset, available, missing }: Cost): RecipientJson['cost'] => ({
  fee: formatUnits(fee, assetOf(feeAsset)),
  fee_crypto: feeAsset,
  fee_on_top: feeAsset === asset.symbol,
  available: formatUnits(available, asset),
  missing: formatUnits(missing, asset),
});

export function recipientJson(asset: Asset, recipient: Recipient): Omit<RecipientJson, 'cost'> {
  const { isValid, label, since, paid, last, firstAt, unasked, lookalikes, most } = recipient;
  return {
    valid: isValid,
    label,
    since: isoOrNull(since),
    paid,
    last: last && { address: last.address, at: toIso(last.at) },
    first_approved_at: isoOrNull(firstAt),
    unasked,
    lookalikes: lookalikes.map((one) => ({ address: one.address, label: one.label, paid_at: isoOrNull(one.paidAt) })),
    most: most === null ? null : formatUnits(most, asset),
  };
}

/** A policy in the words of the method that sets it. */
export const policyWordsJson = (policy: Policy): Result<'addressBook.grants'>['policy'] => ({
  mode: policy.mode,
  per_withdrawal_usd: usdOrNull(policy.perWithdrawalUsd),
  per_day_usd: usdOrNull(policy.perDayUsd),
  address_book_only: policy.addressBookOnly,
});

export function policyJson(app: App, business: Business): PolicyJson {
  return {
    business_id: business.id,
    business: business.name,
    ...policyWordsJson(policyFor(app.store, business)),
    used_usd: usd(usedOfPolicy(app, app.store, business)),
  };
}

export function addressJson(app: App, row: AddressBookRow): AddressJson {
  return {
    id: row.id,
    business_id: row.business_id,
    business: app.directory.business(row.business_id).name,
    chain: row.chain as ChainId,
    address: row.address,
    label: row.label,
    created_at: toIso(row.created_at),
  };
}
