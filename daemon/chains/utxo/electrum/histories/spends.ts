/** Checks that what spends our coins is signed with our keys: a false one would take coins off the balance. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ScriptList } from '../../../adapter.ts';
import type { UtxoChain } from '../../params.ts';
import { isSigned, readSigned, type Signed, type SignedTransaction } from '../../signatures.ts';
import type { Server } from '../servers/server.ts';
import type { UnstoredTransaction, UnstoredTransactions } from './unstored.ts';

/** Some milliseconds. */
const SIGNATURES_PER_TURN_MAX = 16;

type Parts = { chain: UtxoChain; list: ScriptList; unstored: UnstoredTransactions };

export class SpendCheck {
  readonly #parts: Parts;

  constructor({ chain, list, unstored }: Parts) {
    this.#parts = { chain, list, unstored };
  }

  /**
   * Looks at the signatures in a transaction's bytes, which this server gave. A form that cannot be checked counts in a
   * block only. Throws `Misbehaved` if one is false.
   */
  async check(server: Server, held: UnstoredTransaction, isInBlock: boolean, bytes: Buffer): Promise<void> {
    const { chain, unstored } = this.#parts;
    const transaction = readSigned(bytes, chain);
    for (const [n, outpoint] of unstored.unchecked(held).entries()) {
      if (n % SIGNATURES_PER_TURN_MAX === 0) await nextTurn();
      const signed = this.#isSigned(transaction, outpoint);
      if (signed === 'no')
        throw server.caught(`it names transaction ${held.txid}, which spends a coin of ours without a valid signature`);
      if (signed === 'yes' || isInBlock) held.signed.add(outpoint);
    }
  }

  #isSigned(transaction: SignedTransaction, outpoint: string): Signed {
    const { list, unstored } = this.#parts;
    const stored = list.coin(outpoint);
    const unsaved = unstored.coin(outpoint);
    const coin = stored ?? unsaved;
    if (!coin) return 'unknown';
    const [listed] = list.page(coin.targetId - 1, 1);
    // the digest of a coin with tokens has these in it
    if (listed?.id !== coin.targetId || stored?.locked || unsaved?.token) return 'unknown';
    return isSigned(transaction, outpoint, { script: listed.script, units: coin.units });
  }
}
