/** Transactions that spend coins of a payment that was handed out to another wallet, and that were read and are not that payment. */
import { isWatchOnly } from '../../domain/chain.ts';
import type { SpendRow } from '../../store/queries/withdrawals.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';

/** By chain. After a restart they are read again. */
const foreign = new WeakMap<ChainRuntime, Set<string>>();

export const isForeign = (chain: ChainRuntime, txid: string): boolean => foreign.get(chain)?.has(txid) === true;

export function noteForeign(chain: ChainRuntime, txid: string): void {
  foreign.set(chain, (foreign.get(chain) ?? new Set()).add(txid));
}

/** Whether one of these transactions may be a copy of a payment that another wallet signs, and was not read yet. */
export function mayBeCopy(app: App, chain: ChainRuntime, spend: SpendRow, txids: readonly string[]): boolean {
  return txids.some((txid) => !isForeign(chain, txid)) && isWatchOnly(app.directory.accountOf(spend.account_id).key);
}
