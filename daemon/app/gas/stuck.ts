/**
 * Replaces payments to ourselves that no block includes or that nodes refuse, because gas became more expensive or their tip is too low: with
 * the same nonce and higher fees. Later nonces of the address wait for them.
 */

import { assert, Rejected } from '../../domain/errors.ts';
import { maxOf } from '../../domain/money.ts';
import type { SpendPlan } from '../../domain/spend.ts';
import { seenOf } from '../../domain/spend-state.ts';
import { openSpends, type SpendRow, type VersionRow, versionsOf } from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import { addVersion } from '../spends/claim.ts';
import { isRefused, keyState, sharedKeys, versionFacts } from '../spends/facts.ts';
import { type Holder, prepare } from '../spends/plan.ts';
import type { StoredOwn } from '../spends/sign.ts';
import { readPlan } from '../spends/stored-plan.ts';
import type { Desk } from './finds.ts';

/** How long a payment may stay unconfirmed before it is replaced. */
const STUCK_MS = 3 * 60_000;
const STUCK_MS_LOCAL = 2_000;
/** The same while the price asks for no higher fee: then the tip is too low, or nodes forgot the payment. */
const LATE_MS = 15 * 60_000;
/** One that offers so many times the price of now waits for something else than its fee, unless its tip is low. */
const PRICES_MAX = 4n;

type Payer = Pick<Desk, 'business' | 'account' | 'chain'>;

/**
 * The payments to ourselves of one plan. `feeMaxOf`: the highest fee in place of one that was paid. `use`: counts how much more it is, in the
 * transaction that stores it.
 */
export type Budget = {
  spends: readonly SpendRow[];
  feeMaxOf(paid: bigint): bigint;
  use(tx: Tx, more: bigint): void;
};

/**
 * Replaces what is stuck, within what is left of its plan. One that cannot be replaced keeps the others from nothing. Throws `Rejected` then,
 * `Overtaken` and `Unavailable`.
 */
export async function replaceStuck(app: App, payer: Payer, budget: Budget, feeRate: bigint): Promise<void> {
  const { chain, business } = payer;
  const afterMs = business.network === 'regtest' ? STUCK_MS_LOCAL : STUCK_MS;
  let refusal: Rejected | null = null;
  for (const spend of budget.spends) {
    const versions = app.store.all(versionsOf, { spend_id: spend.id });
    const newest = versions.at(-1);
    // one of a time to come was made while the clock was ahead
    const age = Math.abs(app.now() - (newest?.created_at ?? 0));
    if (!newest?.txid || age < afterMs) continue;
    const known = versionFacts(app.store, chain, spend.id);
    // what nodes refuse is replaced once it is known to be in no block
    if (newest.sent_at === null && !isRefused(chain, known)) continue;
    const keys = sharedKeys(app.store, spend, known);
    const least = chain.spending.replacementRate(versions);
    const isLate = age >= LATE_MS && offersLittle(chain, newest, feeRate) && isNext(app.store, chain, newest);
    if (seenOf(known) || keys === null || (feeRate < least && !isLate)) continue;
    try {
      await replaceOne(app, payer, { spend, versions, newest, keys, feeRate: maxOf(feeRate, least), budget });
    } catch (error) {
      if (!(error instanceof Rejected)) throw error;
      refusal ??= error;
    }
  }
  if (refusal) throw refusal;
}

/** The offered price, smallest units per 1,000 units of size. */
const rateOf = ({ fee, size }: VersionRow): bigint => (fee * 1_000n) / BigInt(Math.max(1, size));

/** Whether more may be what a version lacks: a higher price, or a higher tip, of which the price of now says nothing. */
const offersLittle = ({ spending }: Payer['chain'], version: VersionRow, feeRate: bigint): boolean =>
  rateOf(version) < PRICES_MAX * feeRate || spending.hasLowTip?.(readPlan(version.plan)) === true;

/** Whether blocks have all lower nonces of its address. No fee brings it before one of them. */
const isNext = (reader: Reader, chain: Payer['chain'], { plan }: VersionRow): boolean =>
  (chain.spending.keysBefore?.(readPlan(plan)) ?? []).every((key) => keyState(reader, chain, key)?.usedBy !== null);

/** The open payments to ourselves of an account: collections and fundings, also those of forwarding plans. */
export function ownSpends(reader: Reader, { chain, account }: Pick<Desk, 'chain' | 'account'>): SpendRow[] {
  return reader
    .all(openSpends, { chain_key: chain.key })
    .filter(({ subject, purpose, account_id }) => subject !== null && purpose !== 'bump' && account_id === account.id);
}

type Stuck = {
  spend: SpendRow;
  versions: readonly VersionRow[];
  newest: VersionRow;
  keys: string[];
  feeRate: bigint;
  budget: Budget;
};

async function replaceOne(app: App, { business, account, chain }: Payer, stuck: Stuck): Promise<void> {
  const { spend, versions, newest, keys, feeRate, budget } = stuck;
  const holder: Holder = { business, account, chain, asset: spend.asset };
  const paid = versions.map(({ fee }) => fee).reduce(maxOf);
  const planned = await prepare(app, holder, {
    payouts: payoutsOf(spend, readPlan(newest.plan)),
    conflictKeys: keys,
    replaced: versions.map((version) => readPlan(version.plan)),
    feeMin: paid,
    feeRate,
    feeMax: budget.feeMaxOf(paid),
  });
  const { fee } = planned.plan;
  assert(newest.approval !== null, 'a payment to ourselves was approved');
  const { intent, approval } = JSON.parse(newest.approval) as StoredOwn;
  const approved: StoredOwn = { intent: { ...intent, feeMax: fee.toString() }, approval };
  await app.store.write((tx) => {
    budget.use(tx, fee - paid);
    addVersion(app, tx, holder, {
      spendId: spend.id,
      kind: 'pay',
      approval: JSON.stringify(approved),
      planned,
      pays: [],
    });
    tx.afterCommit(() => app.wake.withdrawals(chain.key));
  });
}

/** A collection takes the present balance; a funding sends the same amount again. */
function payoutsOf({ purpose }: SpendRow, plan: SpendPlan) {
  return plan.outputs.flatMap((output) => {
    if (output.kind !== 'change') return [];
    const { address, branch = 1, index } = output;
    return [{ address, units: purpose === 'collect' ? null : output.units, own: { branch, index } }];
  });
}
