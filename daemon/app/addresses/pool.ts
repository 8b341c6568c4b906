/**
 * Addresses derived ahead: a payment takes the next one inside its transaction, and each has been watched since it was
 * derived, before anybody could be given it.
 */

import type { Branch, DerivedAddress } from '../../domain/chain.ts';
import { assert, Unavailable } from '../../domain/errors.ts';
import { accountById, poolAbove, poolSize, setNextIndex } from '../../store/queries/businesses.ts';
import { assignTarget, insertTarget, nextFreeTarget, nextUntouchedTarget } from '../../store/queries/credits.ts';
import type { Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { Account } from '../shops/directory.ts';

const POOL_TRIES_MAX = 5;
/** Derived between two turns of the event loop, so that requests are answered in between. */
const SLICE_MS_MAX = 3;
const FILLED_PER_STEP = 100;
/** What a payment that finds the pool empty waits for. */
const DERIVED_URGENTLY = 40;
const POOL_RETRY_SECONDS = 5;

export type FreeTarget = { id: number; address: string };

/** Thrown inside a transaction when no address is ready: `withAddress` derives more and tries again. */
export class PoolEmpty extends Error {
  readonly account: Account;
  constructor(account: Account) {
    super('no address is ready');
    this.name = 'PoolEmpty';
    this.account = account;
  }
}

/** The derivation under way for those who found an account's pool empty: one for all of them. */
type Urgent = { waiting: number; done: Promise<void> };
const urgent = new WeakMap<App, Map<number, Urgent>>();

/** Derives an address for each that waits: the first to come derives, the others wait with it. */
function deriveUrgently(app: App, account: Account): Promise<void> {
  const byAccount = urgent.get(app) ?? new Map<number, Urgent>();
  urgent.set(app, byAccount);
  const shared = byAccount.get(account.id);
  if (shared) {
    shared.waiting++;
    return shared.done;
  }
  const mine: Urgent = { waiting: 1, done: Promise.resolve() };
  byAccount.set(account.id, mine);
  mine.done = (async () => {
    for (let added = 0; added < mine.waiting; ) {
      const more = await derive(app, account, Math.max(mine.waiting - added, DERIVED_URGENTLY));
      if (more === 0) return;
      added += more;
    }
  })().finally(() => byAccount.delete(account.id));
  return mine.done;
}

/**
 * Takes the next address of an account for an invoice. Throws `PoolEmpty` when there is none, and to newcomers while
 * others wait: what is derived then is for those.
 */
export function takeAddress(app: App, account: Account, invoiceId: number, waited: boolean, tx: Tx): FreeTarget {
  if (!waited && urgent.get(app)?.has(account.id)) throw new PoolEmpty(account);
  const key = { account_id: account.id };
  // what a stranger sent unconfirmed retires no address, or it could use them all up; one without is given out first
  const target = tx.get(nextUntouchedTarget, key) ?? tx.get(nextFreeTarget, key);
  if (!target) throw new PoolEmpty(account);
  tx.run(assignTarget, { id: target.id, invoice_id: invoiceId });
  tx.afterCommit(app.wake.pool);
  return target;
}

/**
 * A write that may take an address: run again after deriving some when there was none, and told then that it waited.
 * Throws `Unavailable` when others were faster every time.
 */
export async function withAddress<T>(app: App, work: (tx: Tx, waited: boolean) => T): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await app.store.write((tx) => work(tx, attempt > 1));
    } catch (error) {
      if (!(error instanceof PoolEmpty)) throw error;
      if (attempt >= POOL_TRIES_MAX) throw new Unavailable('Too many payments are being requested', POOL_RETRY_SECONDS);
      await deriveUrgently(app, error.account);
    }
  }
}

/**
 * Derives the next `count` receiving addresses of an account, a few milliseconds at a time. `paced`: rests as long as it
 * works, so that requests go first. Several callers may overlap: the index moves by compare-and-set, and who comes second
 * begins anew from where it is. Returns how many were added.
 */
export async function derive(app: App, account: Account, count: number, paced = false): Promise<number> {
  const chain = app.chains.find(account.chainKey);
  if (!chain) return 0;
  let added = 0;
  while (added < count) {
    const from = nextIndex(app, account);
    const began = performance.now();
    const targets: DerivedAddress[] = [];
    while (added + targets.length < count && performance.now() - began < SLICE_MS_MAX) {
      targets.push(await chain.adapter.deriveAddress(account.key, 0, from + targets.length));
    }
    const tookMs = performance.now() - began;
    added += await store(app, account, 0, from, targets);
    if (paced) await new Promise((resolve) => setTimeout(resolve, tookMs));
  }
  return added;
}

function nextIndex(app: App, account: Account): number {
  const row = app.store.get(accountById, { id: account.id });
  assert(row, `account ${account.id} exists`);
  return row.next_index;
}

function store(app: App, account: Account, branch: Branch, from: number, targets: DerivedAddress[]): Promise<number> {
  return app.store.write((tx) => {
    if (tx.get(accountById, { id: account.id })?.next_index !== from) return 0;
    targets.forEach(({ script, address }, i) => {
      tx.run(insertTarget, {
        account_id: account.id,
        chain_key: account.chainKey,
        branch,
        idx: from + i,
        script,
        address,
        invoice_id: null,
      });
    });
    tx.run(setNextIndex, { id: account.id, next_index: from + targets.length });
    return targets.length;
  });
}

/** How many addresses an account has ready. */
export function ready(app: App, account: Account): number {
  return app.store.get(poolSize, { account_id: account.id })?.ready ?? 0;
}

/** Whether an account has so few addresses ready that it is time to derive more: less than half of `size`. */
export function isLow(app: App, account: Account, size: number): boolean {
  return app.store.get(poolAbove, { account_id: account.id, above: Math.floor(size / 2) }) === undefined;
}

/** Fills an account's pool up to `size` in the background, until told to stop. */
export async function fillPool(app: App, account: Account, size: number, stopped: () => boolean): Promise<void> {
  for (let missing = size - ready(app, account); missing > 0 && !stopped(); missing -= FILLED_PER_STEP) {
    await derive(app, account, Math.min(missing, FILLED_PER_STEP), true);
  }
}
