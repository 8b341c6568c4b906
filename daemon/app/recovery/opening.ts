/**
 * The opening balances of a restored account. The past of an account chain shows tokens by their events, and coins by balances alone: no
 * list has the gas and the payments of before. So the books can have more than the chain, and what two operators say is there becomes
 * an entry of its own.
 */

import { addressesHolding } from '../../store/queries/address-balances.ts';
import { accountById } from '../../store/queries/businesses.ts';
import type { App } from '../app.ts';
import { adopt, deepBlock, differencesAt, TARGETS_MAX } from '../books/adopt.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { checkpointOf } from '../chains/checkpoint.ts';
import type { Account } from '../shops/directory.ts';

/**
 * Takes out, at the addresses of an account whose past was read for the first time, everything that the chain does not have. Money beyond
 * the books is found as every payment. Repeating it changes nothing. Throws `Unavailable`.
 */
export async function openBalances(app: App, chain: ChainRuntime, { id }: Account, signal: AbortSignal): Promise<void> {
  const { witnesses, assets = [] } = chain.adapter;
  const row = app.store.get(accountById, { id });
  if (!witnesses || !row || row.gap === null || row.past_until !== null) return;
  // a service that has just begun has no deep block yet
  const block = deepBlock(app, chain) ?? checkpointOf(app.store, chain)?.[0] ?? null;
  for (const asset of assets) {
    // the largest ones; the proof of the books offers the others
    const ids = app.store.all(addressesHolding, { account_id: id, asset, limit: TARGETS_MAX }).map((one) => one.id);
    const found = await differencesAt(app, chain, ids, signal, block);
    const over = found.filter(({ booked, held }) => booked > held).map(({ target }) => target.id);
    await adopt(app, chain, [...new Set(over)], signal, block);
  }
}
