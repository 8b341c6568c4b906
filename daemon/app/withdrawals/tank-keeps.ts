/** The coin that stays at addresses when a plan sends the rest on. `gas/reserve.ts` knows how much that is. */
import type { AddressFunds, Holdings } from '../../chains/spending.ts';
import type { AssetId } from '../../domain/assets.ts';
import { maxOf } from '../../domain/money.ts';

/** Smallest units of the chain's coin, by address. */
export type CoinReserve = ReadonlyMap<string, bigint>;

/** The funds of an account without the coin that its addresses must keep. */
export function withoutReserve<F extends Pick<Holdings, 'balances' | 'balance'>>(
  funds: F,
  coin: AssetId,
  reserve: CoinReserve | null,
): F {
  if (reserve === null) return funds;
  const less = (one: AddressFunds): AddressFunds => {
    const kept = reserve.get(one.address);
    if (kept === undefined) return one;
    return { ...one, units: { ...one.units, [coin]: maxOf((one.units[coin] ?? 0n) - kept, 0n) } };
  };
  return { ...funds, balances: () => funds.balances().map(less), balance: (own) => less(funds.balance(own)) };
}

export const isTank = ({ branch, index }: AddressFunds, tank: number): boolean => branch === 1 && index === tank;
