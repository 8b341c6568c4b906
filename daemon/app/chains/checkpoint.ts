import { tipOf } from '../../chains/adapter.ts';
import type { Checkpoint } from '../../domain/chain.ts';
import { Unavailable } from '../../domain/errors.ts';
import { chainState } from '../../store/queries/effects.ts';
import type { Reader } from '../../store/store.ts';
import type { ChainRuntime } from './chains.ts';

const BEGINNING_RETRY_SECONDS = 30;

/** The stored checkpoint of a chain; null before the first. */
export function checkpointOf(reader: Reader, chain: ChainRuntime): Checkpoint | null {
  const row = reader.get(chainState, { chain_key: chain.key });
  return row?.checkpoint ?? null;
}

/** The height of the tip of the stored facts. Throws `Unavailable` before the first sync. */
export function tipHeightOf(reader: Reader, chain: ChainRuntime): number {
  const checkpoint = checkpointOf(reader, chain);
  if (!checkpoint) {
    throw new Unavailable(`${chain.adapter.chain} is not connected to its network yet`, BEGINNING_RETRY_SECONDS);
  }
  return tipOf(checkpoint).height;
}
