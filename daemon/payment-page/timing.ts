/** How long confirmations usually take. */
import type { ChainId, Network } from '../domain/assets.ts';

/**
 * The average time between two blocks: what each chain's rules aim at. BTC and BCH ten minutes, LTC two and a half, XMR
 * two, Ethereum's slots twelve seconds; BSC is below one since 2025 and rounded up.
 */
const BLOCK_SECONDS: Readonly<Record<ChainId, number>> = { BTC: 600, BCH: 600, LTC: 150, XMR: 120, ETH: 12, BSC: 1 };

/** The time for so many more blocks; null where blocks come when somebody makes them. */
export function expectedSeconds(
  network: Network,
  chain: ChainId,
  blocks: number,
  sandboxBlockSeconds: number,
): number | null {
  if (network === 'regtest') return null;
  if (network !== 'sandbox') return blocks * BLOCK_SECONDS[chain];
  return sandboxBlockSeconds === 0 ? null : blocks * sandboxBlockSeconds;
}
