/** Accounts whose private keys are in another wallet. */
import type { ChainId } from './assets.ts';

/** Whether only the wallet with a watch-only account's keys moves its money, because the chain has no PSBT. */
export const isMovedElsewhere = (chain: ChainId): boolean => chain !== 'BTC' && chain !== 'LTC';
