/** Constants of Ethereum and BNB Smart Chain that the payment page, the adapters and the signer share. */
import type { AssetId, ChainId, Network } from './assets.ts';

/** The chains that keep accounts with nonces, and speak Ethereum's JSON-RPC. */
export const EVM_CHAINS = ['ETH', 'BSC'] as const;
export type EvmChain = (typeof EVM_CHAINS)[number];

export const isEvm = (chain: ChainId): chain is EvmChain => chain === 'ETH' || chain === 'BSC';

/** The other chain whose addresses come from the same keys, or null. */
export const kinOf = (chain: string): EvmChain | null => (chain === 'ETH' ? 'BSC' : chain === 'BSC' ? 'ETH' : null);

/** The highest limit of gas that is signed: more than any transfer needs, also of a token behind several contracts. */
export const GAS_LIMIT_MAX = 1_000_000n;

/** An account's tanks, the first addresses of branch 1: fewer than a search looks at after the last used one. */
export const TANKS_MAX = 8;

/** The coin that pays for gas. */
export const NATIVE_COIN: Readonly<Record<EvmChain, AssetId>> = { ETH: 'ETH', BSC: 'BNB' };

/** EIP-155. Regtest and sandbox have ids that no public chain has, one for each chain. */
const CHAIN_IDS: Readonly<Record<Network, Readonly<Record<EvmChain, number>>>> = {
  mainnet: { ETH: 1, BSC: 56 },
  // Sepolia, and BNB Smart Chain's testnet
  testnet: { ETH: 11_155_111, BSC: 97 },
  regtest: { ETH: 1337, BSC: 1338 },
  sandbox: { ETH: 1337, BSC: 1338 },
};

/** The chain id (EIP-155) that transactions of this chain are signed for. */
export const chainIdOf = (network: Network, chain: EvmChain): number => CHAIN_IDS[network][chain];

/** The 20 bytes of an address that was checked before. */
export const evmScript = (address: string): Uint8Array =>
  Uint8Array.from(address.slice(2).match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
