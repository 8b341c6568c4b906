/** Scalars, points and hashes of Monero: ed25519 with keccak (CryptoNote), and key images. */
import { ed25519 } from '@noble/curves/ed25519.js';
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { assert } from '../domain/errors.ts';
import { keccak256, keccak256Hex } from './keccak.ts';
import { varint } from './varint.ts';

export const { Point } = ed25519;
export type CurvePoint = InstanceType<typeof Point>;

const VIEW_TAG_DOMAIN = utf8ToBytes('view_tag');
const AMOUNT_DOMAIN = utf8ToBytes('amount');
const MASK_DOMAIN = utf8ToBytes('commitment_mask');
/** The second generator, whose logarithm is unknown (`rct::H`). */
const H = Point.fromHex('8b655970153799af2aeadc9ff1add0ea6c7251d54154cfa92c173a0dd39c1f94');
/** Every point times 8 is in the group of prime order. */
const COFACTOR = 8n;
const UNITS_BYTES = 8;
const NUMBER_BYTES = 32;

/** 32 bytes, little-endian, as a number. */
export function littleEndian(bytes: Uint8Array): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, NUMBER_BYTES);
  const word = (at: number): bigint => view.getBigUint64(at, true) << BigInt(8 * at);
  return word(0) | word(8) | word(16) | word(24);
}

/** A number below 2^256 as 32 bytes, little-endian. */
export function littleEndianBytes(value: bigint): Uint8Array {
  const bytes = new Uint8Array(NUMBER_BYTES);
  const view = new DataView(bytes.buffer);
  // each takes the lowest 64 bits of what it is given
  for (let at = 0; at < NUMBER_BYTES; at += 8) view.setBigUint64(at, value >> BigInt(8 * at), true);
  return bytes;
}

/** 32 bytes, little-endian, modulo the group's order (`sc_reduce32`). */
export const scalarOf = (bytes: Uint8Array): bigint => Point.Fn.create(littleEndian(bytes));
export const scalarBytes = (scalar: bigint): Uint8Array => Point.Fn.toBytes(scalar);

/** Keccak of the joined parts, as a scalar. */
export const hashToScalar = (...parts: Uint8Array[]): bigint => scalarOf(keccak256(concatBytes(...parts)));

/** A point from its canonical encoding; null for other bytes. */
export function pointOf(bytes: Uint8Array): CurvePoint | null {
  try {
    return Point.fromBytes(bytes);
  } catch {
    return null;
  }
}

/** The scalar times the point, in variable time; the scalar may be 0. */
const multiplied = (point: CurvePoint, scalar: bigint): CurvePoint =>
  scalar === 0n ? Point.ZERO : point.multiplyUnsafe(scalar);

/** The scalar times the base, in variable time; the scalar may be 0. */
export const multipliedBase = (scalar: bigint): CurvePoint => multiplied(Point.BASE, scalar);

/** The commitment to an amount (Pedersen). */
export const commitment = (mask: bigint, units: bigint): CurvePoint => multipliedBase(mask).add(multiplied(H, units));

/**
 * The secret that sender and receiver share: 8 times the private key times the other's public key, 32 bytes. Null for a
 * key that is no point, or one of small order.
 */
export function sharedSecret(publicKey: Uint8Array, privateKey: bigint): Uint8Array | null {
  const point = pointOf(publicKey)?.multiplyUnsafe(privateKey).multiplyUnsafe(COFACTOR);
  return point && !point.is0() ? point.toBytes() : null;
}

/** The scalar that makes the one-time key of output `n` from a shared secret. */
export const outputScalar = (secret: Uint8Array, n: number): bigint => hashToScalar(secret, varint(n));

/** The byte with which a receiver skips most outputs of others. */
export const viewTagOf = (secret: Uint8Array, n: number): number =>
  Number.parseInt(keccak256Hex(concatBytes(VIEW_TAG_DOMAIN, secret, varint(n))).slice(0, 2), 16);

/** The mask of an output's commitment, from the output's scalar. */
export const maskOf = (scalar: bigint): bigint => hashToScalar(MASK_DOMAIN, scalarBytes(scalar));

/** An amount of 8 bytes encrypted, or decrypted, with the output's scalar. */
export function sealed(units: Uint8Array, scalar: bigint): Uint8Array {
  assert(units.length === UNITS_BYTES, 'an amount has 8 bytes');
  const pad = keccak256(concatBytes(AMOUNT_DOMAIN, scalarBytes(scalar)));
  return units.map((byte, i) => byte ^ (pad[i] as number));
}

const { Fp } = Point;
/** Of Curve25519: y² = x³ + A·x² + x. */
const A = 486662n;
const ROOT_FACTOR = Fp.create(A * (A + 2n));

/**
 * A point with an unknown logarithm, from 32 bytes (`hash_to_ec`): CryptoNote's form of Elligator
 * (`ge_fromfe_frombytes_vartime`), times 8.
 */
export function hashToPoint(bytes: Uint8Array): CurvePoint {
  const u = Fp.create(littleEndian(keccak256(bytes)));
  const v = Fp.mul(2n, Fp.sqr(u));
  const w = Fp.add(v, 1n);
  const ratio = Fp.div(w, Fp.sub(Fp.sqr(w), Fp.mul(A * A, v)));
  // x is the root of one of two squares; its sign tells which
  const even = rootOf(Fp.mul(Fp.mul(ROOT_FACTOR, v), ratio));
  const root = even ?? Fp.sqrt(Fp.mul(ROOT_FACTOR, ratio));
  const z = even === null ? Fp.neg(A) : Fp.neg(Fp.mul(A, v));
  const isOdd = even === null;
  const x = (root & 1n) === (isOdd ? 1n : 0n) ? root : Fp.neg(root);
  return Point.fromAffine({ x, y: Fp.div(Fp.sub(z, w), Fp.add(z, w)) }).multiplyUnsafe(COFACTOR);
}

function rootOf(value: bigint): bigint | null {
  try {
    return Fp.sqrt(value);
  } catch {
    return null;
  }
}

/** The key image of an output, from its one-time private key: 32 bytes, the same for every transaction that spends it. */
export function keyImageOf(privateKey: bigint): Uint8Array {
  return hashToPoint(Point.BASE.multiply(privateKey).toBytes()).multiply(privateKey).toBytes();
}
