/** Derives addresses from public keys alone, on any chain and network, without an adapter. */
import type { ChainId, Network } from '../domain/assets.ts';
import type { AccountKey, Branch, DerivedAddress } from '../domain/chain.ts';
import { assert } from '../domain/errors.ts';
import * as xmr from '../monero/address.ts';
import * as evm from './evm/address.ts';
import { childPublicKey, INDEX_MAX } from './hd.ts';
import * as utxo from './utxo/address.ts';
import type { UtxoChain } from './utxo/params.ts';

export const isUtxo = (chain: ChainId): chain is UtxoChain => chain === 'BTC' || chain === 'LTC' || chain === 'BCH';

/** The script of an address, or null when it is not an address of this chain and network. */
export function scriptOf(chain: ChainId, network: Network, address: string): Uint8Array | null {
  if (isUtxo(chain)) return utxo.scriptOf(address, chain, network);
  return chain === 'XMR' ? xmr.scriptOf(address, network) : evm.scriptOf(address);
}

/** Throws on a key of another kind and on an index above 2^31 - 1. */
export function deriveAddress(
  chain: ChainId,
  network: Network,
  account: AccountKey,
  branch: Branch,
  index: number,
): DerivedAddress {
  if (isUtxo(chain)) return utxo.addressAt(account, branch, index, chain, network);
  if (chain !== 'XMR') return evm.addressOfKey(childPublicKey(account, branch, index));
  assert(Number.isInteger(index) && index >= 0 && index <= INDEX_MAX, 'an index is from 0 to 2^31 - 1');
  return xmr.addressAt(account, branch, index, network);
}
