/**
 * Addresses of Ethereum and BNB Smart Chain: 20 bytes, written as hex whose letter case is a checksum (EIP-55).
 *
 * Invariant: no address that this module writes lacks its checksum, and none that carries a wrong one is accepted. The
 * text does not tell a network: chain and network are the caller's to bind.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { pointCompress } from 'tiny-secp256k1';
import type { DerivedAddress } from '../../domain/chain.ts';
import { assert } from '../../domain/errors.ts';

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

/** The target of a compressed public key (33 bytes). Its script is the address's 20 bytes. */
export function addressOfKey(publicKey: Uint8Array): DerivedAddress {
  const uncompressed = pointCompress(publicKey, false);
  // Without the leading 04, which marks the form.
  const script = keccak_256(uncompressed.subarray(1)).slice(12);
  return { script, address: checksumAddress(script) };
}

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

/** The 20 bytes of an address, or null. Letters of one case carry no checksum; mixed ones must have the right one. */
export function scriptOf(address: string): Uint8Array | null {
  if (!ADDRESS.test(address)) return null;
  const digits = address.slice(2);
  const bytes = Uint8Array.from(Buffer.from(digits, 'hex'));
  const isOneCase = digits === digits.toLowerCase() || digits === digits.toUpperCase();
  return isOneCase || checksumAddress(bytes) === address ? bytes : null;
}

/** Whether money can be sent to this text: see `scriptOf`. */
export function isValidAddress(address: string): boolean {
  return scriptOf(address) !== null;
}
