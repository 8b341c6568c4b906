/**
 * What the books keep of the time at which coins of ours were spent: when that was, and what they were worth then. It is
 * written once, when the first block holds the spend, and never valued again.
 */
import type { AssetId } from '../../domain/assets.ts';
import type { SpendSeen } from '../../domain/chain.ts';
import { creditByOutpoint, creditsInBlock } from '../../store/queries/credits.ts';
import { bookedSpend, bookSpend } from '../../store/queries/ledger.ts';
import type { Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';

/** Books spends that are in a block. Called after the credits of the same update were written. */
export function bookSpends(app: App, chain: ChainRuntime, tx: Tx, spends: readonly SpendSeen[]): void {
  const chain_key = chain.key;
  const done = new Set<string>();
  for (const { outpoint, txid, block, blockTime } of spends) {
    if (block === null || done.has(txid)) continue;
    done.add(txid);
    if (tx.get(bookedSpend, { txid, chain_key })) continue;
    const coin = tx.get(creditByOutpoint, { outpoint, chain_key });
    if (!coin) continue;
    const known = blockTime ?? tx.get(creditsInBlock, { block_hash: block.hash, after: 0, limit: 1 })?.block_time;
    // the clock of a miner may be ahead of ours
    const at = Math.min(known ?? app.now(), app.now());
    const rate = app.rates.rateAt(chain.adapter.network, coin.asset as AssetId, 'USD', at);
    tx.run(bookSpend, { txid, chain_key, at, usd_rate: rate?.scaled ?? null });
  }
}
