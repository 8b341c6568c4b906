import type { ChainAdapter, CoinSource } from '../../daemon/chains/adapter.ts';

/** The queries of a coin chain's adapter. */
export function coinSource({ spending, chain }: ChainAdapter): CoinSource {
  if (spending && 'unconfirmed' in spending && 'conflict' in spending) return spending as unknown as CoinSource;
  throw new Error(`${chain} is no coin chain that pays out`);
}
