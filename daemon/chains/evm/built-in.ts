/**
 * Public endpoints to begin with; none is trusted. They come and go, and an operator can name others.
 *
 * Source: Chainlist (DefiLlama/chainlist, constants/extraRpcs.js, as of 2026). These endpoints need no key, and by that
 * list their operators record little or nothing about users. Each has another operator. BNB Chain's own
 * (docs.bnbchain.org, "JSON-RPC Endpoint") give no logs, so they are last, where they only confirm what others report.
 */
import type { Network } from '../../domain/assets.ts';
import type { EvmChain } from '../../domain/evm.ts';

const MAINNET: Readonly<Record<EvmChain, readonly string[]>> = {
  ETH: [
    'https://ethereum-rpc.publicnode.com',
    'https://eth.drpc.org',
    'https://public.1rpc.io/eth',
    'https://eth.api.pocket.network',
    'https://ethereum-public.nodies.app',
    'https://eth.api.onfinality.io/public',
    'wss://ethereum-rpc.publicnode.com',
    'wss://eth.drpc.org',
  ],
  BSC: [
    'https://bsc-rpc.publicnode.com',
    'https://bsc.drpc.org',
    'https://public.1rpc.io/bnb',
    'https://bsc.api.pocket.network',
    'https://binance-smart-chain-public.nodies.app',
    'https://bnb.api.onfinality.io/public',
    'https://bsc-dataseed.bnbchain.org',
    'wss://bsc-rpc.publicnode.com',
    'wss://bsc.drpc.org',
  ],
};

/** The built-in endpoints of a chain, in the order in which they are asked; none on networks for tests. */
export const builtInEndpoints = (network: Network, chain: EvmChain): readonly string[] =>
  network === 'mainnet' ? MAINNET[chain] : [];
