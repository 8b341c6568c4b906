/**
 * Addresses of Ethereum and BNB Smart Chain: 20 bytes in hex, with a checksum in the letters' case (EIP-55).
 *
 * Invariant: every address written here has its checksum, and a wrong checksum is refused. The text does not identify a
 * chain or network; the caller must know them.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { LRUCache } from 'lru-cache';
import { pointCompress } from 'tiny-secp256k1';
import type { AccountKey, Branch, DerivedAddress } from '../../domain/chain.ts';
import { assert } from '../../domain/errors.ts';
import { childPublicKey } from '../hd.ts';

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const DERIVED_MAX = 10_000;
/** Both chains have the same addresses, and derive them at about the same time. */
const derived = new LRUCache<string, DerivedAddress>({ max: DERIVED_MAX });

/** The address at account/branch/index. Throws as `childPublicKey` does. */
export function addressAt(account: AccountKey, branch: Branch, index: number): DerivedAddress {
  assert(account.kind === 'secp256k1', 'a secp256k1 account derives addresses');
  const place = `${account.publicKey}${account.chainCode}${branch}/${index}`;
  const known = derived.get(place);
  if (known) return known;
  const found = addressOfKey(childPublicKey(account, branch, index));
  derived.set(place, found);
  return found;
}

/** The address of a compressed public key (33 bytes). Its script is the 20 bytes. */
export function addressOfKey(publicKey: Uint8Array): DerivedAddress {
  const script = addressOfUncompressed(pointCompress(publicKey, false));
  return { script, address: checksumAddress(script) };
}

/** The 20 bytes of the address of an uncompressed public key (65 bytes). */
export const addressOfUncompressed = (publicKey: Uint8Array): Uint8Array =>
  // without the leading 04, which marks the uncompressed form
  keccak_256(publicKey.subarray(1)).slice(12);

/** The address of 20 bytes, with its checksum (EIP-55). */
export function checksumAddress(bytes: Uint8Array): string {
  assert(bytes.length === 20, 'an address has 20 bytes');
  const hex = Buffer.from(bytes).toString('hex');
  const digest = Buffer.from(keccak_256(Buffer.from(hex, 'ascii'))).toString('hex');
  let address = '0x';
  for (let i = 0; i < hex.length; i++) {
    address += Number.parseInt(digest.charAt(i), 16) >= 8 ? hex.charAt(i).toUpperCase() : hex.charAt(i);
  }
  return address;
}

/** The 20 bytes of an address, or null. One in a single case has no checksum; a mixed one must have the right one. */
export function scriptOf(address: string): Uint8Array | null {
  if (!ADDRESS.test(address)) return null;
  const digits = address.slice(2);
  const bytes = Uint8Array.from(Buffer.from(digits, 'hex'));
  const isOneCase = digits === digits.toLowerCase() || digits === digits.toUpperCase();
  return isOneCase || checksumAddress(bytes) === address ? bytes : null;
}

export function isValidAddress(address: string): boolean {
  return scriptOf(address) !== null;
}
