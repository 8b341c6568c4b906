/**
 * How a node of the Bitcoin family takes what leaves the wallet: Bitcoin Core, Litecoin Core and Bitcoin Cash Node.
 *
 * Invariant: `Rejected` is the node's own word on a transaction. Whenever that word did not come, it is `Unavailable`,
 * and the same bytes may be sent again.
 */
import { assert, Rejected, Unavailable } from '../../domain/errors.ts';
import type { SpendingSource } from '../adapter.ts';
import type { CoreNode } from './node.ts';
import type { UtxoChain } from './params.ts';
import { feeRateFrom, TARGET_BLOCKS_MAX } from './spend/fees.ts';
import { withoutWitnesses } from './spend/transaction.ts';

const RETRY_SECONDS = 30;

export class CoreSpending implements SpendingSource {
  readonly #node: CoreNode;
  readonly #chain: UtxoChain;
  readonly #setting: string;

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
}
