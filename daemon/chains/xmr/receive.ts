/**
 * Which outputs of a transaction are paid to an account, and how much: the receiver's half of Monero's stealth addresses
 * (CryptoNote), subaddresses (MRL-0006), view tags and sealed amounts. It needs the private view key and no other secret.
 *
 * Invariant: an amount counts only when the commitment in the transaction is to exactly this amount, because a sender can
 * write any encrypted amount.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import type { AccountKey } from '../../domain/chain.ts';
import { assert } from '../../domain/errors.ts';
import type { Pause } from '../slices.ts';
import { type Output, type Transaction, varint } from './transaction.ts';

const { Point } = ed25519;
type CurvePoint = InstanceType<typeof Point>;

const VIEW_TAG_DOMAIN = Buffer.from('view_tag', 'ascii');
const AMOUNT_DOMAIN = Buffer.from('amount', 'ascii');
const MASK_DOMAIN = Buffer.from('commitment_mask', 'ascii');
/** The second generator, of which nobody knows the logarithm (`rct::H`). */
const H = Point.fromHex('8b655970153799af2aeadc9ff1add0ea6c7251d54154cfa92c173a0dd39c1f94');
/** Every point times 8 lies in the group of prime order. */
const COFACTOR = 8n;
/** Outputs of one transaction: consensus allows 16; a coinbase of a mining pool has more. */
const OUTPUTS_MAX = 2_000;
/** A transaction has one; some wallets wrote two. */
const PUBLIC_KEYS_MAX = 4;

/** An output that pays a subaddress. `spendKey`: the subaddress's own public spend key, 32 bytes. */
export type Received = { n: number; spendKey: Uint8Array; units: bigint };

/** Recognises outputs that are paid to an account. Throws on a key that is no Monero account. */
export class Receiver {
  readonly #view: bigint;

  constructor(account: AccountKey) {
    assert(account.kind === 'monero', 'a Monero account receives');
    this.#view = scalarOf(Buffer.from(account.privateViewKey, 'hex'));
  }

  /** The outputs that may be ours. The caller checks whether a subaddress with the spend key was given out. */
  async *candidates(transaction: Transaction, pause: Pause): AsyncGenerator<Received> {
    const shared = transaction.publicKeys.slice(0, PUBLIC_KEYS_MAX).map((key) => this.#secret(key));
    const outputs = transaction.outputs.slice(0, OUTPUTS_MAX);
    for (const [n, output] of outputs.entries()) {
      const wait = pause();
      if (wait) await wait;
      const own = transaction.outputKeys[n];
      const secrets = own ? [...shared, this.#secret(own)] : shared;
      for (const secret of secrets) {
        const found = secret && receive(output, n, secret);
        if (!found) continue;
        yield found;
        break;
      }
    }
  }

  /** The public view key of the subaddress with this spend key (MRL-0006), 32 bytes. */
  viewKeyOf(spendKey: Uint8Array): Uint8Array {
    return Point.fromBytes(spendKey).multiply(this.#view).toBytes();
  }

  /** 8·a·R, as bytes; null for a key that is no point, or one of small order. */
  #secret(key: Uint8Array): Uint8Array | null {
    try {
      const point = Point.fromBytes(key).multiplyUnsafe(this.#view).multiplyUnsafe(COFACTOR);
      return point.is0() ? null : point.toBytes();
    } catch {
      return null;
    }
  }
}

function receive(output: Output, n: number, secret: Uint8Array): Received | null {
  const index = varint(n);
  const tag = output.viewTag;
  if (tag !== null && keccak_256(Buffer.concat([VIEW_TAG_DOMAIN, secret, index]))[0] !== tag) return null;
  const scalar = scalarOf(keccak_256(Buffer.concat([secret, index])));
  const key = pointOf(output.key);
  if (!key || scalar === 0n) return null;
  const spendKey = key.subtract(Point.BASE.multiply(scalar));
  if (spendKey.is0()) return null;
  const units = unitsOf(output, Buffer.from(Point.Fn.toBytes(scalar)));
  return units === null ? null : { n, spendKey: spendKey.toBytes(), units };
}

/** The amount of an output in piconero, decrypted with its shared secret; null when the commitment is to another amount. */
function unitsOf({ sealedUnits, commitment, clearUnits }: Output, secret: Uint8Array): bigint | null {
  if (!sealedUnits || !commitment) return clearUnits;
  const { units, mask } = opened(sealedUnits, secret);
  const committed = pointOf(commitment);
  const expected = multiplied(Point.BASE, mask).add(multiplied(H, units));
  return committed?.equals(expected) ? units : null;
}

const UNITS_BYTES = 8;
const SCALAR_BYTES = 32;

function opened(sealed: Uint8Array, secret: Uint8Array): { units: bigint; mask: bigint } {
  if (sealed.length === UNITS_BYTES) {
    const pad = keccak_256(Buffer.concat([AMOUNT_DOMAIN, secret]));
    const units = Buffer.from(sealed.map((byte, i) => byte ^ (pad[i] ?? 0))).readBigUInt64LE();
    return { units, mask: scalarOf(keccak_256(Buffer.concat([MASK_DOMAIN, secret]))) };
  }
  // Before 2018: mask and amount are scalars, each hidden by a hash of the one before.
  const first = keccak_256(secret);
  const mask = Point.Fn.create(rawScalar(sealed.subarray(0, SCALAR_BYTES)) - scalarOf(first));
  const second = keccak_256(Buffer.from(Point.Fn.toBytes(scalarOf(first))));
  const units = Point.Fn.create(rawScalar(sealed.subarray(SCALAR_BYTES)) - scalarOf(second));
  return { units: units & 0xffff_ffff_ffff_ffffn, mask };
}

const rawScalar = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
/** 32 bytes, little-endian, modulo the group's order (`sc_reduce32`). */
const scalarOf = (bytes: Uint8Array): bigint => Point.Fn.create(rawScalar(bytes));
const multiplied = (point: CurvePoint, scalar: bigint): CurvePoint =>
  scalar === 0n ? Point.ZERO : point.multiplyUnsafe(scalar);

function pointOf(bytes: Uint8Array): CurvePoint | null {
  try {
    return Point.fromBytes(bytes);
  } catch {
    return null;
  }
}
