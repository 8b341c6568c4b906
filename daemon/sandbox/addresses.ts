/** The sandbox's addresses: in the forms of each chain's test network, derived as on the real chains. */
import { deriveAddress as derivedAt, isUtxo, scriptOf } from '../chains/derive.ts';
import { type AssetId, assetOf, type ChainId } from '../domain/assets.ts';
import type { AccountKey, Branch, DerivedAddress } from '../domain/chain.ts';

export { isUtxo };

/** The target of an index. Throws on a key of another kind and on an index above 2^31 - 1. */
export function deriveAddress(chain: ChainId, account: AccountKey, branch: Branch, index: number): DerivedAddress {
  return derivedAt(chain, 'sandbox', account, branch, index);
}

/** The script of an address, or null when it is not an address of this chain in the sandbox. */
export function scriptAt(chain: ChainId, address: string): Uint8Array | null {
  return scriptOf(chain, 'sandbox', address);
}

const MILLION = 1_000_000n;
const COIN = 100_000_000n;

/** The maximum amount of an asset: its supply, or the largest integer of the chain. */
export function unitsMax(asset: AssetId): bigint {
  const { chain } = assetOf(asset);
  if (isUtxo(chain)) return (chain === 'LTC' ? 84n : 21n) * MILLION * COIN;
  return chain === 'XMR' ? 2n ** 64n - 1n : 2n ** 256n - 1n;
}
