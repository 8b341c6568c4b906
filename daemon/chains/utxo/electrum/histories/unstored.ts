/**
 * The transactions of ours that a server showed and that the store does not have yet as they are: all that are
 * unconfirmed, and those in blocks until they were stored. What is stored in a block is forgotten here.
 *
 * Invariant: a transaction is here only while the history of some watched script mentions it; its id is the hash of its
 * bytes; and it is in a block only by a proof that leads to a header of the chain.
 */
import { type BlockId, type Credit, INPUTS_KEPT_MAX, type SpendSeen } from '../../../../domain/chain.ts';
import type { ScriptList } from '../../../adapter.ts';
import type { ParsedTransaction } from '../../block.ts';
import type { Found } from '../../match.ts';
import { COINBASE_MATURITY, PEG_OUT_MATURITY } from '../../match.ts';
import type { UtxoChain } from '../../params.ts';

/** Transactions held; each takes about a kilobyte. What exceeds it waits, and the view is not called complete. */
export const TRANSACTIONS_MAX = 50_000;

const RAW_KEPT_BYTES_MAX = 2_000;

/** A block with its time, milliseconds since 1970. */
export type Inclusion = { block: BlockId; blockTime: number };

type OwnOutput = { n: number; targetId: number; units: bigint; token: boolean };

export type UnstoredTransaction = {
  readonly txid: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly OwnOutput[];
  readonly maturity: number;
  /** Its bytes, for the proof that it is in a block; null where they are many, to be fetched again. */
  readonly raw: Buffer | null;
  place: Inclusion | null;
  /** Hashes of the watched scripts whose history mentions it. */
  readonly mentions: Set<string>;
  /** False while a second server must still show its block. */
  agreed: boolean;
  /** Inputs that spend coins of ours, as of the last time that the coins were counted. */
  spends: string[];
  spendsAsOf: number;
};

export class UnstoredTransactions {
  readonly #chain: UtxoChain;
  readonly #list: ScriptList;
  readonly #held = new Map<string, UnstoredTransaction>();
  /** Outpoints of ours that are here and not in the store yet. */
  readonly #coins = new Set<string>();
  /** Counts the changes of `#coins`. */
  #coinChanges = 1;

  constructor(chain: UtxoChain, list: ScriptList) {
    this.#chain = chain;
    this.#list = list;
  }

  get size(): number {
    return this.#held.size;
  }

  get(txid: string): UnstoredTransaction | undefined {
    return this.#held.get(txid);
  }

  all(): IterableIterator<UnstoredTransaction> {
    return this.#held.values();
  }

  /** Takes a transaction in that was read from bytes that hash to its id. */
  add(txid: string, transaction: ParsedTransaction, bytes: Buffer): UnstoredTransaction {
    const outputs: OwnOutput[] = [];
    for (const [n, output] of transaction.outputs.entries()) {
      const targetId = this.#list.targetIdOf(output.script);
      // An output of nothing is no money.
      if (targetId === undefined || output.units === 0n) continue;
      outputs.push({ n, targetId, units: output.units, token: output.token });
      this.#coins.add(`${txid}:${n}`);
    }
    if (outputs.length > 0) this.#coinChanges++;
    const held: UnstoredTransaction = {
      txid,
      inputs: transaction.coinbase ? [] : transaction.inputs.map((input) => `${input.txid}:${input.vout}`),
      outputs,
      maturity: transaction.coinbase ? COINBASE_MATURITY : transaction.hogEx ? PEG_OUT_MATURITY : 0,
      raw: bytes.length <= RAW_KEPT_BYTES_MAX ? bytes : null,
      place: null,
      mentions: new Set(),
      agreed: false,
      spends: [],
      spendsAsOf: 0,
    };
    this.#held.set(txid, held);
    return held;
  }

  /** A script's history no longer mentions a transaction; without a mention it goes. */
  unmention(txid: string, scriptHash: string): void {
    const held = this.#held.get(txid);
    if (!held) return;
    held.mentions.delete(scriptHash);
    if (held.mentions.size === 0) this.drop(held);
  }

  drop(held: UnstoredTransaction): void {
    this.#held.delete(held.txid);
    for (const { n } of held.outputs) this.#coins.delete(`${held.txid}:${n}`);
    if (held.outputs.length > 0) this.#coinChanges++;
  }

  /** Whether the store has everything that a transaction in a block means to us, in that block. */
  isStored(held: UnstoredTransaction): boolean {
    const hash = held.place?.block.hash;
    if (hash === undefined) return false;
    const credited = held.outputs.every(({ n }) => this.#list.coin(`${held.txid}:${n}`)?.blockHash === hash);
    return (
      credited &&
      this.#spendsOf(held).every((outpoint) => {
        const coin = this.#list.coin(outpoint);
        return coin?.spentTxid === held.txid && coin.spentBlockHash === hash;
      })
    );
  }

  /** Adds what a transaction means to us. `isOnChain` tells whether a block is on the chain as it is reported. */
  tell(held: UnstoredTransaction, isOnChain: (block: BlockId) => boolean, found: Found): void {
    const place = held.place && held.agreed && isOnChain(held.place.block) ? held.place : null;
    const inputs = held.inputs.slice(0, INPUTS_KEPT_MAX);
    for (const output of held.outputs) {
      const id = `${held.txid}:${output.n}`;
      const stored = place ?? this.#storedPlace(id, isOnChain);
      const credit: Credit = {
        id,
        txid: held.txid,
        targetId: output.targetId,
        amount: { asset: this.#chain, units: output.units },
        block: stored?.block ?? null,
        inputs: [...inputs],
        // Servers do not tell what an unconfirmed transaction depends on: nothing is concluded from that.
        replaceable: true,
      };
      if (place) credit.blockTime = place.blockTime;
      if (held.maturity > 0) credit.maturity = held.maturity;
      if (output.token) credit.locked = true;
      found.credits.push(credit);
    }
    for (const outpoint of this.#spendsOf(held)) {
      const spend: SpendSeen = { outpoint, txid: held.txid, block: place?.block ?? null };
      if (place) spend.blockTime = place.blockTime;
      found.spends.push(spend);
    }
  }

  /** The block that the store has for a coin, if it is on the chain: no server can talk us out of that. */
  #storedPlace(outpoint: string, isOnChain: (block: BlockId) => boolean): { block: BlockId } | null {
    const coin = this.#list.coin(outpoint);
    if (!coin || coin.blockHash === null || coin.blockHeight === null) return null;
    const block = { height: coin.blockHeight, hash: coin.blockHash };
    return isOnChain(block) ? { block } : null;
  }

  #spendsOf(held: UnstoredTransaction): string[] {
    if (held.spendsAsOf !== this.#coinChanges) {
      held.spends = held.inputs.filter((outpoint) => this.#coins.has(outpoint) || this.#list.isOurCoin(outpoint));
      held.spendsAsOf = this.#coinChanges;
    }
    return held.spends;
  }
}
