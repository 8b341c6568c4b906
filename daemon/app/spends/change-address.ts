/**
 * Our addresses for change: a new one for each transaction, or always the same one of the account, as its family
 * requires.
 */
import { assert } from '../../domain/errors.ts';
import type { ChangeAddress } from '../../domain/spend.ts';
import { accountById } from '../../store/queries/businesses.ts';
import { anyCreditOfTarget, insertTarget } from '../../store/queries/credits.ts';
import { takeChangeIndex } from '../../store/queries/withdrawals.ts';
import type { Tx } from '../../store/store.ts';
import { ownTarget } from '../addresses/watch.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import type { Holder } from './plan.ts';

/**
 * By chain and account: the indices of plans that were dropped unsigned, so that nothing pays there. They are taken first, because the
 * signer gives change no further than a search by the words looks. After a restart they stay unused.
 */
const returned = new WeakMap<ChainRuntime, Map<number, Set<number>>>();

/** Gives an index back that was taken for a plan that nobody signed. */
export function returnChange(chain: ChainRuntime, accountId: number, index: number): void {
  if (chain.spending.changeAddress === 'fixed') return;
  const accounts = returned.get(chain) ?? new Map<number, Set<number>>();
  returned.set(chain, accounts.set(accountId, (accounts.get(accountId) ?? new Set()).add(index)));
}

/** The next change address, which `takeChange` has to take. */
export async function nextChange(app: App, { account, chain }: Holder): Promise<ChangeAddress> {
  const row = app.store.get(accountById, { id: account.id });
  assert(row, `account ${account.id} exists`);
  const at = async (index: number): Promise<ChangeAddress> => ({
    ...(await chain.adapter.deriveAddress(account.key, 1, index)),
    index,
  });
  if (chain.spending.changeAddress === 'fixed') return at(row.tank);
  const free = returned.get(chain)?.get(account.id) ?? new Set();
  for (const index of free) {
    const change = await at(index);
    const target = ownTarget(app.store, chain.key, change);
    if (target && !app.store.get(anyCreditOfTarget, { target_id: target.id })) return change;
    // another wallet with these keys has used it
    free.delete(index);
  }
  return at(row.next_change);
}

/** The tank of an account on an account chain, which is watched from now on. */
export async function tankOf(app: App, holder: Holder): Promise<ChangeAddress> {
  assert(holder.chain.spending.changeAddress === 'fixed', 'only a fixed change address is a tank');
  const tank = await nextChange(app, holder);
  await app.store.write((tx) => takeChange(tx, holder, tank));
  return tank;
}

/** Watches a change address. False if the next one is another by now. */
export function takeChange(tx: Tx, { chain, account }: Holder, { index, ...target }: ChangeAddress): boolean {
  const free = returned.get(chain)?.get(account.id);
  if (free?.has(index)) {
    tx.afterCommit(() => free.delete(index));
    return true;
  }
  const taken = tx.run(takeChangeIndex, { id: account.id, next_change: index });
  if (taken.changes !== 1) return chain.spending.changeAddress === 'fixed';
  const watched = { account_id: account.id, chain_key: chain.key, branch: 1, idx: index, invoice_id: null };
  tx.run(insertTarget, { ...target, ...watched });
  return true;
}
