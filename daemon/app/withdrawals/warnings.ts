/** Warnings that an operator sees before an approval. */
import { type AssetId, assetOf } from '../../domain/assets.ts';
import { toIso } from '../../domain/calendar.ts';
import { type Message, message } from '../../domain/messages.ts';
import { fiatFor, formatUnits } from '../../domain/money.ts';
import { isFeeHigh } from '../../domain/policy.ts';
import { isSigned } from '../../domain/withdrawal.ts';
import { invoiceById } from '../../store/queries/invoices.ts';
import { inboxById } from '../../store/queries/policies.ts';
import { refundLinkOfWithdrawal } from '../../store/queries/refund-links.ts';
import type { WithdrawalRow } from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import { ownTarget } from '../addresses/watch.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { quarantineOf, restoredFrom } from '../recovery/quarantine.ts';
import type { AddressReport } from './known-addresses.ts';
import { feeAssetFor } from './request.ts';

/** Of a time as "2026-11-23T…". */
const DAY_CHARS = 10;

export type Warning = {
  code:
    | 'also_ends'
    | 'may_be_paid'
    | 'over_refund'
    | 'new_address'
    | 'own_address'
    | 'lookalike'
    | 'one_end'
    | 'high_fee'
    | 'dear_fee'
    | 'fee_lowered'
    | 'left_behind';
  said: Message;
};

/** Warns of the other withdrawals that end where coins are taken back. */
export function endWarnings(others: readonly WithdrawalRow[]): Warning[] {
  if (others.length === 0) return [];
  const ids = others.map(({ id }) => id).join(', ');
  return [{ code: 'also_ends', said: message('warning.also_ends', { ids }) }];
}

/** A warning if the allowed fee is below the reserved one, which exceeds a limit. */
export function feeWarnings(row: WithdrawalRow, feeMax: bigint): Warning[] {
  if (feeMax >= row.fee_held) return [];
  const [held, most] = [row.fee_held, feeMax].map((units) => formatUnits(units, feeAssetFor(row))) as [string, string];
  return [{ code: 'fee_lowered', said: message('warning.fee_lowered', { id: row.id, held, most }) }];
}

/** Amounts are smallest units, each of its asset. Rates are 1e-8 US dollars per coin. */
type Cost = {
  asset: AssetId;
  feeAsset: AssetId;
  fee: bigint;
  amount: bigint;
  usdRate: bigint | null;
  feeUsdRate: bigint | null;
};

/** Warns of a fee that is a large share of the amount. One in another asset is compared in dollars, where both rates are known. */
export function highFeeWarnings({ asset, feeAsset, fee, amount, usdRate, feeUsdRate }: Cost): Warning[] {
  if (amount === 0n) return [];
  if (feeAsset === asset) {
    return isFeeHigh(fee, amount) ? [{ code: 'high_fee', said: message('warning.high_fee') }] : [];
  }
  if (usdRate === null || feeUsdRate === null) return [];
  const cost = fiatFor(fee, assetOf(feeAsset), feeUsdRate);
  if (!isFeeHigh(cost, fiatFor(amount, assetOf(asset), usdRate))) return [];
  const dear = { amount: formatUnits(fee, assetOf(feeAsset)), asset: feeAsset };
  return [{ code: 'dear_fee', said: message('warning.dear_fee', dear) }];
}

/** Warns of a payment to an address of this wallet. */
export function ownAddressWarning(
  reader: Reader,
  { key }: ChainRuntime,
  output: Parameters<typeof ownTarget>[2],
): Warning[] {
  if (!ownTarget(reader, key, output)) return [];
  return [{ code: 'own_address', said: message('warning.own_address') }];
}

export function warningsOf(
  { isNew, unasked, lookalikes, oneEnd }: AddressReport,
  { id, state, may_be_paid }: WithdrawalRow,
): Warning[] {
  const warnings: Warning[] = [];
  if (may_be_paid && !isSigned(state)) {
    warnings.push({ code: 'may_be_paid', said: message('warning.may_be_paid', { id }) });
  }
  if (isNew) {
    const said =
      unasked === 0
        ? message('warning.new_address', { id })
        : message('warning.unasked_address', { id, count: unasked });
    warnings.push({ code: 'new_address', said });
  }
  if (lookalikes.length > 0) {
    const addresses = lookalikes.map((one) => one.address).join(', ');
    warnings.push({ code: 'lookalike', said: message('warning.lookalike', { id, addresses }) });
  }
  if (oneEnd.length > 0) {
    warnings.push({ code: 'one_end', said: message('warning.one_end', { id, addresses: oneEnd.join(', ') }) });
  }
  return warnings;
}

type Refund = Pick<WithdrawalRow, 'id' | 'state' | 'created_at' | 'invoice_id' | 'inbox_id'>;

/**
 * Warns of a refund of what an older state of the data has: the service before a restore may have refunded it, over a link at another
 * address, and this one knows nothing of that. A refund of an invoice takes any coin, so no coin that is spent stops a second one.
 */
export function restoredWarnings(reader: Reader, { id, state, created_at, invoice_id, inbox_id }: Refund): Warning[] {
  const since = (quarantineOf(reader) ?? restoredFrom(reader))?.since;
  if (since === undefined || created_at <= since || isSigned(state)) return [];
  const isOlder = (row: { created_at: number } | undefined): boolean => row !== undefined && row.created_at <= since;
  if (isOlder(reader.get(refundLinkOfWithdrawal, { withdrawal_id: id })))
    return [{ code: 'may_be_paid', said: message('warning.link_restored', { id }) }];
  const isRefunded =
    (invoice_id !== null && isOlder(reader.get(invoiceById, { id: invoice_id }))) ||
    (inbox_id !== null && isOlder(reader.get(inboxById, { id: inbox_id })));
  return isRefunded ? [{ code: 'may_be_paid', said: message('warning.refund_restored', { id }) }] : [];
}

/** When the operator first approved a payment to an address; nothing if never. The day is UTC's. */
export function firstApproved({ firstAt }: AddressReport, { id }: WithdrawalRow): Message[] {
  return firstAt === null ? [] : [message('note.first_approved', { id, day: toIso(firstAt).slice(0, DAY_CHARS) })];
}
