/** The table of assets: name, decimals, chain and confirmations. A new one also needs a row in `chains/registry.ts`. */
import { assert } from './errors.ts';

export const NETWORKS = ['mainnet', 'testnet', 'regtest', 'sandbox'] as const;
export type Network = (typeof NETWORKS)[number];

/** A chain is named after its native coin, except that BNB lives on BSC. */
export const CHAINS = ['BTC', 'BCH', 'LTC', 'XMR', 'ETH', 'BSC'] as const;
export type ChainId = (typeof CHAINS)[number];

export type AssetId = 'BTC' | 'BCH' | 'LTC' | 'XMR' | 'ETH' | 'BNB' | 'USDT_ERC20' | 'USDT_BEP20' | 'XAUT' | 'PAXG';

/** In place of confirmations: a block that is final (`finality.ts`). More than every configurable number. */
export const FINALIZED = 1_000;

/** From a value of `fromUsd` whole dollars per transaction, this many confirmations are required, or `FINALIZED`. */
export type ConfirmationTier = { fromUsd: number; confirmations: number };

export type Asset = {
  /** The stable number of the cryptocurrency in the HTTP contract. */
  id: number;
  symbol: AssetId;
  name: string;
  chain: ChainId;
  /** Decimals of the smallest unit on mainnet. A token's are fixed here and checked on connecting. */
  decimals: number;
  /** Decimals that a quote shows; at most `decimals`. */
  quoteDecimals: number;
  /** The market whose price is used. */
  priceSymbol: string;
  /** The name of the network for payers. */
  networkName: string;
  /** Ascending by `fromUsd`, the first from 0. */
  confirmations: ConfirmationTier[];
  /** A token's contract on mainnet, with its checksum (EIP-55). */
  contract?: string;
};

const tiers = (...rows: [fromUsd: number, confirmations: number][]): ConfirmationTier[] =>
  rows.map(([fromUsd, confirmations]) => ({ fromUsd, confirmations }));

const row = (
  id: number,
  symbol: AssetId,
  name: string,
  chain: ChainId,
  [decimals, quoteDecimals]: [number, number],
  priceSymbol: string,
  networkName: string,
  confirmations: ConfirmationTier[],
  contract?: string,
): Asset => ({
  id,
  symbol,
  name,
  chain,
  decimals,
  quoteDecimals,
  priceSymbol,
  networkName,
  confirmations,
  ...(contract ? { contract } : {}),
});

const ETHEREUM = tiers([0, 12], [10_000, FINALIZED]);
const BSC = tiers([0, 15]);

/** As published by the issuers (Tether, Binance, Paxos) and the chains' token lists. */
const TOKEN = {
  USDT_ERC20: '0xdAC17F958D2ee523a2206206994597C13D831ec7',
  USDT_BEP20: '0x55d398326f99059fF775485246999027B3197955',
  XAUT: '0x68749665FF8D2d112Fa859AA293F07A622782F38',
  PAXG: '0x45804880De22913dAFE09f4980848ECE6EcbAf78',
};

export const ASSETS: readonly Asset[] = [
  row(1, 'BTC', 'Bitcoin', 'BTC', [8, 8], 'BTC', 'Bitcoin', tiers([0, 1], [1_000, 3], [10_000, 6])),
  row(2, 'BCH', 'Bitcoin Cash', 'BCH', [8, 8], 'BCH', 'Bitcoin Cash', tiers([0, 1], [1_000, 3], [10_000, 6])),
  row(3, 'LTC', 'Litecoin', 'LTC', [8, 8], 'LTC', 'Litecoin', tiers([0, 3], [1_000, 6], [10_000, 12])),
  row(4, 'XMR', 'Monero', 'XMR', [12, 12], 'XMR', 'Monero', tiers([0, 10])),
  row(5, 'ETH', 'Ethereum', 'ETH', [18, 8], 'ETH', 'Ethereum (ERC-20 network)', ETHEREUM),
  row(6, 'BNB', 'BNB', 'BSC', [18, 8], 'BNB', 'BNB Smart Chain (BEP-20 network)', BSC),
  row(
    7,
    'USDT_ERC20',
    'Tether USD (ERC20)',
    'ETH',
    [6, 6],
    'USDT',
    'Ethereum (ERC-20 network)',
    ETHEREUM,
    TOKEN.USDT_ERC20,
  ),
  row(
    8,
    'USDT_BEP20',
    'Tether USD (BEP20)',
    'BSC',
    [18, 6],
    'USDT',
    'BNB Smart Chain (BEP-20 network)',
    BSC,
    TOKEN.USDT_BEP20,
  ),
  row(9, 'XAUT', 'Tether Gold', 'ETH', [6, 6], 'XAUT', 'Ethereum (ERC-20 network)', ETHEREUM, TOKEN.XAUT),
  row(10, 'PAXG', 'PAX Gold', 'ETH', [18, 6], 'PAXG', 'Ethereum (ERC-20 network)', ETHEREUM, TOKEN.PAXG),
];

const bySymbol = new Map<string, Asset>(ASSETS.map((asset) => [asset.symbol, asset]));

/** The asset with this symbol (case-sensitive), or undefined. */
export function findAsset(symbol: string): Asset | undefined {
  return bySymbol.get(symbol);
}

/** The asset with an id. The id must exist: otherwise this is a bug, and it throws. */
export function assetOf(id: AssetId): Asset {
  const asset = bySymbol.get(id);
  assert(asset, `no asset ${id}`);
  return asset;
}

/** The native coin of a chain, which pays its fees. */
export function nativeAsset(chain: ChainId): Asset {
  const native = ASSETS.find((asset) => asset.chain === chain && asset.contract === undefined);
  assert(native, `${chain} has a coin`);
  return native;
}

/** Whether an asset is a token: its fees are paid in another coin, so that it needs gas. */
export const isToken = (symbol: AssetId): boolean => assetOf(symbol).contract !== undefined;

/** The symbols that the contract lists for a new invoice, without `ALL`. */
export const INVOICE_SYMBOLS = ['BTC', 'BCH', 'LTC', 'XMR', 'USDT_ERC20', 'USDT_BEP20'] as const;

/** The confirmations required for a transaction worth `usd` (1e-8 dollars); the maximum if the value is unknown. */
export function confirmationsFor(table: readonly ConfirmationTier[], usd: bigint | null): number {
  let needed = 0;
  for (const tier of table) {
    if (usd === null || usd >= BigInt(tier.fromUsd) * 100_000_000n) needed = Math.max(needed, tier.confirmations);
  }
  return needed;
}
