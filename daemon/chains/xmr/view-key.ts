/**
 * A private view key, and its products with public keys: the secrets that an account shares with the senders of transactions, 8 times the
 * view key times the public key of each, and the view keys of its addresses.
 *
 * A fast product is one of two points (`Factor`), and the view tag of an output tells most of these from another's. The exact secret is
 * computed only where a tag fits.
 */
import { Point, pointOf, scalarOf, sharedSecret } from '../../monero/curve.ts';
import { atOnce, type Steps } from '../slices.ts';
import { Factor } from './factor.ts';

/** `possible`: the secret is one of these; none: it is no secret at all; null: only the exact computation tells. */
export type Shared = { key: Uint8Array; possible: readonly Uint8Array[] | null };

const COFACTOR = 8n;

export class ViewKey {
  readonly #scalar: bigint;
  readonly #own: Factor;
  readonly #sharing: Factor;

  /** `hex`: the private view key. */
  constructor(hex: string) {
    this.#scalar = scalarOf(Buffer.from(hex, 'hex'));
    this.#own = new Factor(this.#scalar);
    this.#sharing = new Factor(Point.Fn.mul(COFACTOR, this.#scalar));
  }

  /** The exact secret. Null for a key that is no point, or one of small order. */
  exact({ key, possible }: Shared): Uint8Array | null {
    const point = possible && pointOf(key);
    const found = point && this.#sharing.which(point, possible);
    return found ?? sharedSecret(key, this.#scalar);
  }

  /** The secrets for public keys, in their order. */
  *shared(keys: readonly Uint8Array[]): Steps<Shared[]> {
    if (!this.#sharing.isFast) return keys.map((key) => ({ key, possible: null }));
    const either = yield* this.#sharing.either(keys);
    return keys.map((key, at) => ({ key, possible: either[at] ?? [] }));
  }

  /** The view key times the public spend key of an address, 32 bytes: its public view key. Throws for bytes that are no point. */
  addressKey(spendKey: Uint8Array): Uint8Array {
    const point = Point.fromBytes(spendKey);
    const [either] = this.#own.isFast ? atOnce(this.#own.either([spendKey])) : [];
    const found = either && this.#own.which(point, either);
    return found ?? point.multiply(this.#scalar).toBytes();
  }

  /** The view key times the base: the public view key of the standard address. */
  standardKey(): Uint8Array {
    return Point.BASE.multiply(this.#scalar).toBytes();
  }
}
