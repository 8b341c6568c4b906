/** Chooses the adapter of a chain by the operator's configuration. A new chain adds a row to `OPENERS`. */
import { join } from 'node:path';
import type { AssetId, ChainId, Network } from '../domain/assets.ts';
import type { AccountKey } from '../domain/chain.ts';
import { type EvmChain, isEvm } from '../domain/evm.ts';
import type { ChainAdapter, ScriptList } from './adapter.ts';
import type { NeedsAgreement } from './agreement.ts';
import { isUtxo } from './derive.ts';
import { EvmAdapter } from './evm/adapter.ts';
import { builtInEndpoints } from './evm/built-in.ts';
import { coreAdapter } from './utxo/core.ts';
import { ElectrumAdapter } from './utxo/electrum/electrum.ts';
import { builtInServers } from './utxo/electrum/servers/built-in.ts';
import { Pins } from './utxo/electrum/servers/pins.ts';
import type { UtxoChain } from './utxo/params.ts';
import { MoneroAdapter } from './xmr/adapter.ts';
import type { Odd } from './xmr/blocks.ts';
import { builtInNodes } from './xmr/built-in.ts';

/** A chain's configured sources. Lists are empty and values null if none is configured. */
type SourceSettings = {
  readonly coreRpc: string | null;
  readonly coreRpcCookie: string | null;
  readonly electrum: readonly string[];
  readonly monerod: readonly string[];
  readonly rpc: readonly string[];
};

/** The parts of the program that a source needs. */
type SourceContext = {
  list: ScriptList;
  /** Contracts of tokens on networks where none is built in. */
  contracts: Readonly<Partial<Record<AssetId, string>>>;
  /** The accounts of the chain. */
  accounts: () => readonly AccountKey[];
  /** The folder for headers and for data about servers. */
  folder: string;
  socksProxy: string | null;
  /** Whether public servers, endpoints or nodes may be used if none are configured. */
  publicServers: boolean;
  /** Whether the proxy is for all servers or nodes, or for onion services only. */
  proxyForAll: boolean;
  /** Whether payments are configured that count only in a final block. */
  wantsFinality: boolean;
  /** Whether two servers must agree before credits of a transaction count as confirmed. */
  needsAgreement: NeedsAgreement;
  log: (message: string) => void;
  /** Called when a server misbehaved; `server` is its address. */
  alert: (server: string, message: string) => void;
  /** Called for a target whose payments are not seen, because no server gives its history. */
  leftOut: (targetId: number, message: string) => void;
  /** Monero: called for a transaction in a block that cannot be read here. */
  onOdd: (odd: Odd) => void;
  /** Monero: whether many blocks are read in a separate thread. Default: yes. */
  hasThread?: boolean;
};

/**
 * Whether a chain is connected only by default, so that no connection is opened before a business needs it. On mainnet
 * there are public servers, endpoints and nodes; on other networks the operator configures a source.
 */
export function isDefaultSource(network: Network, chain: ChainId, settings: SourceSettings): boolean {
  if (network !== 'mainnet') return false;
  if (isEvm(chain)) return settings.rpc.length === 0;
  if (chain === 'XMR') return settings.monerod.length === 0;
  return isUtxo(chain) && settings.coreRpc === null && settings.electrum.length === 0;
}

type Source = { network: Network; settings: SourceSettings; context: SourceContext; byDefault: boolean };

const coins =
  (chain: UtxoChain) =>
  ({ network, settings, context, byDefault }: Source): ChainAdapter | null => {
    const { list, log } = context;
    if (settings.coreRpc !== null) {
      const cookie = settings.coreRpcCookie === null ? {} : { cookieFile: settings.coreRpcCookie };
      return coreAdapter({ chain, network, url: settings.coreRpc, watch: list, log, ...cookie });
    }
    const builtIn = byDefault ? builtInServers(chain, network) : [];
    const servers = settings.electrum.length > 0 ? settings.electrum : builtIn;
    if (servers.length === 0) return null;
    const { folder, socksProxy: proxy, proxyForAll, needsAgreement, alert, leftOut } = context;
    const own = settings.electrum.length > 0;
    const needsTwo = (credits: readonly { targetId: number; units: bigint }[]): boolean =>
      needsAgreement(credits.map((credit) => ({ ...credit, asset: chain })));
    const facing = { needsAgreement: needsTwo, log, alert, leftOut };
    return new ElectrumAdapter({ chain, network, servers, own, list, folder, proxy, proxyForAll, ...facing });
  };

const accounts =
  (chain: EvmChain) =>
  ({ network, settings, context, byDefault }: Source): ChainAdapter | null => {
    const urls = byDefault ? builtInEndpoints(network, chain) : settings.rpc;
    if (urls.length === 0) return null;
    const { list, alert, needsAgreement, contracts, wantsFinality, log } = context;
    const facing = { list, needsAgreement, wantsFinality, alert, log };
    return new EvmAdapter({ chain, network, urls, contracts, ...facing });
  };

function monero({ network, settings, context, byDefault }: Source): ChainAdapter | null {
  const urls = byDefault ? builtInNodes(network) : settings.monerod;
  if (urls.length === 0) return null;
  const { list, alert, onOdd, needsAgreement, accounts, folder, socksProxy: proxy, proxyForAll, hasThread } = context;
  const reach = { proxy, proxyForAll, pins: new Pins(join(folder, `XMR-${network}.certificates.json`)) };
  const facing = { list, accounts, needsAgreement, alert, onOdd };
  return new MoneroAdapter({ network, urls, reach, ...facing, ...(hasThread !== undefined && { hasThread }) });
}

const OPENERS: { readonly [C in ChainId]: (source: Source) => ChainAdapter | null } = {
  BTC: coins('BTC'),
  LTC: coins('LTC'),
  BCH: coins('BCH'),
  ETH: accounts('ETH'),
  BSC: accounts('BSC'),
  XMR: monero,
};

/** The adapter of a real chain, or null without a source. A configured node takes precedence over servers. */
export function openAdapter(
  network: Network,
  chain: ChainId,
  settings: SourceSettings,
  context: SourceContext,
): ChainAdapter | null {
  const byDefault = context.publicServers && isDefaultSource(network, chain, settings);
  return OPENERS[chain]({ network, settings, context, byDefault });
}
