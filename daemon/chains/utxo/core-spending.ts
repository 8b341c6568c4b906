/**
 * Broadcasting and lookups of transactions with a node of the Bitcoin family: Bitcoin Core, Litecoin Core and Bitcoin
 * Cash Node.
 *
 * Invariant: `Rejected` is the node's own verdict on a transaction. Without that verdict it is `Unavailable`, and the
 * same bytes may be sent again.
 */
import { assert, Rejected, Unavailable } from '../../domain/errors.ts';
import type { CoinSource } from '../adapter.ts';
import { slices } from '../slices.ts';
import { transactionsOf } from './block.ts';
import { type CoreNode, PrunedBlock } from './node.ts';
import type { UtxoChain } from './params.ts';
import { feeRateFrom, TARGET_BLOCKS_MAX } from './spend/fees.ts';
import { withoutWitnesses } from './spend/transaction.ts';

const RETRY_SECONDS = 30;
/** Blocks read at once in search of a conflict: about two days of BTC's. The next search continues below them. */
const BLOCKS_READ_MAX = 288;
/** Transactions whose search for a conflict is remembered. */
const REMEMBERED_MAX = 100;

/** The blocks without a conflict: from the height `low` up to the one with the hash `top`. */
type Searched = { top: string; low: number };

export class CoreSpending implements CoinSource {
  readonly #node: CoreNode;
  readonly #chain: UtxoChain;
  readonly #setting: string;
  /** By transaction. */
  readonly #searched = new Map<string, Searched>();

  constructor(node: CoreNode, chain: UtxoChain, setting: string) {
    this.#node = node;
    this.#chain = chain;
    this.#setting = setting;
  }

  async feeRate(targetBlocks: number, signal: AbortSignal): Promise<bigint> {
    assert(Number.isInteger(targetBlocks) && targetBlocks >= 1, 'a target is a number of blocks');
    await this.#node.identify(signal);
    const target = Math.min(targetBlocks, TARGET_BLOCKS_MAX);
    const { estimate, least } = await this.#node.feeRates(target, signal);
    return feeRateFrom(this.#chain, estimate, least);
  }

  async transaction(txid: string, blockHash: string | null, signal: AbortSignal): Promise<string> {
    await this.#node.identify(signal);
    const raw = await this.#node.transaction(txid, blockHash, signal);
    const base = raw === null ? null : withoutWitnesses(raw, txid, this.#chain);
    if (base !== null) return base;
    throw new Unavailable(`${this.#setting}: the node does not have the transaction ${txid} any more`, RETRY_SECONDS);
  }

  async unconfirmed(txid: string, signal: AbortSignal): Promise<{ fee: bigint; vsize: number } | null> {
    await this.#node.identify(signal);
    return this.#node.ancestry(txid, signal);
  }

  async broadcast(raw: string, signal: AbortSignal): Promise<void> {
    await this.#node.identify(signal);
    const refusal = await this.#node.send(raw, signal);
    if (refusal !== null) throw new Rejected('broadcast.refused', refusal);
  }

  /**
   * Reads blocks only if one of the inputs is missing in the node's set of unspent outputs: from the tip downwards,
   * some hundred at a time, and each only once. A pruned node is asked as far down as it reaches.
   */
  async conflict(txid: string, inputs: readonly string[], fromHeight: number, signal: AbortSignal) {
    await this.#node.identify(signal);
    // Before its inputs: what a later block spends is searched for in that block the next time.
    const state = await this.#node.state(signal);
    const spent = new Set(await this.#node.notUnspent(inputs, signal));
    if (spent.size === 0) return null;
    const lowest = Math.max(fromHeight, state.lowestBlock);
    let before = this.#searched.get(txid);
    for (let height = state.height, left = BLOCKS_READ_MAX; height > lowest && left > 0; height--, left--) {
      const [hash] = await this.#node.hashesAt([height], signal);
      if (!hash) throw new Unavailable(`${this.#setting}: the node's chain changed while it was read`, RETRY_SECONDS);
      if (hash === before?.top) {
        height = before.low;
        before = undefined;
      } else {
        const found = await this.#spenderIn(hash, txid, spent, signal);
        if (found === 'pruned') break;
        if (found !== null) return { txid: found, block: { height, hash } };
      }
      // those that were read before count until nothing is left between them and the tip
      if (before === undefined || left === 1 || height === lowest + 1)
        this.#note(txid, { top: state.hash, low: height });
    }
    return null;
  }

  /** Another transaction of a block that spends one of these outputs; null: none does. */
  async #spenderIn(
    hash: string,
    txid: string,
    spent: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<string | 'pruned' | null> {
    const bytes = await this.#node.block(hash, signal).catch((error: unknown) => {
      if (error instanceof PrunedBlock) return null;
      throw error;
    });
    if (bytes === null) return 'pruned';
    const pause = slices();
    for (const transaction of transactionsOf(bytes, this.#chain)) {
      const due = pause();
      if (due) await due;
      if (!transaction || transaction.coinbase || transaction.txid() === txid) continue;
      if (transaction.inputs.some((input) => spent.has(`${input.txid}:${input.vout}`))) return transaction.txid();
    }
    return null;
  }

  #note(txid: string, searched: Searched): void {
    if (!this.#searched.has(txid) && this.#searched.size >= REMEMBERED_MAX) this.#searched.clear();
    this.#searched.set(txid, searched);
  }
}
