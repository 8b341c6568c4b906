/** The nodes as a source for spending: rates, outputs for rings, and sending. */
import { Malformed, Rejected, Unavailable } from '../../../domain/errors.ts';
import { parseSigned } from '../../../monero/transaction.ts';
import type { MoneroNode } from '../node.ts';
import type { Distribution } from './decoys.ts';
import { type ChainOutput, ChainOutputs, type MoneroNodes, type Own } from './outputs.ts';
import type { MoneroSource } from './spending.ts';

const RETRY_SECONDS = 5;
/** The places of the recommended fees for confirmation in the very next blocks, soon, and later. */
const FAST = 2;
const NORMAL = 1;
const SLOW = 0;
const TARGET_FAST = 2;
const TARGET_NORMAL = 10;
const WEIGHT_PER_RATE = 1_000n;
/**
 * Piconero per byte. Nodes relay from the reward of a block (0.6 XMR) x 0.95 x 3,000 / 300,000^2 on, and from less while blocks are
 * larger (`Blockchain::get_dynamic_base_fee`). A signed transaction below that could never be sent, nor be replaced.
 */
const FEE_PER_BYTE_MIN = 20_000;

export class NodeSource implements MoneroSource {
  readonly #endpoints: MoneroNodes;
  readonly #outputs: ChainOutputs;

  constructor(endpoints: MoneroNodes) {
    this.#endpoints = endpoints;
    this.#outputs = new ChainOutputs(endpoints);
  }

  async feeRate(targetBlocks: number, signal: AbortSignal): Promise<bigint> {
    const fees = await this.#first((node) => node.fees(signal), signal);
    const wanted = targetBlocks <= TARGET_FAST ? FAST : targetBlocks <= TARGET_NORMAL ? NORMAL : SLOW;
    return BigInt(Math.max(fees[wanted] ?? fees.at(-1) ?? 0, FEE_PER_BYTE_MIN)) * WEIGHT_PER_RATE;
  }

  /** Its stored form. */
  async transaction(txid: string, _blockHash: string | null, signal: AbortSignal): Promise<string> {
    const known = await this.#first((node) => node.transactions([txid], signal), signal);
    const kept = known.get(txid)?.kept;
    if (!kept) throw new Unavailable(`the node does not have ${txid} in a block`, RETRY_SECONDS);
    return Buffer.from(kept()).toString('hex');
  }

  distribution(limit: () => AbortSignal): Promise<Distribution> {
    return this.#outputs.distribution(limit);
  }

  outputs(indices: readonly number[], own: Own, signal: AbortSignal): Promise<ChainOutput[]> {
    return this.#outputs.outputs(indices, own, signal);
  }

  /** A transaction that the node has already is refused as a double spend of itself, which counts as success. */
  async broadcast(raw: string, signal: AbortSignal): Promise<void> {
    const id = idOf(raw);
    // to every node, because one may take a transaction and not pass it on
    const reasons = await this.#endpoints.each(async (node) => {
      const reason = await node.send(raw, signal);
      return reason === null || (await node.transactions([id], signal)).has(id) ? null : reason;
    }, signal);
    if (!reasons.includes(null)) throw new Rejected('broadcast.refused', reasons[0] ?? '');
  }

  async #first<T>(ask: (node: MoneroNode, signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    const answer = await this.#endpoints.first((node) => ask(node, signal), signal);
    if (answer === undefined) throw new Unavailable('no node answers', RETRY_SECONDS);
    return answer;
  }
}

/** The id of signed bytes (hex). Throws `Rejected` as a node that refuses them. */
function idOf(raw: string): string {
  try {
    return parseSigned(Buffer.from(raw, 'hex')).transaction.id;
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    throw new Rejected('broadcast.refused', 'These bytes are no signed transaction of Monero');
  }
}
