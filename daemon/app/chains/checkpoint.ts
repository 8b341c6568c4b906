import type { Checkpoint } from '../../domain/chain.ts';
import { chainState } from '../../store/queries/effects.ts';
import type { Reader } from '../../store/store.ts';
import type { ChainRuntime } from './chains.ts';

/** The stored checkpoint of a chain; null before the first. */
export function checkpointOf(reader: Reader, chain: ChainRuntime): Checkpoint | null {
  const row = reader.get(chainState, { chain_key: chain.key });
  return row?.checkpoint ?? null;
}
