/**
 * The proof that bytes are those of a transaction that cannot be read here: its id is a hash of hashes of its parts, and the division
 * into parts that gives the id is searched for. Without it a node could hide a payment behind bytes that mean nothing.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, concatBytes } from '@noble/hashes/utils.js';
import { Malformed } from '../domain/errors.ts';
import { isWhollyHashed, prefixLength } from './transaction.ts';

/** The search hashes some half of the square of this. The largest transactions have 12,000 bytes without their signatures. */
const SEARCHED_BYTES_MAX = 16_000;

/**
 * Whether an id (hex) is that of a transaction with these bytes: all of them for version 1, else those without its signatures, whose
 * hash is given (hex). `pause`: waits now and then, because a search takes seconds.
 */
export async function isProved(
  id: string,
  bytes: Uint8Array,
  prunableHash: string,
  pause: () => Promise<unknown> | undefined,
): Promise<boolean> {
  if (isWhollyHashed(bytes)) return bytesToHex(keccak_256(bytes)) === id;
  const last = Buffer.from(prunableHash, 'hex');
  const divides = (prefix: Uint8Array, at: number): boolean =>
    bytesToHex(keccak_256(concatBytes(prefix, keccak_256(bytes.subarray(at)), last))) === id;
  const known = readablePrefix(bytes);
  if (known !== null) return divides(keccak_256(bytes.subarray(0, known)), known);
  if (bytes.length > SEARCHED_BYTES_MAX) return false;
  const hashed = keccak_256.create();
  for (let at = 1; at < bytes.length; at++) {
    hashed.update(bytes.subarray(at - 1, at));
    if (divides(hashed.clone().digest(), at)) return true;
    const wait = pause();
    if (wait) await wait;
  }
  return false;
}

function readablePrefix(bytes: Uint8Array): number | null {
  try {
    return prefixLength(bytes);
  } catch (error) {
    if (error instanceof Malformed) return null;
    throw error;
  }
}
