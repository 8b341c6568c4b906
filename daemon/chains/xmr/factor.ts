/**
 * A secret number by which many points of Monero's curve are multiplied.
 *
 * OpenSSL multiplies on Curve25519 forty times as fast as JavaScript does, and tells all but the sign: X25519 (RFC 7748) gives the u of
 * the product, and u gives the y of the same point on Monero's curve. So a product is one of two. Which one, the product of another
 * point tells: the point plus the base, whose product is the one that is asked for plus a point that is known.
 */
import { createPrivateKey, createPublicKey, diffieHellman, type KeyObject } from 'node:crypto';
import { type CurvePoint, littleEndian, littleEndianBytes, multipliedBase, Point } from '../../monero/curve.ts';
import type { Steps } from '../slices.ts';

const { Fp } = Point;
const P = Fp.ORDER;
const ORDER = Point.Fn.ORDER;
/** Of the curve −x² + y² = 1 + d·x²·y². */
const D = Point.CURVE().d;
const KEY_BYTES = 32;
const SIGN_BIT = 0x80;
const Y_BITS = 255;
const COFACTOR = 8n;
/** X25519 takes multiples of 8 from 2^254 to 2^255. */
const CLAMPED_MIN = 2n ** 254n;
const CLAMPED_END = 2n ** 255n;
/** The bytes before the 32 of an X25519 private key in its encoding (RFC 8410). */
const PRIVATE_HEAD = Buffer.from('302e020100300506032b656e04220420', 'hex');

/** The y of a point from its bytes. */
const yOf = (bytes: Uint8Array): bigint => BigInt.asUintN(Y_BITS, littleEndian(bytes)) % P;
const times = (a: bigint, b: bigint): bigint => (a * b) % P;
/** Both are below P. */
const minus = (a: bigint, b: bigint): bigint => (a < b ? a - b + P : a - b);

export class Factor {
  readonly #key: KeyObject | null;
  /** The number times the base. */
  readonly #ofBase: { x: bigint; y: bigint };

  /** `scalar`: below the order of the base. */
  constructor(scalar: bigint) {
    this.#ofBase = multipliedBase(scalar).toAffine();
    const clamped = clampedOf(scalar);
    this.#key =
      clamped === null
        ? null
        : createPrivateKey({
            key: Buffer.concat([PRIVATE_HEAD, littleEndianBytes(clamped)]),
            format: 'der',
            type: 'pkcs8',
          });
  }

  /** Whether OpenSSL can multiply by it; false: `either` and `which` must not be called. */
  get isFast(): boolean {
    return this.#key !== null;
  }

  /**
   * For points (32 bytes each), in their order, the two of which one is the product; none: it is the point at infinity. Bytes that are no
   * point are not noticed. Inversions are made for all at once.
   */
  *either(points: readonly Uint8Array[]): Steps<Uint8Array[][]> {
    const ys = points.map(yOf);
    const inverted = yield* inverses(ys.map((y) => minus(1n, y)));
    const products: (bigint | null)[] = [];
    for (const [at, y] of ys.entries()) {
      const inverse = inverted[at] as bigint;
      products.push(inverse === 0n ? null : this.#times(times(1n + y, inverse)));
      yield null;
    }
    const below = yield* inverses(products.map((u) => (u === null ? 0n : (u + 1n) % P)));
    return products.map((u, at) => {
      const inverse = below[at] as bigint;
      if (u === null || inverse === 0n) return [];
      const even = littleEndianBytes(times(minus(u, 1n), inverse));
      const odd = Uint8Array.from(even);
      odd[KEY_BYTES - 1] = (odd[KEY_BYTES - 1] as number) | SIGN_BIT;
      return [even, odd];
    });
  }

  /** The one of two points (`either`) that is the product with a point; null where this way does not tell. */
  which(point: CurvePoint, [even, odd]: readonly Uint8Array[]): Uint8Array | null {
    const { Y, Z } = point.add(Point.BASE);
    const sum = Y === Z ? null : this.#times(Fp.div(Z + Y, minus(Z, Y)));
    if (!even || !odd || sum === null) return null;
    // the law of addition, solved for the x of one point by its y, the other point and the y of their sum
    const y = yOf(even);
    const both = times(y, this.#ofBase.y);
    const above = minus(minus(sum, 1n), times(both, sum + 1n));
    const below = times(this.#ofBase.x, sum + 1n + times(times(D, both), minus(sum, 1n)));
    if (below === 0n) return null;
    const x = Fp.div(above, below);
    const isPoint = times(times(x, x), times(times(D, y), y) + 1n) === minus(times(y, y), 1n);
    if (!isPoint) return null;
    return (x & 1n) === 0n ? even : odd;
  }

  /** The u of a product from that of a point; null: the point at infinity, which OpenSSL refuses. */
  #times(u: bigint): bigint | null {
    // the bytes alone are taken in half the time that their encoding takes
    const publicKey = createPublicKey({ key: littleEndianBytes(u), format: 'raw-public', asymmetricKeyType: 'x25519' });
    try {
      return littleEndian(diffieHellman({ privateKey: this.#key as KeyObject, publicKey }));
    } catch {
      return null;
    }
  }
}

/**
 * A number that X25519 takes, and that multiplies points of the base's order as the scalar does, or as its negative, which gives the same
 * u. As a multiple of 8 it makes nothing of what a point has of small order. Null: there is none.
 */
function clampedOf(scalar: bigint): bigint | null {
  for (const least of [scalar, Point.Fn.neg(scalar)]) {
    for (let one = least; one < CLAMPED_END; one += ORDER) {
      if (one >= CLAMPED_MIN && one % COFACTOR === 0n) return one;
    }
  }
  return null;
}

/** The inverses of numbers, with one inversion (Montgomery's trick); 0 for 0. */
function* inverses(values: readonly bigint[]): Steps<bigint[]> {
  const before: bigint[] = [];
  let product = 1n;
  for (const value of values) {
    before.push(product);
    if (value !== 0n) product = times(product, value);
    yield null;
  }
  let inverse = Fp.inv(product);
  const found = new Array<bigint>(values.length).fill(0n);
  for (let at = values.length - 1; at >= 0; at--) {
    const value = values[at] as bigint;
    if (value === 0n) continue;
    found[at] = times(inverse, before[at] as bigint);
    inverse = times(inverse, value);
    yield null;
  }
  return found;
}
