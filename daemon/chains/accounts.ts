/** The choice of the address that pays on an account chain. */
import { type AssetId, assetOf } from '../domain/assets.ts';
import { assert, Rejected } from '../domain/errors.ts';
import { formatUnits, minOf } from '../domain/money.ts';
import type { AddressFunds, PaymentRequest, Spending } from './spending.ts';

type Request = Pick<PaymentRequest, 'asset' | 'holdings' | 'from' | 'inputsMax'>;

/** `units` null: everything at one address, at most `inputsMax`. `fee`: the highest one, in `feeAsset`. */
type AmountWish = { units: bigint | null; fee: bigint; feeAsset: AssetId };

export type Sender = {
  sender: AddressFunds;
  /** The amount that leaves it in the paid asset, without the fee. */
  units: bigint;
};

/** The highest fee of a usual transfer on an account chain, in units of the fee's asset. `rate`: as of `feeRate`. */
export function usualFee(spending: Spending, asset: AssetId, rate: bigint): bigint {
  assert(spending.usualFee, 'an account chain');
  return spending.usualFee(asset, rate);
}

/** The same of giving an address the coin for its gas. */
export const fundingFee = (spending: Spending, rate: bigint): bigint =>
  spending.fundingFee?.(rate) ?? usualFee(spending, spending.feeAsset, rate);

/**
 * The one address that can pay an amount and its fee: the tank (branch 1) before others, then the largest holding. A sweep without
 * a highest amount takes the largest holding, which may be a deposit's. Throws `Rejected`: `spend.insufficient`, `spend.scattered`
 * if only several addresses together have the amount, `spend.gas` if the fee's own asset is missing where the amount is,
 * `spend.unsettled` if an address has it, or more of what a sweep may take, once that is confirmed.
 */
export function chooseSender(request: Request, { units, fee, feeAsset }: AmountWish): Sender {
  const { asset, holdings, from, inputsMax = null } = request;
  const inAsset = feeAsset === asset ? fee : 0n;
  const have = (funds: AddressFunds): bigint => funds.units[asset] ?? 0n;
  const willHave = (funds: AddressFunds): bigint => have(funds) + (funds.unconfirmed?.[asset] ?? 0n);
  const hasGas = (funds: AddressFunds): boolean => (funds.units[feeAsset] ?? 0n) >= fee;
  const isOpenSweep = units === null && inputsMax === null;
  const all = from ? [holdings.balance(from)] : ordered(holdings.balances(), isOpenSweep ? have : tankFirst);
  const needed = (units ?? inputsMax ?? 1n) + (units === null ? 0n : inAsset);
  // a sweep takes what is there; an approved one prefers an address that has all of it
  const rich = all.filter((funds) => have(funds) >= needed);
  const enough = rich.length > 0 || units !== null ? rich : all.filter((funds) => have(funds) > inAsset);
  const later = all.filter((funds) => (units === null ? willHave(funds) > inAsset : willHave(funds) >= needed));
  const [first] = enough;
  if (!first) {
    if (later.length > 0) throw unsettled(asset);
    const total = all.reduce((sum, funds) => sum + willHave(funds), 0n);
    const missing = (units ?? 1n) + inAsset - total;
    throw missing > 0n ? insufficient(asset, missing) : scattered(asset, all.length);
  }
  const sender = enough.find(hasGas);
  if (!sender) {
    if (later.some(hasGas)) throw unsettled(asset);
    throw new MissingGas(feeAsset, fee - (first.units[feeAsset] ?? 0n), first.address);
  }
  if (units !== null) return { sender, units };
  // an approved sweep is paid once: it takes no less because a part is not confirmed yet
  if (inputsMax !== null && later.some((funds) => minOf(willHave(funds), inputsMax) > have(sender))) {
    throw unsettled(asset);
  }
  const left = minOf(have(sender), inputsMax ?? have(sender)) - inAsset;
  if (left <= 0n) throw insufficient(asset, 1n - left);
  return { sender, units: left };
}

const tankFirst = ({ branch }: AddressFunds): bigint => BigInt(branch);

const ordered = (all: readonly AddressFunds[], by: (funds: AddressFunds) => bigint): AddressFunds[] =>
  all.toSorted((a, b) => (by(a) > by(b) ? -1 : by(a) < by(b) ? 1 : 0));

const text = (units: bigint, asset: AssetId): string => `${formatUnits(units, assetOf(asset))} ${asset}`;

export function insufficient(asset: AssetId, missing: bigint): Rejected {
  return new Rejected('spend.insufficient', `Insufficient balance: ${text(missing, asset)} are missing`);
}

/** The fee's own asset is missing at an address. */
export class MissingGas extends Rejected {
  /** How much is missing, smallest units of the fee's asset. */
  readonly missing: bigint;

  constructor(feeAsset: AssetId, missing: bigint, address: string) {
    const why = `Not enough gas: the network fee needs ${text(missing, feeAsset)} more at ${address}`;
    super('spend.gas', `${why}. Send it there`);
    this.missing = missing;
  }
}

const unsettled = (asset: AssetId): Rejected =>
  new Rejected(
    'spend.unsettled',
    `The ${asset} for it were moved or came a few blocks ago: wait for their confirmations`,
  );

function scattered(asset: AssetId, addresses: number): Rejected {
  const why = `No single address has enough ${asset}: it is on ${addresses} addresses`;
  return new Rejected('spend.scattered', `${why}. Collect it first`);
}
