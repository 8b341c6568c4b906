/**
 * Addresses derived in advance. A payment takes the next one inside its transaction. Each is watched since its
 * derivation, before it can be given out.
 */
import type { Branch, DerivedAddress } from '../../domain/chain.ts';
import { assert, Unavailable } from '../../domain/errors.ts';
import { accountById, poolAbove, poolSize, setNextIndex } from '../../store/queries/businesses.ts';
import {
  assignTarget,
  insertTarget,
  nextFreeTarget,
  nextUntouchedTarget,
  type TargetRow,
} from '../../store/queries/credits.ts';
import { insertGiven, insertLately, setReadyFrom } from '../../store/queries/given.ts';
import type { Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { Account } from '../shops/directory.ts';
import { deriveRange } from './derive.ts';
import { isGivenOutByKin, isTaken, kinTarget, retireKin } from './kin.ts';
import { NOBODY } from './skipped.ts';

const POOL_TRIES_MAX = 5;
/** Addresses per write. A commit waits for the disk, so a write for a few addresses would cost more than deriving them. */
const STORED_AT_ONCE = 100;
/** How many addresses are derived at once for payments that find the pool empty. */
const DERIVED_URGENTLY = 40;
const POOL_RETRY_SECONDS = 5;
/** Another program with the same words gives out as many addresses after the last paid one (BIP-44). */
const READY_MIN = 20;

type FreeTarget = Pick<TargetRow, 'id' | 'idx' | 'address' | 'chain_key' | 'script'>;

/** Thrown inside a transaction if no address is ready. `withAddress` then derives more and tries again. */
class PoolEmpty extends Error {
  readonly account: Account;
  constructor(account: Account) {
    super('no address is ready');
    this.name = 'PoolEmpty';
    this.account = account;
  }
}

/** The running derivation for callers that found an account's pool empty; they share it. */
type Urgent = { waiting: number; done: Promise<void> };
const urgent = new WeakMap<App, Map<number, Urgent>>();

/** Derives an address for each waiting caller. The first one derives, the others wait for it. */
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

/** Takes the next address. Throws `PoolEmpty` if there is none, and for newcomers while others wait for addresses. */
export function takeAddress(app: App, account: Account, invoiceId: number, waited: boolean, tx: Tx): FreeTarget {
  if (!waited && urgent.get(app)?.has(account.id)) throw new PoolEmpty(account);
  let next = nextReady(tx, account);
  // after a restore, the other chain may have addresses that were given out before
  while (next && isGivenOutByKin(tx, next.target)) {
    tx.run(assignTarget, { id: next.target.id, invoice_id: NOBODY });
    next = nextReady(tx, account);
  }
  if (!next) throw new PoolEmpty(account);
  const { target, isInTurn } = next;
  tx.run(insertGiven, { target_id: target.id, invoice_id: invoiceId });
  if (isInTurn) {
    tx.run(insertLately, { target_id: target.id, invoice_id: invoiceId });
    tx.run(setReadyFrom, { account_id: account.id, idx: target.idx + 1 });
  } else tx.run(assignTarget, { id: target.id, invoice_id: invoiceId });
  const kin = retireKin(tx, target, isInTurn);
  tx.afterCommit(() => {
    app.wake.pool(account.id);
    if (kin !== null) app.wake.pool(kin);
  });
  return target;
}

/**
 * An unconfirmed payment of a stranger does not retire an address, or strangers could use them all up; untouched ones come first.
 * `isInTurn`: none before it is ready, so its own row need not say at once that it was given out.
 */
function nextReady(tx: Tx, { id: account_id }: Account): { target: FreeTarget; isInTurn: boolean } | undefined {
  const first = tx.get(nextFreeTarget, { account_id });
  const untouched = first?.touched ? tx.get(nextUntouchedTarget, { account_id }) : undefined;
  const target = untouched ?? first;
  return target && { target, isInTurn: target === first };
}

/**
 * Runs a write that may take an address; if there was none, derives some and runs it again, with the information that
 * it waited. Throws `Unavailable` if others were faster every time.
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
 * Derives the next `count` free receiving addresses of an account, a few milliseconds at a time. `paced`: pauses as long as
 * it works, so that requests come first. Callers may overlap: an address is stored by the one that comes first. Returns the
 * number of free ones that were added, and 0 for a chain that is not there.
 */
export async function derive(app: App, account: Account, count: number, paced = false): Promise<number> {
  const chain = app.chains.find(account.chainKey);
  if (!chain) return 0;
  let added = 0;
  while (added < count) {
    const from = nextIndex(app, account);
    const range = { branch: 0, from, count: Math.min(count - added, STORED_AT_ONCE), paced } as const;
    added += await store(app, account, range.branch, from, await deriveRange(app, chain.adapter, account.key, range));
  }
  return added;
}

function nextIndex(app: App, account: Account): number {
  const row = app.store.get(accountById, { id: account.id });
  assert(row, `account ${account.id} exists`);
  return row.next_index;
}

/** Stores the derived addresses that no other caller has stored meanwhile. Returns how many of them are free. */
function store(app: App, account: Account, branch: Branch, from: number, targets: DerivedAddress[]): Promise<number> {
  return app.store.write((tx) => {
    const next = tx.get(accountById, { id: account.id })?.next_index ?? from;
    const left = targets.slice(Math.max(0, next - from));
    if (next < from || left.length === 0) return 0;
    let free = 0;
    left.forEach(({ script, address }, i) => {
      const isGivenOut = isTaken(kinTarget(tx, { chain_key: account.chainKey, script }));
      if (!isGivenOut) free++;
      tx.run(insertTarget, {
        account_id: account.id,
        chain_key: account.chainKey,
        branch,
        idx: next + i,
        script,
        address,
        invoice_id: isGivenOut ? NOBODY : null,
      });
    });
    tx.run(setNextIndex, { id: account.id, next_index: next + left.length });
    return free;
  });
}

/** The number of ready addresses of an account. */
export function ready(app: App, account: Account): number {
  return app.store.get(poolSize, { account_id: account.id })?.ready ?? 0;
}

/** Whether an account has fewer than half of `size` addresses ready, or fewer than READY_MIN. */
export function isLow(app: App, account: Account, size: number): boolean {
  const above = Math.max(Math.floor(size / 2), Math.min(size, READY_MIN) - 1);
  return app.store.get(poolAbove, { account_id: account.id, above }) === undefined;
}

/** Fills an account's pool up to `size` in the background, until `isOver` returns true. */
export async function fillPool(app: App, account: Account, size: number, stopped: () => boolean): Promise<void> {
  for (let missing = size - ready(app, account); missing > 0 && !stopped(); missing -= STORED_AT_ONCE) {
    await derive(app, account, Math.min(missing, STORED_AT_ONCE), true);
  }
}
