/**
 * Blocks that chains of headers hang on. What is below one is never reorganised, and its headers are believed by hash.
 */
import type { BlockId } from '../../../domain/chain.ts';
import type { HeaderRules } from './rules.ts';

/** The checkpoint of a chain: its first block where no later one is built in. */
export function checkpointOf(rules: HeaderRules): BlockId {
  return { height: 0, hash: rules.genesis };
}
