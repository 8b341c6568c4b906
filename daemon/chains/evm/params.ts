/** The parameters in which Ethereum and BNB Smart Chain differ for the adapter. */
import { ASSETS, type AssetId, type Network } from '../../domain/assets.ts';
import type { EvmChain } from '../../domain/evm.ts';

/** The first block's hash on public networks. A private chain makes its own. */
export const GENESIS: Partial<Record<Network, Readonly<Record<EvmChain, string>>>> = {
  mainnet: {
    ETH: '0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3',
    BSC: '0x0d21840abff46b96c84b2ac9e10e4f5cdaeb5693cb665db62a2f3b02d2d57b5b',
  },
  testnet: {
    ETH: '0x25a5cc106eea7138acab33231d7160d69cb777ee0c2c553fcddf5138993e6dd9',
    BSC: '0x6d3c66c5357ec91d5c43af47e234a939b22557cbb552dc45bbebceeed90fbe34',
  },
};

/** If its head is older than this, the endpoint is cut off: dozens of blocks are missing. */
export const HEAD_AGE_MS_MAX: Readonly<Record<EvmChain, number>> = { ETH: 10 * 60_000, BSC: 3 * 60_000 };

/**
 * The interval between two requests for the head of a public network. Blocks come every 12 s on Ethereum, below a
 * second on BSC.
 */
export const POLL_MS: Readonly<Record<EvmChain, number>> = { ETH: 2_000, BSC: 1_000 };

/** The time between two blocks at least: Ethereum's slot, and BNB Smart Chain's since the Fermi upgrade (BEP-619). */
export const BLOCK_MS: Readonly<Record<EvmChain, number>> = { ETH: 12_000, BSC: 450 };

/** After the beginning of its slot nobody has the block yet for so long: it is made and passed on. Hints come as soon as it is there. */
export const ARRIVAL_MS: Readonly<Record<EvmChain, number>> = { ETH: 2_000, BSC: 0 };

/**
 * Blocks below the head of which the events are asked for by hash, of a minute and more on Ethereum, of 18 seconds on BNB Smart Chain: the
 * servers behind one endpoint do not have a block at the same time, and one without it tells an empty list of events for its height.
 */
export const ASKED_BY_HASH: Readonly<Record<EvmChain, number>> = { ETH: 8, BSC: 40 };

/** The time for which an answer about the newest block stands for another one. */
export const TOLD_MS: Readonly<Record<EvmChain, number>> = { ETH: 1_000, BSC: 0 };

/** Blocks, of three seconds on BSC, by which another operator's endpoint may be behind, where it is asked whether an address got nothing more. */
export const ABSENCE_LAG: Readonly<Record<EvmChain, number>> = { ETH: 0, BSC: 7 };

/**
 * Blocks of a minute, by which an endpoint may be ahead of what was read, where it is asked that. One in use that keeps back more of its
 * newest blocks may keep back a payment.
 */
export const ABSENCE_AHEAD: Readonly<Record<EvmChain, number>> = { ETH: 5, BSC: 134 };

/** The interval at which another operator is asked for the same blocks. */
export const SECOND_LOOK_MS: Readonly<Record<EvmChain, number>> = { ETH: 60_000, BSC: 30_000 };

/** The interval at which operators are asked for the newest final block, which on Ethereum moves once in 6.4 minutes. */
export const FINALITY_MS: Readonly<Record<EvmChain, number>> = { ETH: 60_000, BSC: 30_000 };

/** A token of ours on a chain. `contract`: its 20 bytes as lower-case hex with 0x. */
export type Token = { asset: AssetId; decimals: number; contract: string };

/**
 * The tokens of a chain: the registry's on mainnet, elsewhere those whose contract the operator configured. A token
 * without a contract is not watched.
 */
export function tokensOf(
  network: Network,
  chain: EvmChain,
  contracts: Readonly<Partial<Record<AssetId, string>>>,
): Token[] {
  return ASSETS.filter((asset) => asset.chain === chain && asset.contract !== undefined).flatMap((asset) => {
    const contract = network === 'mainnet' ? asset.contract : contracts[asset.symbol];
    if (contract === undefined) return [];
    return [{ asset: asset.symbol, decimals: asset.decimals, contract: contract.toLowerCase() }];
  });
}
