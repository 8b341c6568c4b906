/**
 * A request for approval in the form in which it is shown, on a terminal and on a screen. Every amount and address comes
 * from the signed data where there is a review; other values, such as exchange rates, are the service's statements.
 *
 * Invariant: the equations hold in what is shown: `takes` is the sum of every other amount of the transaction, in units
 * and in cents.
 */
import type { Result } from '../contract/operator.ts';
import { type Asset, type AssetId, assetOf } from '../domain/assets.ts';
import { Rejected } from '../domain/errors.ts';
import type { Message } from '../domain/messages.ts';
import { FIAT_DECIMALS, fiatFor, formatDecimal, formatUnits, parseDecimal } from '../domain/money.ts';
import { inGroups, isFeeHigh } from '../domain/policy.ts';
import type { Speed } from '../domain/withdrawal.ts';
import type { Review } from './review.ts';

export type Preview = NonNullable<Result<'withdrawal.propose'>['preview']>;
export type Collect = NonNullable<Result<'withdrawal.propose'>['collect']>;

/** `worth`: in the view's currency, with two decimals, at the rate that the service states; null: it has none. */
export type Sum = { units: bigint; asset: AssetId; text: string; worth: string | null };

/** A currency that values are shown in. `perDollar`: its units for a dollar, a decimal, by the service's word. */
export type ShownIn = { currency: string; perDollar: string };
const DOLLARS: ShownIn = { currency: 'USD', perDollar: '1' };

/** `now`: what this transaction pays; `allowed`: what the approval lets it pay at most, which differs only for a sweep. */
export type PaymentView = {
  address: string;
  /** The address in groups of four characters, its prefix apart. */
  groups: string[];
  allowed: Sum;
  now: Sum;
  upTo: boolean;
};

/** Money that is collected first, because no single address can pay. */
export type CollectView = {
  /** How many addresses, as stated. */
  addresses: number;
  /** The highest fees that the grant allows, and those together with the payment's. */
  feeMax: Sum;
  total: Sum;
  /** Milliseconds since 1970. */
  until: number;
  /** The coin that has to be sent to the tank before, as stated; null: nothing is missing. */
  missing: Collect['needs'];
};

export type ReviewView = {
  /** Null on a simulated chain, whose transactions have no bytes: then everything is the service's statement. */
  decoded: { chain: string; network: string; accountNo: number } | null;
  kind: 'payment' | 'cancellation' | 'self';
  payments: PaymentView[];
  /** The sum that the payments get in this transaction; zero in a cancellation. */
  paid: Sum;
  /** To recipients that were approved before. */
  before: Sum[];
  /** Change to ourselves. */
  back: Sum | null;
  /** The coins that it must spend, "txid:n"; null: the service chooses. */
  coins: readonly string[] | null;
  /** How many coins it spends. */
  inputs: number;
  /** Stated; the approval and the signer limit it to `feeMax`. */
  fee: Sum;
  feeMax: Sum;
  /** The sum taken from the wallet's coins: every output, and the fee if it is paid in this asset. */
  takes: Sum;
  /** The sum that leaves the wallet. */
  leaves: Sum;
  /** Milliseconds since 1970. */
  until: number;
  /** In which values are shown, and its units per coin, as stated. */
  currency: string;
  rate: string | null;
  isFeeHigh: boolean;
  /** The collection before it; null: its money is where it is needed. */
  collect: CollectView | null;
  /** The likely wait and cost of each speed, as stated; empty if the fee cannot be chosen. */
  speeds: { speed: Speed; minutes: number; fee: Sum }[];
  /** The service's messages. */
  warnings: readonly { code: string; text: Message }[];
  notes: readonly Message[];
};

/** With two decimals, rounded up, so that no amount looks smaller than it is. */
export function cents(scaled: bigint): string {
  return formatDecimal(wholeCents(scaled), FIAT_DECIMALS);
}

function wholeCents(scaled: bigint): bigint {
  const unit = 10n ** BigInt(FIAT_DECIMALS - 2);
  return ((scaled + unit - 1n) / unit) * unit;
}

/** Amounts of an asset, with their value at a stated rate, rounded up to cents. */
class Valued {
  readonly #asset: Asset;
  readonly #rate: bigint | null;

  /** `rate`: 1e-8 of the currency per coin. */
  constructor(asset: Asset, rate: bigint | null) {
    this.#asset = asset;
    this.#rate = rate;
  }

  #worth(units: bigint): bigint | null {
    return this.#rate === null ? null : wholeCents(fiatFor(units, this.#asset, this.#rate));
  }

  of(units: bigint): Sum {
    return this.#sum(units, this.#worth(units));
  }

  /** The sum, whose cents are the sum of the parts' cents. */
  total(parts: readonly Sum[]): Sum {
    const units = parts.reduce((sum, part) => sum + part.units, 0n);
    const worth = parts.reduce<bigint | null>((sum, part) => {
      const one = this.#worth(part.units);
      return sum === null || one === null ? null : sum + one;
    }, 0n);
    return this.#sum(units, worth);
  }

  #sum(units: bigint, worth: bigint | null): Sum {
    const { symbol } = this.#asset;
    return {
      units,
      asset: symbol,
      text: formatUnits(units, this.#asset),
      worth: worth === null ? null : formatDecimal(worth, FIAT_DECIMALS),
    };
  }
}

