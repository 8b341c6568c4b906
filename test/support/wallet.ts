/** Wallets whose passphrase costs nothing to try, since the product's cost of 0.3 s would be most of many tests. */
import { createWallet, type NewWallet } from '../../daemon/wallet/wallet.ts';

export const CHEAP = { N: 2, r: 1, p: 1 };

/** Makes the wallet of a folder as `createWallet` does. */
export const cheapWallet = (folder: string, wallet: NewWallet): ReturnType<typeof createWallet> =>
  createWallet(folder, { ...wallet, cost: CHEAP });
