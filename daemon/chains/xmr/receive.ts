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
import { viewTagOf } from '../../monero/curve.ts';
import { openOutput } from '../../monero/output.ts';
import type { Output, Transaction } from '../../monero/transaction.ts';
import type { Steps } from '../slices.ts';
import { type Shared, ViewKey } from './view-key.ts';

/** A transaction has one, some wallets wrote two; no node relays more than 1,060 bytes of `extra`, where 32 have room. */
const PUBLIC_KEYS_MAX = 32;

/** An output that pays a subaddress. `spendKey`: the subaddress's own public spend key, 32 bytes. */
export type Received = { n: number; spendKey: Uint8Array; units: bigint };

const isSame = (one: Received, other: Received): boolean =>
  one.n === other.n && Buffer.compare(one.spendKey, other.spendKey) === 0;

type Paying = Pick<Transaction, 'publicKeys' | 'outputKeys' | 'outputs'>;

/** Recognises outputs that are paid to an account. Throws on a key that is no Monero account. */
export class Receiver {
  readonly account: AccountKey;
  readonly #view: ViewKey;
  readonly #spendKey: string;

  constructor(account: AccountKey) {
    assert(account.kind === 'monero', 'a Monero account receives');
    this.account = account;
    this.#view = new ViewKey(account.privateViewKey);
    this.#spendKey = account.publicSpendKey;
  }

  /**
   * The outputs of each transaction that may be ours. The caller checks whether a subaddress with the spend key was given out. One whose
   * amount is in the open may be there several times, because only its view tag tells which key it was made with.
   */
  *received(transactions: readonly Paying[]): Steps<Received[][]> {
    const keys = transactions.flatMap((one) => [
      ...one.publicKeys.slice(0, PUBLIC_KEYS_MAX),
      ...one.outputKeys.slice(0, one.outputs.length),
    ]);
    const shared = yield* this.#view.shared(keys);
    const all: Received[][] = [];
    let used = 0;
    const next = (count: number): Shared[] => {
      used += count;
      return shared.slice(used - count, used);
    };
    for (const { publicKeys, outputKeys, outputs } of transactions) {
      const forAll = next(Math.min(publicKeys.length, PUBLIC_KEYS_MAX));
      const forEach = next(Math.min(outputKeys.length, outputs.length));
      const received: Received[] = [];
      for (const [n, output] of outputs.entries()) {
        const own = forEach[n];
        for (const one of own ? [...forAll, own] : forAll) {
          const found = this.#opened(output, n, one);
          yield null;
          if (!found || received.some((other) => isSame(other, found))) continue;
          received.push(found);
          if (output.commitment) break;
        }
      }
      all.push(received);
    }
    return all;
  }

  #opened(output: Output, n: number, shared: Shared): Received | null {
    const { viewTag } = output;
    const mayBe = viewTag === null || (shared.possible?.some((one) => viewTagOf(one, n) === viewTag) ?? true);
    const secret = mayBe ? this.#view.exact(shared) : null;
    return secret && openOutput(output, n, secret);
  }

  /** The bytes of our address with this public spend key: the standard address, or a subaddress (MRL-0006). */
  scriptOf(spendKey: Uint8Array, network: Network): Uint8Array {
    const isStandard = Buffer.from(spendKey).toString('hex') === this.#spendKey;
    const viewKey = isStandard ? this.#view.standardKey() : this.#view.addressKey(spendKey);
    return scriptOfKeys(spendKey, viewKey, isStandard, network);
  }
}
