/**
 * Reads the outputs of the chain, from which rings are chosen. A node's word about them has no proof, so another operator's
 * node must say the same where one is configured and answers. A lie moves no money: nodes refuse a ring with a false
 * member, and a chosen one narrows among how many outputs a payment hides.
 */
import type { BlockId } from '../../../domain/chain.ts';
import { Malformed, Unavailable } from '../../../domain/errors.ts';
import type { RingMember } from '../../../domain/spend.ts';
import { OUTPUTS_PER_REQUEST } from '../answers.ts';
import type { MoneroNode } from '../node.ts';
import { type MoneroNodes, needAffirmed } from './affirmed.ts';
import type { Distribution } from './decoys.ts';

/** The blocks in one request for numbers of outputs. */
const BLOCKS_PER_PAGE = 50_000;
/** The last blocks, which a reorganisation may change. They are requested each time. */
const BLOCKS_ASKED_AGAIN = 720;
/** The newest blocks, which honest nodes may not have yet, or have another one of. Their outputs are no decoys yet. */
const BLOCKS_UNSETTLED = 9;
const RETRY_SECONDS = 5;
/** The operators that must agree on what makes a payment impossible. */
const OPERATORS_MIN = 2;
/** Of the requested outputs at least this part must be said alike. One that is not said alike is not used. */
const ALIKE_OF = 2;
export type ChainOutput = RingMember & { unlocked: boolean };
/** One of our outputs: its number, one-time key and commitment (hex). The amount of a coinbase is in clear, so it has none. */
export type OwnChainOutput = { at: number; key: string; commitment: string | null };
type Page = { base: number; counts: readonly number[] };

export class ChainOutputs {
  readonly #nodes: MoneroNodes;
  readonly #readTo: () => number;
  /**
   * The outputs up to each old block. They never change, unless a node told them wrongly; 2 million blocks take 16 MB.
   * Only `#read` changes it, of which one runs at a time.
   */
  readonly #counts: number[] = [];
  #reading: Promise<Distribution> | null = null;

  /** `readTo`: the height of the last block that was read here: what a node tells beyond it has no limit. */
  constructor(nodes: MoneroNodes, readTo: () => number) {
    this.#nodes = nodes;
    this.#readTo = readTo;
  }

  /**
   * A copy, which nothing changes afterwards. Callers at the same time share one reading, with the time limits of the first. The pages
   * that were read stay, so that another call continues where one failed: mainnet has about seventy.
   */
  distribution(limit: () => AbortSignal): Promise<Distribution> {
    this.#reading ??= this.#read(limit).finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #read(limit: () => AbortSignal): Promise<Distribution> {
    const head = await this.#first((node, signal) => node.head(signal), limit());
    const height = Math.min(head.height, this.#readTo());
    const counts = this.#counts;
    counts.length = Math.min(counts.length, Math.max(0, height + 1 - BLOCKS_ASKED_AGAIN));
    while (counts.length <= height) {
      const from = counts.length;
      const range = { from, to: Math.min(height, from + BLOCKS_PER_PAGE - 1), settled: height - BLOCKS_UNSETTLED };
      const page = await this.#first((node, signal) => this.#page(node, range, signal), limit());
      let sum = counts.at(-1) ?? page.base;
      if (sum !== page.base) {
        counts.length = 0;
        throw new Unavailable('a node tells other numbers of outputs than before: they are read anew', RETRY_SECONDS);
      }
      for (const count of page.counts) {
        sum += count;
        if (!Number.isSafeInteger(sum)) {
          counts.length = from;
          throw new Malformed('more outputs than there can be');
        }
        counts.push(sum);
      }
    }
    return { startHeight: 0, counts: counts.slice() };
  }

  async #page(node: MoneroNode, { from, to, settled }: Range, signal: AbortSignal): Promise<Page> {
    const mine = await node.outputCounts(from, to, signal);
    const agreed = Math.min(to, settled);
    if (agreed < from) return mine;
    await needAffirmed(
      this.#nodes,
      node,
      'how many outputs the blocks of Monero have',
      async (other) => {
        if ((await other.head(signal)).height < agreed) return null;
        const theirs = await other.outputCounts(from, agreed, signal);
        return theirs.base === mine.base && theirs.counts.every((count, at) => count === mine.counts[at]);
      },
      signal,
    );
    return mine;
  }

