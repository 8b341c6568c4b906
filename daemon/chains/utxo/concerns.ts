/** Settings and releases of a node that answers, and with which money may be seen late or be false. */
import { z } from 'zod';
import type { Network } from '../../domain/assets.ts';
import type { SourceConcern } from '../../domain/chain.ts';
import type { UtxoChain } from './params.ts';

const networkInfo = z.object({ version: z.int(), localrelay: z.boolean().default(true) });

/**
 * Litecoin Core 0.21.5.4, as its nodes count releases. Before 0.21.5 they accept coins that a block invents in the extension block, and the
 * next ones can be stopped by such a block; blocks of that kind were mined in March and April 2026.
 */
const LITECOIN_SOUND = 210_504;

/** By an answer to `getnetworkinfo`; none where it is of another form. */
export function concernsOf(answer: unknown, chain: UtxoChain, network: Network): SourceConcern[] {
  const { success, data } = networkInfo.safeParse(answer);
  if (!success) return [];
  const concerns: SourceConcern[] = [];
  if (!data.localrelay) concerns.push('blocks_only');
  // only on a real chain would anybody mine such a block
  if (chain === 'LTC' && network === 'mainnet' && data.version < LITECOIN_SOUND) concerns.push('old_litecoin');
  return concerns;
}
