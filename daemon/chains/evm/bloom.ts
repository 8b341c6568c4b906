/**
 * The filter of a block's logs (yellow paper, 4.3.1): 2,048 bits, of which each contract and topic of a log sets three.
 * A log whose bits are not all set is not in the block.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';

const BITS_MASK = 0x7ff;
const BYTES = 256;

/** Whether a filter (256 bytes as hex with 0x) may hold all of these values (hex with 0x). */
export function mayHold(bloom: string, values: readonly string[]): boolean {
  const bytes = Buffer.from(bloom.slice(2), 'hex');
  return values.every((value) => bitsOf(value).every((bit) => ((bytes[BYTES - 1 - (bit >> 3)] ?? 0) >> (bit & 7)) & 1));
}

function bitsOf(value: string): number[] {
  const digest = keccak_256(Buffer.from(value.slice(2), 'hex'));
  return [0, 2, 4].map((at) => ((digest[at]! << 8) | digest[at + 1]!) & BITS_MASK);
}
