/**
 * Our transactions that a server showed and that the store does not have yet in this form: all unconfirmed ones, and
 * confirmed ones until they are stored.
 *
 * Invariant: a transaction is here only while the history of a watched script mentions it; its id is the hash of its
 * bytes; and it is in a block only by a proof that leads to a header of the chain.
 */
import { type BlockId, type Credit, INPUTS_KEPT_MAX, type SpendSeen } from '../../../../domain/chain.ts';
import type { ScriptList } from '../../../adapter.ts';
import { type ParsedTransaction, pegsOut } from '../../block.ts';
import type { MatchResult } from '../../match.ts';
import { COINBASE_MATURITY, PEG_OUT_MATURITY } from '../../match.ts';
import type { UtxoChain } from '../../params.ts';

/** Each takes about a kilobyte. Further ones wait, and the view is marked as incomplete. */
export const TRANSACTIONS_MAX = 50_000;

const RAW_KEPT_BYTES_MAX = 2_000;

/** A block with its time, milliseconds since 1970. */
type Inclusion = { block: BlockId; blockTime: number };

type OwnOutput = { n: number; targetId: number; units: bigint; token: boolean };

export type UnstoredTransaction = {
  readonly txid: string;
  readonly inputs: readonly string[];
  /** As of the addresses that were there when a server last showed it to a script. */
  outputs: readonly OwnOutput[];
  readonly maturity: number;
  /** The bytes, for the proof of a block; null if they are many, to be fetched again. */
  readonly raw: Buffer | null;
  place: Inclusion | null;
  /** Hashes of the watched scripts whose history mentions it. */
  readonly mentions: Set<string>;
  /** False while a second server must still show its block. */
  agreed: boolean;
  /** The inputs that are signed with a key of ours. No other spend of our coins is told. */
  readonly signed: Set<string>;
  /** Inputs that spend coins of ours, as of the last count of the coins. */
  spends: string[];
  spendsAsOf: number;
};

export class UnstoredTransactions {
  readonly #chain: UtxoChain;
  readonly #list: ScriptList;
  readonly #held = new Map<string, UnstoredTransaction>();
  /** Our outpoints that are here and not in the store yet. */
  readonly #coins = new Set<string>();
  /** Counts changes of `#coins`. */
  #coinChanges = 1;

  constructor(chain: UtxoChain, list: ScriptList) {
    this.#chain = chain;
    this.#list = list;
  }

  /** Whether one more is taken. Those in no block, which a server can invent, leave half of the room to the others. */
  hasRoom(isInBlock: boolean): boolean {
    return this.#held.size < (isInBlock ? TRANSACTIONS_MAX : TRANSACTIONS_MAX / 2);
  }

  get(txid: string): UnstoredTransaction | undefined {
    return this.#held.get(txid);
  }

  /** The output of ours at an outpoint of a transaction here. */
  coin(outpoint: string): OwnOutput | undefined {
    const split = outpoint.lastIndexOf(':');
    const vout = Number(outpoint.slice(split + 1));
    return this.#held.get(outpoint.slice(0, split))?.outputs.find(({ n }) => n === vout);
  }

  /** The inputs of a transaction that spend coins of ours and whose signatures nobody has checked. */
  unchecked(held: UnstoredTransaction): string[] {
    return this.#spendsOf(held).filter((outpoint) => !held.signed.has(outpoint));
  }

  all(): IterableIterator<UnstoredTransaction> {
    return this.#held.values();
  }

