/**
 * Difficulty targets and their work. The compact form of a target is a base-256 floating-point number: one byte of
 * size, three of mantissa.
 *
 * Source: `arith_uint256::SetCompact`, `GetCompact` and `GetBlockProof` of Bitcoin Core. All divisions round down.
 */

/** The mantissa's sign bit; a target is never negative. */
const SIGN = 0x800000;
const MANTISSA = 0x7fffff;
const TARGET_LIMIT = 1n << 256n;

/** The target of a compact form; null if it is zero, negative or does not fit in 256 bits. */
export function targetOfBits(bits: number): bigint | null {
  const size = bits >>> 24;
  const mantissa = bits & MANTISSA;
  if (mantissa === 0 || (bits & SIGN) !== 0) return null;
  const target = size <= 3 ? BigInt(mantissa >>> (8 * (3 - size))) : BigInt(mantissa) << BigInt(8 * (size - 3));
  return target === 0n || target >= TARGET_LIMIT ? null : target;
}

/** The compact form of a target of at most 256 bits, rounded down. */
export function bitsOfTarget(target: bigint): number {
  let size = Math.ceil(target.toString(16).length / 2);
  let mantissa = Number(size <= 3 ? target << BigInt(8 * (3 - size)) : target >> BigInt(8 * (size - 3)));
  // the highest bit would be read as a sign
  if ((mantissa & SIGN) !== 0) {
    mantissa >>>= 8;
    size++;
  }
  return ((size << 24) | mantissa) >>> 0;
}

/** The average number of hashes needed to meet a target, rounded down. */
export const workOfTarget = (target: bigint): bigint => TARGET_LIMIT / (target + 1n);