type Parts = Pick<ReviewView, 'decoded' | 'kind' | 'coins' | 'inputs' | 'until'> & {
  asset: Asset;
  feeAsset: Asset;
  payments: { address: string; units: bigint; upTo: boolean; now: bigint }[];
  before: readonly bigint[];
  back: bigint | null;
  feeMax: bigint;
};

/** `review`: null on a simulated chain, where the preview itself is shown. */
export function viewOf(
  review: Review | null,
  preview: Preview,
  collect: Collect | null = null,
  shownIn: ShownIn = DOLLARS,
): ReviewView {
  const parts = review ? partsOfReview(review, preview) : partsOfPreview(preview);
  const { asset, feeAsset, payments, ...rest } = parts;
  const isApart = feeAsset !== asset;
  const rate = rateOf(preview, shownIn);
  const money = new Valued(asset, rate);
  const feeMoney = isApart ? new Valued(feeAsset, null) : money;
  const fee = feeMoney.of(unitsStated(preview.fee, feeAsset));
  const shown = payments.map(({ address, units, upTo, now }) => ({
    address,
    groups: inGroups(address),
    upTo,
    allowed: money.of(units),
    now: money.of(now),
  }));
  const granted = collect && feeMoney.of(BigInt(review?.collect?.feeMax ?? collect.fee_max));
  const fees = feeMoney.total([feeMoney.of(rest.feeMax), ...(granted ? [granted] : [])]);
  const before = rest.before.map((units) => money.of(units));
  const back = rest.back === null ? null : money.of(rest.back);
  const own = isApart ? [] : [fee];
  const isPaid = rest.kind === 'payment';
  const paid = isPaid ? shown.map(({ now }) => now) : [];
  const moved = payments.length === 0 ? (rest.back ?? 0n) : payments.reduce((sum, { units }) => sum + units, 0n);
  return {
    decoded: rest.decoded,
    kind: rest.kind,
    coins: rest.coins,
    inputs: rest.inputs,
    until: rest.until,
    payments: shown,
    before,
    back,
    fee,
    feeMax: feeMoney.of(rest.feeMax),
    paid: money.total(paid),
    takes: money.total([...paid, ...before, ...(back ? [back] : []), ...own]),
    leaves: money.total([...paid, ...before, ...own]),
    currency: shownIn.currency,
    rate: rate === null ? null : cents(rate),
    isFeeHigh: !isApart && isFeeHigh(fees.units, moved),
    speeds: preview.speeds.map(({ speed, minutes, fee: cost }) => ({
      speed,
      minutes,
      fee: feeMoney.of(unitsStated(cost, feeAsset)),
    })),
    collect: collect &&
      granted && {
        addresses: collect.addresses,
        missing: collect.needs,
        feeMax: granted,
        total: fees,
        until: review?.collect?.until ?? collect.until,
      },
    warnings: preview.warnings,
    notes: preview.notes,
  };
}

/** An amount that the service states. Throws `Rejected('review.differs')` if it is none of the coin: it is never shown as 0. */
function unitsStated(text: string, { symbol, decimals }: Asset): bigint {
  const units = parseDecimal(text, decimals);
  if (units === null) throw new Rejected('review.differs', `Nothing was approved. ${text} is no amount of ${symbol}`);
  return units;
}

/** 1e-8 of a currency per coin, rounded up: no amount looks smaller than it is. */
function rateOf({ usd_rate: stated }: Preview, { perDollar }: ShownIn): bigint | null {
  const [usd, factor] = [stated ?? '', perDollar].map((text) => parseDecimal(text, FIAT_DECIMALS));
  const one = 10n ** BigInt(FIAT_DECIMALS);
  return usd == null || factor == null ? null : (usd * factor + one - 1n) / one;
}

function partsOfReview(review: Review, preview: Preview): Parts {
  const { chain, network, accountNo, purpose, payments, before, back, coins, feeMax, until } = review;
  return {
    decoded: { chain, network, accountNo },
    kind: purpose === 'cancel' ? 'cancellation' : payments.length === 0 ? 'self' : 'payment',
    asset: assetOf(review.asset),
    feeAsset: assetOf(review.feeAsset),
    payments: [...payments],
    before,
    back,
    coins,
    feeMax,
    until,
    inputs: preview.inputs.length,
  };
}

function partsOfPreview(preview: Preview): Parts {
  const [asset, feeAsset] = [assetOf(preview.crypto as AssetId), assetOf(preview.fee_crypto as AssetId)];
  const units = (text: string): bigint => unitsStated(text, asset);
  const paid = preview.outputs.filter(({ change }) => !change);
  const returned = preview.outputs.filter(({ change }) => change);
  return {
    decoded: null,
    kind: preview.purpose === 'cancel' ? 'cancellation' : paid.length === 0 ? 'self' : 'payment',
    asset,
    feeAsset,
    before: [],
    coins: null,
    inputs: preview.inputs.length,
    until: preview.until,
    payments: paid.map(({ address, groups, amount }) => {
      const pays = units(amount);
      return { address: address ?? groups, units: pays, upTo: false, now: pays };
    }),
    back: returned.length === 0 ? null : returned.reduce((sum, { amount }) => sum + units(amount), 0n),
    feeMax: unitsStated(preview.fee_max, feeAsset),
  };
}
