/** Compares the books of a chain of accounts with the balances of its addresses, as of one block. */
import type { Balances } from '../../chains/adapter.ts';
import { type AssetId, assetOf } from '../../domain/assets.ts';
import { formatUnits } from '../../domain/money.ts';

/** An amount of smallest units as the operator reads it: in whole coins, with the coin's name. */
export const inCoins = (units: bigint, asset: AssetId): string => `${formatUnits(units, assetOf(asset))} ${asset}`;

export class BalanceCheck {
  /** By target and asset: credits less debits, in blocks up to the compared one. */
  readonly #booked = new Map<string, bigint>();
  /** Targets with money that the source reports and that does not count yet. */
  readonly #pending = new Set<number>();

  /** Targets whose books differ from the source. */
  readonly differing = new Set<number>();

  add(targetId: number, asset: string, units: bigint): void {
    const key = `${targetId} ${asset}`;
    this.#booked.set(key, (this.#booked.get(key) ?? 0n) + units);
  }

  /** Leaves a target out. */
  skip(targetId: number): void {
    this.#pending.add(targetId);
  }

  /** The difference between the books and what the source reports of an address; null if there is none. */
  problemOf({ targetId, address, asset, units }: Balances['held'][number]): string | null {
    const booked = this.#booked.get(`${targetId} ${asset}`) ?? 0n;
    if (booked === units || this.#pending.has(targetId)) return null;
    this.differing.add(targetId);
    return `${address}: our books hold ${inCoins(booked, asset)}, the source ${inCoins(units, asset)}`;
  }
}
