/**
 * Receiving addresses from public account keys, made by the wallet's own code: what a server says about an address is compared
 * with these. Nothing here is secret but Monero's view key, which shows what was received.
 */
import { hexToBytes } from '@noble/curves/utils.js';
import { HDKey } from '@scure/bip32';
import type { ChainId, Network } from '../domain/assets.ts';
import type { AccountKey } from '../domain/chain.ts';
import { assert } from '../domain/errors.ts';
import { isEvm } from '../domain/evm.ts';
import { addressAt, isValidAddress } from '../monero/address.ts';
import { addressOfOwnScript, destination, ownScript, scriptOfForm } from './signer/destination.ts';
import { checksummed, evmDestination, addressOf as evmOf } from './signer/evm-address.ts';

/** Non-hardened indices of BIP-32. */
const INDEX_MAX = 2 ** 31 - 1;

/** Whether an index can be one of a receiving address. */
export const isIndex = (index: number): boolean => Number.isInteger(index) && index >= 0 && index <= INDEX_MAX;

/** The address at `index` (0 to 2^31 - 1) of the receiving branch. Throws for a key of another kind. */
export function ownAddress(key: AccountKey, chain: ChainId, network: Network, index: number): string {
  if (chain === 'XMR') return addressAt(key, 0, index, network).address;
  const { publicKey } = receivingBranch(key).deriveChild(index);
  assert(publicKey, 'a derived node has its public key');
  if (isEvm(chain)) return checksummed(evmOf(publicKey));
  const form = key.kind === 'secp256k1' ? key.watch?.form : undefined;
  const script = form ? scriptOfForm(publicKey, form) : ownScript(publicKey, chain);
  return addressOfOwnScript(script, chain, network);
}

const branches = new WeakMap<AccountKey, HDKey>();

/** Derived once for each key. */
function receivingBranch(key: AccountKey): HDKey {
  assert(key.kind === 'secp256k1', 'an account of this chain has a public key');
  const known = branches.get(key);
  if (known) return known;
  const { publicKey, chainCode } = key;
  const account = new HDKey({ publicKey: hexToBytes(publicKey), chainCode: hexToBytes(chainCode) });
  const branch = account.deriveChild(0);
  branches.set(key, branch);
  return branch;
}

/** An address as addresses are compared: without case, prefix or spelling. Null: none of this chain and network. */
export function comparable(address: string, chain: ChainId, network: Network): string | null {
  if (chain === 'XMR') return isValidAddress(address, network) ? address : null;
  if (isEvm(chain)) return evmDestination(address);
  return destination(address, chain, network);
}
