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
import type { CoreNode } from './node.ts';
import type { UtxoChain } from './params.ts';
import { feeRateFrom, TARGET_BLOCKS_MAX } from './spend/fees.ts';
import { withoutWitnesses } from './spend/transaction.ts';

const RETRY_SECONDS = 30;
/** Blocks read in search of a conflict: about two days of BTC's. */
const BLOCKS_READ_MAX = 288;
/** Transactions whose search for a conflict is remembered. */
const REMEMBERED_MAX = 100;

export class CoreSpending implements CoinSource {
  readonly #node: CoreNode;
  readonly #chain: UtxoChain;
  readonly #setting: string;
  /** By transaction: the hash of the block up to which no conflict was found. */
  readonly #read = new Map<string, string>();

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
   * Reads blocks only if one of the inputs is missing in the node's set of unspent outputs: from the tip downwards, and
   * only those that were not read before. A pruned node is asked as far down as it reaches.
   */
  async conflict(txid: string, inputs: readonly string[], fromHeight: number, signal: AbortSignal) {
    await this.#node.identify(signal);
    const spent = new Set(await this.#node.notUnspent(inputs, signal));
    if (spent.size === 0) return null;
    const state = await this.#node.state(signal);
    const lowest = Math.max(fromHeight, state.lowestBlock, state.height - BLOCKS_READ_MAX);
    const before = this.#read.get(txid);
    const pause = slices();
    for (let height = state.height; height > lowest; height--) {
      const [hash] = await this.#node.hashesAt([height], signal);
      if (!hash) throw new Unavailable(`${this.#setting}: the node's chain changed while it was read`, RETRY_SECONDS);
      if (hash === before) break;
      for (const transaction of transactionsOf(await this.#node.block(hash, signal), this.#chain)) {
        const due = pause();
        if (due) await due;
        if (!transaction || transaction.coinbase || transaction.txid() === txid) continue;
        if (transaction.inputs.some((input) => spent.has(`${input.txid}:${input.vout}`))) {
          return { txid: transaction.txid(), block: { height, hash } };
        }
      }
    }
    if (this.#read.size >= REMEMBERED_MAX) this.#read.clear();
    this.#read.set(txid, state.hash);
    return null;
  }
}
