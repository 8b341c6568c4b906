/** The block from which a chain is watched: its tip, or one before a wallet's birthday. */

import type { ChainId, Network } from '../../domain/assets.ts';
import { CHECKPOINT_BLOCKS_MAX, type Checkpoint } from '../../domain/chain.ts';
import { assert, Rejected, Unavailable } from '../../domain/errors.ts';
import { MS_PER_HOUR } from '../../domain/time.ts';
import type { CoreNode, NodeState } from './node.ts';

const READ_ATTEMPTS_MAX = 3;
/** How far ahead of the true time a miner can date a block. */
const CLOCK_MARGIN_MS = 2 * MS_PER_HOUR;
/** A block's median time is that of the eleven blocks up to it. */
const MEDIAN_BLOCKS = 11;

/** The configuration key that messages name. */
export const settingOf = (network: Network, chain: ChainId): string => `[networks.${network}.${chain}] core_rpc`;

/** Advice for an operator about blocks that a pruning node has deleted. */
export const prunedAdvice = (setting: string): string =>
  `Point ${setting} at a node that keeps these blocks, or set prune=0 in the node's configuration and let it ` +
  'download the chain again (-reindex).';

/**
 * The checkpoint at the tip, or at a block that is certainly older than `birthday` (milliseconds since 1970). Throws
 * `Rejected` if the node has pruned the blocks after it, else `Unavailable`.
 */
export async function beginAt(
  node: CoreNode,
  birthday: number | null,
  setting: string,
  signal: AbortSignal,
): Promise<Checkpoint> {
  for (let attempt = 0; attempt < READ_ATTEMPTS_MAX; attempt++) {
    const state = await node.state(signal);
    const height = birthday === null ? state.height : await heightBefore(node, birthday, state, signal);
    if (state.lowestBlock > height + 1) {
      const message = `The node has deleted the blocks from ${height + 1} to ${state.lowestBlock - 1} (pruned).`;
      throw new Rejected('chain.pruned', `${message} ${prunedAdvice(setting)}`);
    }
    const checkpoint = await blocksUpTo(node, height, signal);
    // unchanged before and after, so all of it is of one chain
    if (checkpoint && (await node.bestHash(signal)) === state.hash) return checkpoint;
  }
  throw new Unavailable(`${setting}: the chain changed while it was read`, 5);
}

async function blocksUpTo(node: CoreNode, height: number, signal: AbortSignal): Promise<Checkpoint | null> {
  const count = Math.min(height + 1, CHECKPOINT_BLOCKS_MAX);
  const heights = Array.from({ length: count }, (_, i) => height - count + 1 + i);
  const hashes = await node.hashesAt(heights, signal);
  const checkpoint: Checkpoint = [];
  for (const [i, hash] of hashes.entries()) {
    if (hash === null) return null;
    checkpoint.push({ height: heights[i] as number, hash });
  }
  return checkpoint;
}

/**
 * A height such that every block mined since `birthday` is above it. Searches by median time, which never falls and is
 * behind a block's own time by half of its eleven blocks.
 */
async function heightBefore(node: CoreNode, birthday: number, state: NodeState, signal: AbortSignal): Promise<number> {
  let before = 0;
  let after = state.height + 1;
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    const [hash] = await node.hashesAt([middle], signal);
    assert(hash !== undefined, 'one hash for one height');
    // the chain became shorter: heights above its tip count as later
    const isBefore = hash !== null && (await node.blockTime(hash, signal)).medianTimeMs < birthday - CLOCK_MARGIN_MS;
    if (isBefore) before = middle;
    else after = middle;
  }
  return Math.max(0, before - MEDIAN_BLOCKS);
}
