/**
 * Reads the node's chain from a checkpoint in bounded steps: the fork, the orphaned blocks, and the contents of the
 * next blocks.
 *
 * Invariant: every block taken links to the one before it, down to a block of the checkpoint. So a node that
 * reorganises meanwhile can shorten a step, but two branches are never mixed.
 */
import type { BlockId } from '../../domain/chain.ts';
import { assert, ChainAlert, Unavailable } from '../../domain/errors.ts';
import { type BlockHeader, ParseError, parseHeader } from './block.ts';
import { type Finder, findInBlock, type MatchResult } from './match.ts';
import type { CoreNode, NodeState } from './node.ts';

/** The limits of one step. The block that exceeds the limit of bytes is the last one. */
export const BLOCKS_PER_STEP_MAX = 100;
const BYTES_PER_STEP_MAX = 16 * 1024 * 1024;

type BlocksRead = {
  /** The blocks taken, ascending; the first follows the block from which reading began. */
  blocks: BlockId[];
  found: MatchResult;
};

/** Reads the blocks above `from` up to the node's tip or the end of a step. Throws `PrunedBlock` or `Unavailable`. */
export async function readBlocks(
  node: CoreNode,
  from: BlockId,
  state: NodeState,
  finder: Finder,
  signal: AbortSignal,
): Promise<BlocksRead> {
  const read: BlocksRead = { blocks: [], found: { credits: [], spends: [] } };
  const count = Math.min(state.height - from.height, BLOCKS_PER_STEP_MAX);
  if (count <= 0) return read;
  const heights = Array.from({ length: count }, (_, i) => from.height + 1 + i);
  const hashes = (await node.hashesAt(heights, signal)).filter((hash) => hash !== null);
  let bytesRead = 0;
  let previous = from;
  let ahead = fetchAhead(node, hashes[0], signal);
  for (const [i, hash] of hashes.entries()) {
    const bytes = await ahead;
    assert(bytes, 'a block was asked for');
    bytesRead += bytes.length;
    const isLast = bytesRead >= BYTES_PER_STEP_MAX;
    ahead = fetchAhead(node, isLast ? undefined : hashes[i + 1], signal);
    const header = headerOf(bytes, hash);
    if (header.previous !== previous.hash) break;
    previous = { height: previous.height + 1, hash };
    await findOurs(finder, bytes, previous, header.timeSeconds * 1000, read.found);
    read.blocks.push(previous);
    if (isLast) break;
  }
  return read;
}

/** Fetches the next block while the one before is read. Its failure counts only once it is awaited. */
function fetchAhead(node: CoreNode, hash: string | undefined, signal: AbortSignal): Promise<Buffer | null> {
  const fetched = hash === undefined ? Promise.resolve(null) : node.block(hash, signal);
  fetched.catch(() => {});
  return fetched;
}

function headerOf(bytes: Buffer, hash: string): BlockHeader {
  const header = parseHeader(bytes);
  if (header.hash !== hash) throw new Unavailable(`the node sent another block than ${hash}`, 5);
  return header;
}

async function findOurs(
  finder: Finder,
  bytes: Buffer,
  block: BlockId,
  timeMs: number,
  found: MatchResult,
): Promise<void> {
  try {
    await findInBlock(finder, bytes, block, timeMs, found);
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    // skipping it could lose payments, so the chain stops here with an alert
    throw new ChainAlert(`block ${block.hash} at ${block.height} cannot be read: ${error.message}`);
  }
}
