/** Reads an output of a transaction with the secret that its sender and its receiver share. */

import {
  commitment as commitmentTo,
  littleEndian,
  maskOf,
  multipliedBase,
  outputScalar,
  Point,
  pointOf,
  scalarBytes,
  scalarOf,
  sealed,
  viewTagOf,
} from './curve.ts';
import { keccak256 } from './keccak.ts';
import type { Output } from './transaction.ts';

/**
 * `spendKey`: the public spend key of the address that it pays, 32 bytes. `scalar`: added to the private spend key, it
 * gives the key that spends the output. `mask`: of the commitment to its amount; 1 where the amount is in clear.
 */
export type OpenedOutput = { n: number; spendKey: Uint8Array; scalar: bigint; units: bigint; mask: bigint };

const UNITS_BYTES = 8;
const SCALAR_BYTES = 32;
const UNITS_MASK = (1n << 64n) - 1n;

/** The output `n` of its transaction; null if not made with this secret, or its commitment is to another amount. */
export function openOutput(output: Output, n: number, secret: Uint8Array): OpenedOutput | null {
  if (output.viewTag !== null && viewTagOf(secret, n) !== output.viewTag) return null;
  const scalar = outputScalar(secret, n);
  const key = pointOf(output.key);
  if (!key || scalar === 0n) return null;
  const spendKey = key.subtract(multipliedBase(scalar));
  const opened = spendKey.is0() ? null : openedUnits(output, scalar);
  return opened && { n, spendKey: spendKey.toBytes(), scalar, ...opened };
}

function openedUnits({ sealedUnits, commitment, clearUnits }: Output, scalar: bigint) {
  if (!sealedUnits || !commitment) return { units: clearUnits, mask: 1n };
  const opened = sealedUnits.length === UNITS_BYTES ? short(sealedUnits, scalar) : long(sealedUnits, scalar);
  const isRight = pointOf(commitment)?.equals(commitmentTo(opened.mask, opened.units));
  return isRight ? opened : null;
}

const short = (bytes: Uint8Array, scalar: bigint) => ({
  units: Buffer.from(sealed(bytes, scalar)).readBigUInt64LE(),
  mask: maskOf(scalar),
});

/** Before 2018: mask and amount are scalars, each hidden by a hash of the one before. */
function long(bytes: Uint8Array, scalar: bigint) {
  const first = scalarOf(keccak256(scalarBytes(scalar)));
  const second = scalarOf(keccak256(scalarBytes(first)));
  const mask = Point.Fn.create(littleEndian(bytes.subarray(0, SCALAR_BYTES)) - first);
  const units = Point.Fn.create(littleEndian(bytes.subarray(SCALAR_BYTES)) - second) & UNITS_MASK;
  return { units, mask };
}
