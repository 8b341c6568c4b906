/**
 * Finds the outputs of a transaction that pay an account, and their amounts: the receiver's half of Monero's stealth
 * addresses (CryptoNote), subaddresses (MRL-0006), view tags and encrypted amounts. It needs the private view key and
 * no other secret.
 *
 * Invariant: an amount counts only if the transaction's commitment is to exactly that amount, because a sender can
 * write any encrypted amount.
 */
import type { Network } from '../../domain/assets.ts';
import type { AccountKey } from '../../domain/chain.ts';
import { assert } from '../../domain/errors.ts';
import { scriptOfKeys } from '../../monero/address.ts';
import { Point, scalarOf, sharedSecret } from '../../monero/curve.ts';
import { openOutput } from '../../monero/output.ts';
import type { Transaction } from '../../monero/transaction.ts';
import type { Pause } from '../slices.ts';

/** A transaction has one, some wallets wrote two; no node relays more than 1,060 bytes of `extra`, where 32 have room. */
const PUBLIC_KEYS_MAX = 32;

/** An output that pays a subaddress. `spendKey`: the subaddress's own public spend key, 32 bytes. */
type Received = { n: number; spendKey: Uint8Array; units: bigint };

/** Recognises outputs that are paid to an account. Throws on a key that is no Monero account. */
export class Receiver {
  readonly account: AccountKey;
  readonly #view: bigint;
  readonly #spendKey: string;

  constructor(account: AccountKey) {
    assert(account.kind === 'monero', 'a Monero account receives');
    this.account = account;
    this.#view = scalarOf(Buffer.from(account.privateViewKey, 'hex'));
    this.#spendKey = account.publicSpendKey;
  }

  /** The outputs that may be ours. The caller checks whether a subaddress with the spend key was given out. */
  async *candidates(transaction: Transaction, pause: Pause): AsyncGenerator<Received> {
    for (const found of this.found(transaction)) {
      if (found) yield found;
      const wait = pause();
      if (wait) await wait;
    }
  }

  /** The same in one turn; null for each output of others, and for each key. */
  *found(transaction: Transaction): Generator<Received | null> {
    const shared: (Uint8Array | null)[] = [];
    for (const key of transaction.publicKeys.slice(0, PUBLIC_KEYS_MAX)) {
      shared.push(this.#secret(key));
      yield null;
    }
    for (const [n, output] of transaction.outputs.entries()) {
      const own = transaction.outputKeys[n];
      const secrets = own ? [...shared, this.#secret(own)] : shared;
      let found: Received | null = null;
      for (const secret of secrets) found ??= secret && openOutput(output, n, secret);
      yield found;
    }
  }

  /** The bytes of our address with this public spend key: the standard address, or a subaddress (MRL-0006). */
  scriptOf(spendKey: Uint8Array, network: Network): Uint8Array {
    const isStandard = Buffer.from(spendKey).toString('hex') === this.#spendKey;
    const base = isStandard ? Point.BASE : Point.fromBytes(spendKey);
    return scriptOfKeys(spendKey, base.multiply(this.#view).toBytes(), isStandard, network);
  }

  #secret(key: Uint8Array): Uint8Array | null {
    return sharedSecret(key, this.#view);
  }
}
