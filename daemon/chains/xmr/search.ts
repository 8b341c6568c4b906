/**
 * Searches blocks that were read already for spends of our coins: a key image can become known after its block was read, when the
 * wallet is unlocked, or after a restore. Blocks are read in order, so that the node does not learn which key images are ours.
 */
import type { Searched, SpendSeen } from '../../domain/chain.ts';
import { changed, idOf } from '../checkpoint.ts';
import type { MoneroNode } from './node.ts';
import type { Scanner } from './scan.ts';

/** Blocks read by one step. */
const BLOCKS_PER_STEP = 100;

/** `from`: the first block. `newest`: when the newest key image was learned that is searched for. `tip`: the last block. */
type Wanted = { from: number; newest: number; tip: number };

/** One step. The store notes its end together with the spends, so that a step that was not stored is done again. */
export async function searchBlocks(
  node: MoneroNode,
  scanner: Scanner,
  { from, newest, tip }: Wanted,
  signal: AbortSignal,
): Promise<{ spends: SpendSeen[]; searched: Searched }> {
  const to = Math.min(tip, from + BLOCKS_PER_STEP - 1);
  const heights = Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i);
  const spends: SpendSeen[] = [];
  for (const header of await node.headers(heights, signal)) {
    if (!header) throw changed();
    const { txids } = await node.block(header.hash, signal);
    const where = { block: idOf(header), blockTime: header.timeMs };
    for (const { transaction } of (await node.transactions(txids, signal)).values()) {
      spends.push(...scanner.spends(transaction, where));
    }
  }
  return { spends, searched: { to, newest, isWhole: to >= tip } };
}
