/**
 * Finality: on Ethereum and BNB Smart Chain a block is final once two thirds of the stake have voted for it; no
 * reorganisation removes it after that (Casper FFG; BEP-126). Endpoints name the newest such block "finalized".
 */
import { type Asset, assetOf, type ChainId, FINALIZED } from './assets.ts';
import { type EvmChain, isEvm } from './evm.ts';

/**
 * Confirmations in place of finality if the source does not report it. Ethereum makes a block final after two to three
 * epochs of 32 blocks. On BSC it takes two blocks. Without votes 15 of its 21 validators must have built on a block, and each makes 16
 * in a row (BEP-524).
 */
const BLOCKS_INSTEAD = { ETH: 96, BSC: 240 } as const;

/** Confirmations after which a block is final as a rule, and the source has said so. */
const USUAL_DEPTH = { ETH: 96, BSC: 15 } as const;

/**
 * A newest final block that is further below the tip is a fault of the chain or of an endpoint: six epochs on Ethereum,
 * which needs three; a hundred times as many as BSC needs.
 */
const STALLED_BLOCKS = { ETH: 192, BSC: 200 } as const;

/** Whether a chain makes no blocks final. `finalized`: the height of the newest final one; null where the source tells none. */
export function isStalled(
  chain: ChainId,
  { height, finalized }: { height: number; finalized: number | null },
): boolean {
  return isEvm(chain) && finalized !== null && height - finalized > STALLED_BLOCKS[chain];
}

type Depth = {
  required: number;
  /** Its confirmations; 0 without a block. */
  depth: number;
  /** Its block; null without. */
  height: number | null;
  /** The height of the newest final block; null when the source does not tell. */
  finalized: number | null;
  asset: Asset['symbol'];
};

/** Consensus of Monero: the depth from which an output can be spent (CRYPTONOTE_DEFAULT_TX_SPENDABLE_AGE). */
export const MONERO_LOCK_BLOCKS = 10;

/**
 * Whether a deposit may count at a depth. A coinbase and a peg-out wait until they can be spent. Every output of Monero waits for that,
 * and counts with the confirmations that the operator asks for.
 */
export const isMature = ({ asset, maturity }: { asset: Asset['symbol']; maturity: number }, depth: number): boolean =>
  depth >= maturity || (assetOf(asset).chain === 'XMR' && maturity <= MONERO_LOCK_BLOCKS);

/** Whether a deposit has its confirmations, or is in a final block where that is asked for. */
export function isDeep({ required, depth, height, finalized, asset }: Depth): boolean {
  if (required !== FINALIZED) return depth >= required;
  if (finalized !== null) return height !== null && height <= finalized;
  return depth >= blocksOf(asset, BLOCKS_INSTEAD);
}

type ShownDeposit = { required: number; confirmed: boolean; asset: string; maturity?: number };

/**
 * The number of confirmations to show as required: as many as it takes until the deposit counts, which of a coinbase and a peg-out may be
 * more. Where finality is required, the exact number is unknown: it is the usual number, a higher one if that has passed, and the actual
 * number once the deposit is confirmed.
 */
export function shownRequired({ required, confirmed, asset, maturity = 0 }: ShownDeposit, depth: number): number {
  if (required !== FINALIZED) {
    const isEnough = isMature({ asset: asset as Asset['symbol'], maturity }, required);
    return isEnough ? required : maturity;
  }
  return confirmed ? depth : Math.max(blocksOf(asset, USUAL_DEPTH), depth + 1);
}

function blocksOf(asset: string, blocks: Readonly<Record<EvmChain, number>>): number {
  const { chain } = assetOf(asset as Asset['symbol']);
  return isEvm(chain) ? blocks[chain] : FINALIZED;
}
