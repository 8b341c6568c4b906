/** Bounded steps from a checkpoint to a tip: the new checkpoint, the orphaned blocks, the new blocks. */
import { type BlockId, CHECKPOINT_BLOCKS_MAX, type Checkpoint } from '../../../../domain/chain.ts';
import { tipOf } from '../../../adapter.ts';
import { contiguousEnd, deepReorg, extended } from '../../../checkpoint.ts';
import { BLOCKS_PER_STEP_MAX } from '../../blocks.ts';
import type { Headers } from './types.ts';

type Step = { checkpoint: Checkpoint; orphaned: BlockId[]; atTip: boolean };

/**
 * The next step from `since` towards `tip`, which is on the chain; null if `tip` is behind `since` without
 * contradicting it. Throws `ChainAlert` if the fork is below all of `since`.
 */
export function nextStep(since: Checkpoint, tip: BlockId, headers: Headers): Step | null {
  const known = contiguousEnd(since);
  const common = known.findLastIndex(({ height, hash }) => height <= tip.height && headers.hashAt(height) === hash) + 1;
  const reachable = known.filter(({ height }) => height <= tip.height).length;
  if (tip.height < tipOf(known).height && common === reachable) return null;
  if (common === 0) throw deepReorg(known, tip);
  const kept = known.slice(0, common);
  const from = tipOf(kept).height;
  const to = Math.min(tip.height, from + BLOCKS_PER_STEP_MAX);
  const blocks: BlockId[] = [];
  for (let height = from + 1; height <= to; height++) {
    const hash = headers.hashAt(height);
    // the chain just became shorter; the next step covers it
    if (hash === null) break;
    blocks.push({ height, hash });
  }
  const checkpoint = extended(kept, blocks);
  return { checkpoint, orphaned: known.slice(common), atTip: tipOf(checkpoint).hash === tip.hash };
}

/** The newest held blocks up to a height, ascending: as many as a checkpoint keeps. */
export function checkpointAt(height: number, headers: Headers): Checkpoint {
  const blocks: Checkpoint = [];
  for (let at = height; at >= 0 && blocks.length < CHECKPOINT_BLOCKS_MAX; at--) {
    const hash = headers.hashAt(at);
    if (hash === null) break;
    blocks.unshift({ height: at, hash });
  }
  return blocks;
}
