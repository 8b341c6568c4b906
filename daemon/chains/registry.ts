/** Which adapter serves a chain, by what the operator configured for it. A new kind of source is a row here. */
import type { ChainId, Network } from '../domain/assets.ts';
import type { ChainAdapter, WatchList } from './adapter.ts';
import { coreAdapter } from './utxo/core.ts';
import type { UtxoChain } from './utxo/params.ts';

/** What connects a chain to its network. Lists are empty and values null where the operator gave none. */
export type SourceSettings = {
  readonly coreRpc: string | null;
  readonly coreRpcCookie: string | null;
  readonly electrum: readonly string[];
  readonly monerod: readonly string[];
  readonly rpc: readonly string[];
};

const isUtxo = (chain: ChainId): chain is UtxoChain => chain === 'BTC' || chain === 'LTC' || chain === 'BCH';

/** The keys of sources that are known but that no adapter of this release speaks to, of those that were given. */
export function unservedKeys(settings: SourceSettings): string[] {
  const lists = { electrum: settings.electrum, monerod: settings.monerod, rpc: settings.rpc };
  return Object.entries(lists).flatMap(([key, urls]) => (urls.length > 0 ? [key] : []));
}

/** The adapter of a real chain, or null when nothing connects it. */
export function openAdapter(
  network: Network,
  chain: ChainId,
  settings: SourceSettings,
  watch: WatchList,
  log: (message: string) => void,
): ChainAdapter | null {
  if (!isUtxo(chain) || settings.coreRpc === null) return null;
  const cookie = settings.coreRpcCookie === null ? {} : { cookieFile: settings.coreRpcCookie };
  return coreAdapter({ chain, network, url: settings.coreRpc, watch, log, ...cookie });
}
