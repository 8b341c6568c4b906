/** The nodes as a source for spending: rates, outputs for rings, and sending. */
import type { BlockId } from '../../../domain/chain.ts';
import { Malformed, Rejected, Unavailable } from '../../../domain/errors.ts';
import { parseSigned } from '../../../monero/transaction.ts';
import type { MoneroNode } from '../node.ts';
import { type MoneroNodes, needAffirmed } from './affirmed.ts';
import type { Distribution } from './decoys.ts';
import { type ChainOutput, ChainOutputs, type OwnChainOutput } from './outputs.ts';
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

  /** `readTo`: the height of the last block that was read. */
  constructor(endpoints: MoneroNodes, readTo: () => number) {
    this.#endpoints = endpoints;
    this.#outputs = new ChainOutputs(endpoints, readTo);
  }

  /** The lower rate of two operators: a payment of ours cannot be sped up, but one that is too dear is lost money, and stands out. */
  async feeRate(targetBlocks: number, signal: AbortSignal): Promise<bigint> {
    const wanted = targetBlocks <= TARGET_FAST ? FAST : targetBlocks <= TARGET_NORMAL ? NORMAL : SLOW;
    const rateOf = async (node: MoneroNode): Promise<number> => {
      const fees = await node.fees(signal);
      return fees[wanted] ?? fees.at(-1) ?? 0;
    };
    const rate = await this.#first(async (node) => {
      const mine = await rateOf(node);
      return Math.min(mine, (await this.#endpoints.other(node, rateOf, signal)) ?? mine);
    }, signal);
    return BigInt(Math.max(rate, FEE_PER_BYTE_MIN)) * WEIGHT_PER_RATE;
  }

  /** Its stored form. Its bytes are proved by its id; the place of its outputs on the chain is a node's word. */
  transaction(txid: string, _blockHash: string | null, signal: AbortSignal): Promise<string> {
    const keptBy = async (node: MoneroNode): Promise<string | null> => {
      const kept = (await node.transactions([txid], signal)).get(txid)?.kept;
      return kept ? Buffer.from(kept()).toString('hex') : null;
    };
    return this.#first(async (node) => {
      const mine = await keptBy(node);
      if (mine === null) throw new Unavailable(`the node does not have ${txid} in a block`, RETRY_SECONDS);
      const affirms = async (other: MoneroNode): Promise<boolean | null> => {
        const theirs = await keptBy(other);
        return theirs === null ? null : theirs === mine;
      };
      await needAffirmed(this.#endpoints, node, 'the place of an output of ours', affirms, signal);
      return mine;
    }, signal);
  }

  distribution(limit: () => AbortSignal): Promise<Distribution> {
    return this.#outputs.distribution(limit);
  }

  outputs(indices: readonly number[], own: OwnChainOutput, signal: AbortSignal): Promise<ChainOutput[]> {
    return this.#outputs.outputs(indices, own, signal);
  }

  lacksOwn(indices: readonly number[], own: OwnChainOutput, limit: () => AbortSignal): Promise<BlockId | null> {
    return this.#outputs.lacksOwn(indices, own, limit);
  }

  /**
   * Every node is asked, because one may take a transaction and not pass it on. A transaction that a node has already is refused as a
   * double spend of itself, which counts as success. Throws `Rejected`: `broadcast.refused`; `broadcast.disputed` if some take it and
   * others refuse it, since one that takes it may lie.
   */
  async broadcast(raw: string, signal: AbortSignal): Promise<void> {
    const id = idOf(raw);
    const reasons = await this.#endpoints.each(async (node) => {
      const reason = await node.send(raw, signal);
      return reason === null || (await node.transactions([id], signal)).has(id) ? null : reason;
    }, signal);
    const [refusal] = reasons.filter((reason) => reason !== null);
    if (refusal === undefined) return;
    if (!reasons.includes(null)) throw new Rejected('broadcast.refused', refusal);
    throw new Rejected('broadcast.disputed', `one node takes it and another one refuses it: ${refusal}`);
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
