/** In which block of a checkpoint money came to an address, and when. */
import type { BlockId, Checkpoint, Credit } from '../../domain/chain.ts';
import { assert } from '../../domain/errors.ts';
import type { EvmEndpoint } from './endpoint.ts';

/**
 * The first block of a checkpoint, from an index on, up to which more than `held` was received by a state that the endpoint has, and that
 * amount. A block whose state it no longer has is skipped. `after`: the last block below it up to which no more was received; -1: none is
 * known to be. Null: no such block has its state any more.
 */
export async function firstAbove(
  cameBy: (block: BlockId) => Promise<bigint | null>,
  held: bigint,
  checkpoint: Checkpoint,
  from: number,
): Promise<{ at: number; came: bigint; after: number } | null> {
  const cameAt = (index: number): Promise<bigint | null> => {
    const block = checkpoint[index];
    assert(block, 'a block of the checkpoint');
    return cameBy(block);
  };
  let low = from;
  let high = checkpoint.length - 1;
  let after = from - 1;
  // by the answer that chose it: its state may be gone by the end
  let most: bigint | null = null;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const came = await cameAt(middle);
    if (came !== null && came > held) {
      high = middle;
      most = came;
    } else low = middle + 1;
    if (came !== null && came <= held) after = middle;
  }
  const came = most ?? (await cameAt(low));
  return came !== null && came > held ? { at: low, came, after } : null;
}

/** Gives credits the time of their blocks. An invoice's deadline goes by it, so that one of an earlier step has it, too. */
export async function dated(
  credits: Credit[],
  endpoint: EvmEndpoint,
  { timeOf }: { timeOf: (hash: string) => number | undefined },
  signal: AbortSignal,
): Promise<void> {
  const hashes = [...new Set(credits.flatMap(({ block }) => (block ? [block.hash] : [])))];
  const unknown = hashes.filter((hash) => timeOf(hash) === undefined);
  const headers = unknown.length === 0 ? [] : await endpoint.headersByHash(unknown, signal);
  const times = new Map(headers.map((header, i) => [unknown[i], header?.timeMs]));
  for (const credit of credits) {
    const hash = credit.block?.hash ?? '';
    const blockTime = timeOf(hash) ?? times.get(hash);
    if (blockTime !== undefined) credit.blockTime = blockTime;
  }
}
