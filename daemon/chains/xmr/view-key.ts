/**
 * The secrets that an account shares with the senders of transactions: 8 times the private view key times the public key of each.
 *
 * OpenSSL multiplies on Curve25519 forty times as fast as JavaScript does, and tells all but the sign: X25519 (RFC 7748) gives the u of
 * the product, and u gives the y of the same point on Monero's curve. So each secret is one of two, and the view tag of an output
 * tells most of these from another's. A caller that finds an output with a possible secret must compare it with the exact one.
 */
import { createPrivateKey, createPublicKey, diffieHellman, type KeyObject } from 'node:crypto';
import { Point, scalarOf, sharedSecret } from '../../monero/curve.ts';
import type { Steps } from '../slices.ts';

/** `possible`: the secret is one of these; none: it is no secret at all; null: only the exact computation tells. */
export type Shared = { key: Uint8Array; possible: readonly Uint8Array[] | null };

const KEY_BYTES = 32;
const SIGN_BIT = 0x80;
const { Fp } = Point;
/** X25519 takes multiples of 8 from 2^254 to 2^255: 8 times a number in this range. */
const SCALAR_MIN = 2n ** 251n;
const SCALAR_END = 2n ** 252n;
const COFACTOR = 8n;
/** The bytes before the 32 of an X25519 private key in its encoding (RFC 8410). */
const PRIVATE_HEAD = Buffer.from('302e020100300506032b656e04220420', 'hex');

const numberOf = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
const bytesOf = (value: bigint): Buffer =>
  Buffer.from(value.toString(16).padStart(2 * KEY_BYTES, '0'), 'hex').reverse();

export class ViewKey {
  readonly #scalar: bigint;
  readonly #key: KeyObject | null;

  /** `hex`: the private view key. */
  constructor(hex: string) {
    this.#scalar = scalarOf(Buffer.from(hex, 'hex'));
    // the negative scalar gives the negative point, which has the same u
    const either = [this.#scalar, Point.Fn.neg(this.#scalar)];
    const scalar = either.find((one) => one >= SCALAR_MIN && one < SCALAR_END);
    this.#key =
      scalar === undefined
        ? null
        : createPrivateKey({
            key: Buffer.concat([PRIVATE_HEAD, bytesOf(COFACTOR * scalar)]),
            format: 'der',
            type: 'pkcs8',
          });
  }

  get scalar(): bigint {
    return this.#scalar;
  }

  /** Null for a key that is no point, or one of small order. Slow. */
  exact(key: Uint8Array): Uint8Array | null {
    return sharedSecret(key, this.#scalar);
  }

  /** The secrets for public keys, in their order. Inversions are made for all at once. */
  *shared(keys: readonly Uint8Array[]): Steps<Shared[]> {
    const own = this.#key;
    if (!own) return keys.map((key) => ({ key, possible: null }));
    const ys = keys.map((key) => numberOf(key) & (2n ** 255n - 1n));
    const inverted = yield* inverses(ys.map((y) => Fp.sub(1n, Fp.create(y))));
    const products: (bigint | null)[] = [];
    for (const [at, y] of ys.entries()) {
      const inverse = inverted[at] as bigint;
      products.push(inverse === 0n ? null : product(own, Fp.mul(Fp.add(1n, Fp.create(y)), inverse)));
      yield null;
    }
    const below = yield* inverses(products.map((u) => (u === null ? 0n : Fp.add(u, 1n))));
    return keys.map((key, at) => {
      const u = products[at] ?? null;
      const inverse = below[at] as bigint;
      if (u === null || inverse === 0n) return { key, possible: [] };
      const even = bytesOf(Fp.mul(Fp.sub(u, 1n), inverse));
      const odd = Buffer.from(even);
      odd[KEY_BYTES - 1] = (odd[KEY_BYTES - 1] as number) | SIGN_BIT;
      return { key, possible: [even, odd] };
    });
  }
}

/** The u of the product; null: the point at infinity, which OpenSSL refuses. */
function product(privateKey: KeyObject, u: bigint): bigint | null {
  // the bytes alone are taken in half the time that their encoding takes
  const publicKey = createPublicKey({ key: bytesOf(u), format: 'raw-public', asymmetricKeyType: 'x25519' });
  try {
    return numberOf(diffieHellman({ privateKey, publicKey }));
  } catch {
    return null;
  }
}

/** The inverses of numbers, with one inversion (Montgomery's trick); 0 for 0. */
function* inverses(values: readonly bigint[]): Steps<bigint[]> {
  const before: bigint[] = [];
  let product = 1n;
  for (const value of values) {
    before.push(product);
    if (value !== 0n) product = Fp.mul(product, value);
    yield null;
  }
  let inverse = Fp.inv(product);
  const found = new Array<bigint>(values.length).fill(0n);
  for (let at = values.length - 1; at >= 0; at--) {
    const value = values[at] as bigint;
    if (value === 0n) continue;
    found[at] = Fp.mul(inverse, before[at] as bigint);
    inverse = Fp.mul(inverse, value);
    yield null;
  }
  return found;
}
