/**
 * The sandbox's addresses: those of each chain's test forms, derived as on the real ones. Nothing here is simulated.
 *
 * Monero: the subaddress of account `branch` and index `index + 1`, since (0, 0) is the standard address.
 */
import { type AssetId, assetOf, type ChainId } from '../../domain/assets.ts';
import type { AccountKey, Branch, Target } from '../../domain/chain.ts';
import { assert } from '../../domain/errors.ts';
import * as evm from '../evm/address.ts';
import { childPublicKey, INDEX_MAX } from '../hd.ts';
import * as utxo from '../utxo/address.ts';
import type { UtxoChain } from '../utxo/params.ts';
import * as xmr from '../xmr/address.ts';

export const isUtxo = (chain: ChainId): chain is UtxoChain => chain === 'BTC' || chain === 'LTC' || chain === 'BCH';

/** The target of an index. Throws on a key of another kind and on an index above 2^31 - 1. */
export function targetAt(chain: ChainId, account: AccountKey, branch: Branch, index: number): Target {
  if (isUtxo(chain)) return utxo.targetOf(childPublicKey(account, branch, index), chain, 'sandbox');
  if (chain !== 'XMR') return evm.targetOf(childPublicKey(account, branch, index));
  assert(Number.isInteger(index) && index >= 0 && index <= INDEX_MAX, 'an index is from 0 to 2^31 - 1');
  return xmr.subaddress(account, branch, index + 1, 'sandbox');
}

/** The script of an address, or null when it is none of this chain in the sandbox. */
export function scriptAt(chain: ChainId, address: string): Uint8Array | null {
  if (isUtxo(chain)) return utxo.scriptOf(address, chain, 'sandbox');
  return chain === 'XMR' ? xmr.scriptOf(address, 'sandbox') : evm.scriptOf(address);
}

const MILLION = 1_000_000n;
const COIN = 100_000_000n;

/** More than this of an asset does not exist, or cannot be written: its own supply, or the chain's integers. */
export function unitsMax(asset: AssetId): bigint {
  const { chain } = assetOf(asset);
  if (isUtxo(chain)) return (chain === 'LTC' ? 84n : 21n) * MILLION * COIN;
  return chain === 'XMR' ? 2n ** 64n - 1n : 2n ** 256n - 1n;
}
