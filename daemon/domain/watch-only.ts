/** Accounts whose private keys are in another wallet. */
import type { ChainId } from './assets.ts';

/**
 * Whether only the wallet that has the keys of a watch-only account moves its money: the chain has no PSBT, so nothing is planned here
 * and signed there.
 */
export const isMovedElsewhere = (chain: ChainId): boolean => chain !== 'BTC' && chain !== 'LTC';
