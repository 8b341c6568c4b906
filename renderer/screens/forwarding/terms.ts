/** The terms of a plan as they are typed: the first proposal, and what the service is asked with. */
import type { Asset, AssetId } from '../../../daemon/domain/assets.ts';
import { parseDecimal } from '../../../daemon/domain/money.ts';
import { isZero, scaled, unscaled } from '../../parts/format.ts';
import { feeCoinOf, type Plan, percentOf, type Terms, type WEEKDAYS } from './plans.ts';

export type Typed = {
  address: string;
  /** Whether the address is an extended public key, and the index of the first address that it pays. */
  byKey: boolean;
  from: string;
  keep: string;
  least: string;
  every: Plan['every'];
  at: string;
  weekday: (typeof WEEKDAYS)[number];
  /** Whether it waits for a cheap hour of gas. */
  cheap: boolean;
  /** Percent. */
  share: string;
  feeMax: string;
  feeDay: string;
};

const NIGHT = '03:00';
const USUAL_SHARE = '1';
/** The proposals for the highest fees of 24 hours, and of a token's payment: many times what they usually cost. */
const FEES_OF_DAY: { readonly [coin in AssetId]?: string } = {
  BTC: '0.0005',
  BCH: '0.01',
  LTC: '0.05',
  XMR: '0.01',
  ETH: '0.01',
  BNB: '0.01',
};
const FEE_OF_TOKEN: { readonly [coin in AssetId]?: string } = { ETH: '0.003', BNB: '0.002' };

const ownFee = (asset: Asset): boolean => feeCoinOf(asset) === asset;

/** A plan as it is stored; without one the proposal for an asset. */
export function typedOf(asset: Asset, plan: Plan | null): Typed {
  const coin = feeCoinOf(asset).symbol;
  if (plan) {
    return {
      address: plan.address,
      byKey: plan.next_index !== null,
      from: `${plan.next_index ?? 0}`,
      keep: isZero(plan.keep) ? '' : plan.keep,
      least: isZero(plan.least) ? '' : plan.least,
      every: plan.every,
      at: plan.at ?? NIGHT,
      weekday: plan.weekday ?? 'monday',
      cheap: plan.cheap,
      share: plan.fee_share === null ? '' : percentOf(plan.fee_share),
      feeMax: plan.fee_max ?? '',
      feeDay: plan.fee_day,
    };
  }
  return {
    address: '',
    byKey: false,
    from: '0',
    keep: '',
    least: '',
    every: 'day',
    at: NIGHT,
    weekday: 'monday',
    cheap: false,
    share: ownFee(asset) ? USUAL_SHARE : '',
    feeMax: ownFee(asset) ? '' : (FEE_OF_TOKEN[coin] ?? ''),
    feeDay: FEES_OF_DAY[coin] ?? '',
  };
}

/** Whether a text is an amount of an asset. Empty is 0, where that is allowed. */
export const isAmount = (text: string, { decimals }: Asset): boolean => parseDecimal(text || '0', decimals) !== null;

/** Whether a text is the index of an address. */
export const isIndex = (text: string): boolean => /^\d{1,9}$/.test(text);

/** A typed percentage as a share of at most six decimals; null: it is none. */
export function shareOf(percent: string): string | null {
  const size = parseDecimal(percent, 4);
  if (size === null || size === 0n || size > 1_000_000n) return null;
  return unscaled(scaled(percent) / 100n);
}

/** The terms that the service is asked with; null while something is missing or wrong. */
export function termsOf(asset: Asset, typed: Typed): Terms | null {
  const { address, byKey, from, keep, least, every, at, weekday, cheap, share, feeMax, feeDay } = typed;
  const coin = feeCoinOf(asset);
  const feeShare = share === '' ? null : shareOf(share);
  const areAmounts = isAmount(keep, asset) && isAmount(least, asset) && isAmount(feeMax, coin);
  const hasFee = (feeShare !== null || !isZero(feeMax)) && (share === '' || feeShare !== null);
  if (address === '' || !areAmounts || !hasFee || (byKey && !isIndex(from))) return null;
  if (!isAmount(feeDay, coin) || isZero(feeDay) || !/^\d\d:\d\d$/.test(at)) return null;
  return {
    address,
    from: byKey ? Number(from) : 0,
    keep: keep || '0',
    least: least || '0',
    every,
    at,
    weekday: every === 'week' ? weekday : null,
    cheap,
    fee_share: feeShare,
    fee_max: feeMax === '' ? null : feeMax,
    fee_day: feeDay,
  };
}
