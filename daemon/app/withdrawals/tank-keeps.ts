/** The coin that stays in the tank of an account when a plan sends the rest on. `gas/reserve.ts` knows how much that is. */
import type { AddressFunds, Holdings } from '../../chains/spending.ts';
import type { AssetId } from '../../domain/assets.ts';
import { maxOf } from '../../domain/money.ts';

/** Smallest units of the chain's coin, of the tank at this index of branch 1. */
export type TankReserve = { index: number; units: bigint };

/** The funds of an account without what its tank must keep. */
export function withoutReserve<F extends Pick<Holdings, 'balances' | 'balance'>>(
  funds: F,
  coin: AssetId,
  reserve: TankReserve | null,
): F {
  if (reserve === null) return funds;
  const less = (one: AddressFunds): AddressFunds => {
    if (!isTank(one, reserve.index)) return one;
    const units = { ...one.units, [coin]: maxOf((one.units[coin] ?? 0n) - reserve.units, 0n) };
    return { ...one, units };
  };
  return { ...funds, balances: () => funds.balances().map(less), balance: (own) => less(funds.balance(own)) };
}

export const isTank = ({ branch, index }: AddressFunds, tank: number): boolean => branch === 1 && index === tank;
