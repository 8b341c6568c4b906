/** Parts of the configuration in the form in which other rooms take them. */
import { ASSETS, CHAINS, type ChainId, FINALIZED, NETWORKS, type Network } from '../domain/assets.ts';
import type { Config } from './config.ts';

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443', 'ws:': '80', 'wss:': '443' };

function hostPort(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname.toLowerCase()}:${port || DEFAULT_PORTS[protocol]}`;
}

/**
 * Every configured node and proxy as "host:port" (IPv6 in brackets, names in lower case), each once. Notifications are
 * never sent to them.
 */
export function configuredHosts(config: Config): string[] {
  const { webhook, electrum, monero } = config;
  const urls = [webhook, electrum, monero].map(({ socksProxy }) => socksProxy).filter((url) => url !== null);
  for (const network of NETWORKS) {
    for (const chain of CHAINS) {
      const { electrum: servers, coreRpc, monerod, rpc } = config.networks[network][chain];
      urls.push(...servers, ...(coreRpc ? [coreRpc] : []), ...monerod, ...rpc);
    }
  }
  return [...new Set(urls.map(hostPort))];
}

/** Whether some payments on a chain count only in a final block. */
export function wantsFinality(config: Config, network: Network, chain: ChainId): boolean {
  const assets = ASSETS.filter((asset) => asset.chain === chain).map(({ symbol }) => config.networks[network][symbol]);
  return assets.some((asset) => asset.confirmations.some(({ confirmations }) => confirmations === FINALIZED));
}

/** The manual rates by network, then by symbol, as decimals. */
export function manualRates(config: Config): Partial<Record<Network, Record<string, string>>> {
  const given: Partial<Record<Network, Record<string, string>>> = {};
  for (const network of NETWORKS) {
    const rows: Record<string, string> = {};
    for (const [symbol, rate] of Object.entries(config.networks[network].rates)) {
      if (rate) rows[symbol] = rate;
    }
    given[network] = rows;
  }
  return given;
}