  /**
   * The outputs with these numbers. One that two operators describe differently counts as locked. `own`: an output of ours among them,
   * whose key is known here; a node that has another one there is wrong if any node has this one.
   */
  outputs(indices: readonly number[], own: OwnChainOutput, signal: AbortSignal): Promise<ChainOutput[]> {
    return this.#first((node) => this.#outputs(node, indices, own, signal), signal);
  }

  async #outputs(
    node: MoneroNode,
    indices: readonly number[],
    own: OwnChainOutput,
    signal: AbortSignal,
  ): Promise<ChainOutput[]> {
    const mine = await node.outputs(indices, signal);
    const place = indices.indexOf(own.at);
    let said = mine;
    await needAffirmed(
      this.#nodes,
      node,
      'which outputs Monero has',
      async (other) => {
        const theirs = await other.outputs(indices, signal);
        const [isMine, isTheirs] = [isOwn(mine[place], own), isOwn(theirs[place], own)];
        if (isTheirs && !isMine) throw new Contradicted();
        // a payment of a coin that one node invented could never confirm
        if (isMine && !isTheirs) return false;
        said = mine.map((one, at) => ({ ...one, unlocked: one.unlocked && isAlike(one, theirs[at]) }));
        const alike = mine.filter((one, at) => isAlike(one, theirs[at])).length;
        return alike * ALIKE_OF >= mine.length;
      },
      signal,
    ).catch((error: unknown) => {
      if (!(error instanceof Contradicted)) throw error;
      throw new Malformed('another output of the chain where ours is');
    });
    return said;
  }

  /**
   * A block that is settled, if the chain up to it has all outputs with these numbers, and none of them is ours; else null. Two operators
   * must say so where there are two: a payment fails by it, and what failed is paid again.
   */
  async lacksOwn(indices: readonly number[], own: OwnChainOutput, limit: () => AbortSignal): Promise<BlockId | null> {
    const { counts } = await this.distribution(limit);
    const height = counts.length - 1 - BLOCKS_UNSETTLED;
    if (indices.length === 0 || Math.max(...indices) >= (counts[height] ?? 0)) return null;
    const signal = limit();
    const most = Math.min(OPERATORS_MIN, this.#nodes.operators);
    const lacking = (found: readonly (BlockId | null)[]): BlockId[] =>
      found.flatMap((one) => (one && found.filter((other) => other?.hash === one.hash).length >= most ? [one] : []));
    const told = await this.#nodes.ofOperators(
      (node) => blockLacking(node, height, indices, own, signal),
      (found) => lacking(found).length > 0,
      signal,
    );
    return lacking(told)[0] ?? null;
  }

  async #first<T>(ask: (node: MoneroNode, signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    const answer = await this.#nodes.first((node) => ask(node, signal), signal);
    if (answer === undefined) throw new Unavailable('no node answers', RETRY_SECONDS);
    return answer;
  }
}

/** A node's block at a height, if none of the outputs with these numbers, which are not above it, is ours on its chain; else null. */
async function blockLacking(
  node: MoneroNode,
  height: number,
  indices: readonly number[],
  own: OwnChainOutput,
  signal: AbortSignal,
): Promise<BlockId | null> {
  const [block] = await node.headers([height], signal);
  if (!block) return null;
  for (let at = 0; at < indices.length; at += OUTPUTS_PER_REQUEST) {
    const outputs = await node.outputs(indices.slice(at, at + OUTPUTS_PER_REQUEST), signal);
    if (outputs.some((output) => isOwn(output, own))) return null;
  }
  // a reorganisation that came between took back what it told
  const [same] = await node.headers([height], signal);
  return same?.hash === block.hash ? { height, hash: block.hash } : null;
}

type Range = { from: number; to: number; settled: number };
class Contradicted extends Error {}

const isAlike = (one: ChainOutput, other: ChainOutput | undefined): boolean =>
  other !== undefined && one.key === other.key && one.commitment === other.commitment;

/** Whether an output is one of ours, as its transaction has it. */
export const isOwn = (output: ChainOutput | undefined, { key, commitment }: OwnChainOutput): boolean =>
  output?.key === key && (commitment === null || output.commitment === commitment);
