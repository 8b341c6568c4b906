/** What adapters may ask the store: whether a script or an outpoint is ours, by index, whatever the number of either. */
import type { WatchList } from '../chains/adapter.ts';
import type { ChainKey } from '../domain/chain.ts';
import { creditByOutpoint, targetIdByScript } from '../store/queries/credits.ts';
import type { Store } from '../store/store.ts';

export function watchList(store: Store, chain_key: ChainKey): WatchList {
  return {
    targetOf: (script) => store.get(targetIdByScript, { script, chain_key })?.id,
    isOurCoin: (outpoint) => store.get(creditByOutpoint, { outpoint, chain_key }) !== undefined,
  };
}
