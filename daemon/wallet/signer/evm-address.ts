/**
 * Converts addresses of Ethereum and BNB Smart Chain for the signer and the operator's program, independently of the
 * code that built the plan.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { hex as hexOf } from '@scure/base';

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

/** The 20 bytes of an address as hex, or null. A mixed case must be the right checksum (EIP-55); one case has none. */
export function evmDestination(address: string): string | null {
  if (!ADDRESS.test(address)) return null;
  const digits = address.slice(2);
  const lower = digits.toLowerCase();
  const isOneCase = digits === lower || digits === digits.toUpperCase();
  return isOneCase || checksummed(lower) === address ? lower : null;
}

/** The address of 20 bytes (lower-case hex) with its checksum (EIP-55). */
export function checksummed(hex: string): string {
  const digest = hexOf.encode(keccak_256(new TextEncoder().encode(hex)));
  const digits = [...hex].map((digit, at) => (digest.charAt(at) >= '8' ? digit.toUpperCase() : digit));
  return `0x${digits.join('')}`;
}

/** The address of a compressed public key: 20 bytes as hex. */
export function addressOf(publicKey: Uint8Array): string {
  // without the leading 04, which marks the uncompressed form
  const digest = keccak_256(secp256k1.Point.fromBytes(publicKey).toBytes(false).subarray(1));
  return hexOf.encode(digest.slice(12));
}