  /** Adds a transaction whose bytes hash to its id. One that is here gets its outputs to addresses that were derived since. */
  add(txid: string, transaction: ParsedTransaction, bytes: Buffer): UnstoredTransaction {
    const known = this.#held.get(txid);
    if (known) {
      this.#lookAgain(known, transaction);
      return known;
    }
    const held: UnstoredTransaction = {
      txid,
      inputs: transaction.coinbase ? [] : transaction.inputs.map((input) => `${input.txid}:${input.vout}`),
      outputs: [],
      maturity: transaction.coinbase ? COINBASE_MATURITY : pegsOut(transaction, this.#chain) ? PEG_OUT_MATURITY : 0,
      raw: bytes.length <= RAW_KEPT_BYTES_MAX ? bytes : null,
      place: null,
      mentions: new Set(),
      agreed: false,
      signed: new Set(),
      spends: [],
      spendsAsOf: 0,
    };
    this.#held.set(txid, held);
    this.#lookAgain(held, transaction);
    return held;
  }

  #lookAgain(held: UnstoredTransaction, { outputs }: ParsedTransaction): void {
    const ours = outputs.flatMap(({ script, units, token }, n): OwnOutput[] => {
      const targetId = this.#list.targetIdOf(script);
      // an output of zero units is no credit
      return targetId === undefined || units === 0n ? [] : [{ n, targetId, units, token }];
    });
    if (ours.length === held.outputs.length) return;
    held.outputs = ours;
    // it is worth more than what was agreed on
    held.agreed = false;
    for (const { n } of ours) this.#coins.add(`${held.txid}:${n}`);
    this.#coinChanges++;
  }

  /** Puts a transaction into no block. In the next one it needs the word of a second server again. */
  unplace(held: UnstoredTransaction): void {
    held.place = null;
    held.agreed = false;
  }

  /** Records that a script's history no longer mentions a transaction. Without mentions it is removed. */
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

  /** Whether the store has all credits and spends of a confirmed transaction in its block. */
  isStored(held: UnstoredTransaction): boolean {
    const hash = held.place?.block.hash;
    if (hash === undefined) return false;
    const credited = held.outputs.every(({ n }) => this.#list.coin(`${held.txid}:${n}`)?.blockHash === hash);
    return (
      credited &&
      this.#spendsOf(held).every((outpoint) => {
        if (!held.signed.has(outpoint)) return true;
        const coin = this.#list.coin(outpoint);
        return coin?.spentTxid === held.txid && coin.spentBlockHash === hash;
      })
    );
  }

  /** Adds a transaction's credits and spends to the result. `isOnChain`: whether a block is on the reported chain. */
  tell(held: UnstoredTransaction, isOnChain: (block: BlockId) => boolean, found: MatchResult): void {
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
        // servers do not report the ancestors of an unconfirmed transaction, so nothing is concluded about them
        replaceable: true,
      };
      // also of a block that no second server has shown yet: it tells when the payment was made
      const proved = held.place && isOnChain(held.place.block) ? held.place : null;
      if (proved) credit.blockTime = proved.blockTime;
      if (held.maturity > 0) credit.maturity = held.maturity;
      if (output.token) credit.locked = true;
      found.credits.push(credit);
    }
    for (const outpoint of this.#spendsOf(held)) {
      if (!held.signed.has(outpoint)) continue;
      const spend: SpendSeen = { outpoint, txid: held.txid, block: place?.block ?? null };
      if (place) spend.blockTime = place.blockTime;
      found.spends.push(spend);
    }
  }

  /** The stored block of a coin, if it is on the chain. No server's statement overrides it. */
  #storedPlace(outpoint: string, isOnChain: (block: BlockId) => boolean): { block: BlockId } | null {
    const coin = this.#list.coin(outpoint);
    if (!coin || coin.blockHash === null || coin.blockHeight === null) return null;
    const block = { height: coin.blockHeight, hash: coin.blockHash };
    return isOnChain(block) ? { block } : null;
  }

  #targetOf(outpoint: string): number {
    return this.coin(outpoint)?.targetId ?? this.#list.coin(outpoint)?.targetId ?? 0;
  }

  /** In the order of their addresses: those of one address are stored together, as `ingest` does with such that follow each other. */
  #spendsOf(held: UnstoredTransaction): string[] {
    if (held.spendsAsOf !== this.#coinChanges) {
      const ours = held.inputs.filter((outpoint) => this.#coins.has(outpoint) || this.#list.isOurCoin(outpoint));
      const target = new Map(ours.map((outpoint) => [outpoint, this.#targetOf(outpoint)]));
      held.spends = ours.sort((a, b) => (target.get(a) ?? 0) - (target.get(b) ?? 0));
      held.spendsAsOf = this.#coinChanges;
    }
    return held.spends;
  }
}
