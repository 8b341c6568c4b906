/** Which adapter serves a chain, by what the operator configured for it. A new kind of source is a row here. */
import type { AssetId, ChainId, Network } from '../domain/assets.ts';
import type { AccountKey } from '../domain/chain.ts';
import { isEvm } from '../domain/evm.ts';
import type { ChainAdapter, ScriptList } from './adapter.ts';
import type { NeedsAgreement } from './agreement.ts';
import { EvmAdapter } from './evm/adapter.ts';
import { coreAdapter } from './utxo/core.ts';
import { ElectrumAdapter } from './utxo/electrum/electrum.ts';
import { builtInServers } from './utxo/electrum/servers/built-in.ts';
import type { UtxoChain } from './utxo/params.ts';
import { MoneroAdapter } from './xmr/adapter.ts';

/** What connects a chain to its network. Lists are empty and values null where the operator gave none. */
export type SourceSettings = {
  readonly coreRpc: string | null;
  readonly coreRpcCookie: string | null;
  readonly electrum: readonly string[];
  readonly monerod: readonly string[];
  readonly rpc: readonly string[];
};

/** What of the program around it a source needs. */
export type SourceContext = {
  list: ScriptList;
  /** Contracts that stand for tokens on networks where none is pinned. */
  contracts: Readonly<Partial<Record<AssetId, string>>>;
  /** The accounts of the chain. */
  accounts: () => readonly AccountKey[];
  /** Where what was fetched and learned of servers is kept. */
  folder: string;
  socksProxy: string | null;
  /** Whether public servers may be used where the operator named none. */
  publicServers: boolean;
  /** Whether the proxy is for every Electrum server, or for onion services only. */
  proxyForAll: boolean;
  /** Whether two servers must agree before credits of a transaction count as confirmed. */
  needsAgreement: NeedsAgreement;
  log: (message: string) => void;
  /** A server was caught; `server` is its address. */
  alert: (server: string, message: string) => void;
  /** What is paid to a target is not seen, since no server tells its history. */
  leftOut: (targetId: number, message: string) => void;
};

const isUtxo = (chain: ChainId): chain is UtxoChain => chain === 'BTC' || chain === 'LTC' || chain === 'BCH';

/** The keys of sources that are known but that no adapter of this release speaks to, of those that were given. */
export function unservedKeys(network: Network, settings: Pick<SourceSettings, 'monerod' | 'rpc'>): string[] {
  // An asset that this release cannot pay out is not taken in either where it is worth something.
  const lists = network === 'mainnet' ? settings : { monerod: [], rpc: [] };
  return (['monerod', 'rpc'] as const).filter((key) => lists[key].length > 0);
}

/**
 * Whether a chain is connected only because of a default: then nothing is connected to before a business needs it.
 * On mainnet BTC, LTC and BCH have public servers to begin with; on other networks the operator names a source.
 */
export function isDefaultSource(network: Network, chain: ChainId, settings: SourceSettings): boolean {
  return isUtxo(chain) && network === 'mainnet' && settings.coreRpc === null && settings.electrum.length === 0;
}

/** The adapter of a real chain, or null when nothing connects it. A node of one's own comes before servers. */
export function openAdapter(
  network: Network,
  chain: ChainId,
  settings: SourceSettings,
  context: SourceContext,
): ChainAdapter | null {
  if (isEvm(chain) && settings.rpc.length > 0) {
    const { list, log, alert, needsAgreement, contracts } = context;
    return new EvmAdapter({ chain, network, urls: settings.rpc, contracts, list, needsAgreement, log, alert });
  }
  if (chain === 'XMR' && settings.monerod.length > 0) {
    const { list, alert, needsAgreement, accounts } = context;
    return new MoneroAdapter({ network, urls: settings.monerod, list, accounts, needsAgreement, alert });
  }
  if (!isUtxo(chain)) return null;
  const { list, log } = context;
  if (settings.coreRpc !== null) {
    const cookie = settings.coreRpcCookie === null ? {} : { cookieFile: settings.coreRpcCookie };
    return coreAdapter({ chain, network, url: settings.coreRpc, watch: list, log, ...cookie });
  }
  const byDefault = context.publicServers && isDefaultSource(network, chain, settings);
  const builtIn = byDefault ? builtInServers(chain, network) : [];
  const servers = settings.electrum.length > 0 ? settings.electrum : builtIn;
  if (servers.length === 0) return null;
  const { folder, socksProxy: proxy, proxyForAll, needsAgreement, alert, leftOut } = context;
  const own = settings.electrum.length > 0;
  const needsTwo = (credits: readonly { targetId: number; units: bigint }[]): boolean =>
    needsAgreement(credits.map((credit) => ({ ...credit, asset: chain })));
  const facing = { needsAgreement: needsTwo, log, alert, leftOut };
  return new ElectrumAdapter({ chain, network, servers, own, list, folder, proxy, proxyForAll, ...facing });
}
