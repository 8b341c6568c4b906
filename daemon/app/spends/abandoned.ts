/**
 * Payments that were handed out to the wallet that has the keys, and that were given up because nobody signed them there.
 *
 * Invariants. A signed copy of one may exist all the same. So each later payment of the account spends a coin of every version of it, and
 * at most one of the two confirms. While no such coin is free, none is planned, until a block excludes the copy.
 */
import { Rejected } from '../../domain/errors.ts';
import type { SpendPlan } from '../../domain/spend.ts';
import { heldWithdrawals } from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { isUsable, paymentFacts, type SignedVersion, unsettledSpends } from './facts.ts';
import { readPlan } from './stored-plan.ts';

/** `only`: the coins that the payment may spend alone; left out: it has none of its own. `spendId`: whose coins it may take; null: a new one. */
type Payer = { accountId: number; spendId: number | null; only?: readonly string[] };

/** The versions of payments of an account that were given up, that may still confirm, and that a payment with these keys does not exclude. */
export function notExcluded(
  reader: Reader,
  chain: ChainRuntime,
  accountId: number,
  keys: readonly string[],
): SignedVersion[] {
  return abandonedVersions(reader, chain, accountId).filter(
    (version) => version.dead === 0 && !version.keys.some((key) => keys.includes(key)),
  );
}

/** Whether a plan is the very transaction of a payment that was given up: the chain could not show which of the two it has. */
export function isGivenUp(reader: Reader, chain: ChainRuntime, accountId: number, plan: SpendPlan): boolean {
  const { raw } = chain.spending.describe(plan);
  return abandonedVersions(reader, chain, accountId).some(
    ({ version }) => chain.spending.describe(readPlan(version.plan)).raw === raw,
  );
}

const abandonedVersions = (reader: Reader, chain: ChainRuntime, accountId: number): SignedVersion[] =>
  unsettledSpends(reader, chain)
    .filter(({ account_id }) => account_id === accountId)
    .map((spend) => paymentFacts(reader, chain, spend))
    .flatMap(({ facts, signed }) => (facts.isAbandoned ? signed : []));

/**
 * The conflict keys that a payment needs besides `keys`, so that none of those that were given up confirms beside it. Throws
 * `Rejected('spend.abandoned')` while one of them has no free coin.
 */
export function excluding(reader: Reader, chain: ChainRuntime, payer: Payer, keys: readonly string[]): string[] {
  const more: string[] = [];
  const left = notExcluded(reader, chain, payer.accountId, keys);
  const { only = [] } = payer;
  const promised = left.length === 0 ? [] : reader.all(heldWithdrawals, { account_id: payer.accountId });
  const isFree = (key: string): boolean =>
    isUsable(reader, chain, key, payer.spendId ?? 0) &&
    (only.includes(key) || !promised.some(({ outpoint }) => outpoint === key));
  for (const version of left) {
    if (version.keys.some((key) => more.includes(key))) continue;
    const free = version.keys.filter(isFree);
    const found = free.find((key) => only.includes(key)) ?? free[0];
    if (found === undefined) {
      const text =
        'A payment that was given up unsigned may still be signed, and another payment is spending its coins: this one waits until that one is confirmed';
      throw new Rejected('spend.abandoned', text);
    }
    more.push(found);
  }
  return more;
}
