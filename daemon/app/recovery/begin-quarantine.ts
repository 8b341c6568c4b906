/**
 * Begins a quarantine: marks a database whose data may be older than what really happened, after a restore or because
 * the chain, the signer's journal or a backup knows more (`older.ts`).
 */
import { tipOf } from '../../chains/adapter.ts';
import { isUtxo } from '../../chains/derive.ts';
import type { ChainId, Network } from '../../domain/assets.ts';
import { type Checkpoint, isWatchOnly } from '../../domain/chain.ts';
import { EARLIER_RESTORES_MAX, INDICES_JUMPED, JUMPS_SEARCHED } from '../../domain/indices.ts';
import { type Message, message } from '../../domain/messages.ts';
import { rescanAgainFrom } from '../../store/queries/businesses.ts';
import { newestCredit } from '../../store/queries/operator.ts';
import { forgetReceipts } from '../../store/queries/receipts.ts';
import {
  accountsToJump,
  automaticPolicies,
  beginWithdrawals,
  chainStates,
  doubtUnsigned,
  jumpWithdrawals,
  keepPaying,
  lastDebit,
  lastKey,
  lastWithdrawal,
  leaveSpend,
  readyIndices,
  skipWebhooks,
  suspendPolicy,
  unsignedPlans,
} from '../../store/queries/restore.ts';
import { skippedOf } from '../../store/queries/skipped.ts';
import { dropKeys, dropPayouts, dropSpend, dropVersion, versionsOf } from '../../store/queries/withdrawals.ts';
import type { Tx } from '../../store/store.ts';
import { skip } from '../addresses/skipped.ts';
import { insertIn } from '../alerts.ts';
import { reviewAll } from '../books/review-place.ts';
import { endPlan } from '../gas/plans.ts';
import { beginViews } from './first-view.ts';
import { type QuarantineRecord, quarantineOf, saveQuarantine, unendedSearch } from './quarantine.ts';
import { beginUnknownSpends } from './unknown-spends.ts';

/** Account chains, and chains with one change address, need change addresses only on the sandbox. */
const CHANGE_JUMPED_ELSEWHERE = 100;
/** The backup holds the simulated chains themselves: nothing was paid on them after it. */
const JUMPED_IN_SANDBOX = 100;

/** Shown to the operator at a withdrawal that was unsigned in the backup. */
export const MAY_BE_PAID = message('wait.may_be_paid');

/**
 * `made_at`: when the restored backup was made; null if no restore was announced. `heights`, `lastDebit`: where spends that the
 * books do not know begin, if that is below what is stored. `readFrom`: of the chains whose blocks were read before the skipped
 * addresses were watched, from where.
 */
export type Beginning = {
  made_at: string | null;
  why?: Message;
  heights?: Readonly<Record<string, number>>;
  lastDebit?: number;
  readFrom?: Readonly<Record<string, Checkpoint>>;
};

/**
 * Marks a database: its numbers jump ahead, and unsigned withdrawals are not sent automatically. A backup may be made in a quarantine:
 * then the search of that one goes on.
 */
export function beginQuarantine(tx: Tx, beginning: Beginning, now: number, jump: number): void {
  const { made_at, why, readFrom } = beginning;
  const chains = tx.all(chainStates, {});
  const before = quarantineOf(tx);
  const unended = unendedSearch(tx);
  const heights = chains.map(({ chain_key, checkpoint }): [string, number] => {
    const { height } = tipOf(checkpoint);
    return [chain_key, Math.min(height, ...[beginning, unended].map((one) => one?.heights?.[chain_key] ?? height))];
  });
  const stored = { credit: tx.get(newestCredit, {})?.id ?? 0, debit: tx.get(lastDebit, {})?.id ?? 0 };
  const places = chains.map(({ chain_key, checkpoint }) => [chain_key, checkpoint] as const);
  const rereads = [...new Set([...Object.keys(readFrom ?? {}), ...(before?.read_again ?? [])])];
  const record: QuarantineRecord = {
    since: now,
    backup_made_at: made_at,
    last_withdrawal: tx.get(lastWithdrawal, {})?.id ?? 0,
    last_key: tx.get(lastKey, {})?.id ?? 0,
    heights: Object.fromEntries(heights),
    last_debit: Math.min(beginning.lastDebit ?? stored.debit, unended ? (unended.last_debit ?? 0) : stored.debit),
    stored: {
      credit: Math.min(stored.credit, unended?.stored?.credit ?? stored.credit),
      debit: Math.min(stored.debit, unended?.stored?.debit ?? stored.debit),
    },
    policies: [...new Set([...(before?.policies ?? []), ...suspendPolicies(tx)])],
    ...(why && { why }),
    ...(rereads.length > 0 && { read_again: rereads }),
    read_from: { ...Object.fromEntries(places), ...readFrom, ...before?.read_from },
    ...(before?.asked && { asked: before.asked }),
    ...(unended?.behind && { behind: unended.behind }),
  };
  saveQuarantine(tx, record, now);
  tx.run(skipWebhooks, {});
  beginViews(tx, now);
  tx.run(forgetReceipts, { before: Number.MAX_SAFE_INTEGER });
  // what a backup has, an earlier version may have stored by the word of one operator
  for (const { chain_key } of tx.all(chainStates, {})) reviewAll(tx, chain_key);
  dropUnsigned(tx);
  tx.run(doubtUnsigned, { problem: MAY_BE_PAID, now });
  jumpAhead(tx, now, jump);
}

/** Skips what may have been given out since. */
function jumpAhead(tx: Tx, now: number, jump: number): void {
  for (const { id, chain_key, key, next_index, next_change } of tx.all(accountsToJump, {})) {
    const [network, chain] = chain_key.split(':') as [Network, ChainId];
    const far = network === 'sandbox' ? Math.min(jump, JUMPED_IN_SANDBOX) : jump;
    const change = isUtxo(chain) ? far : Math.min(far, CHANGE_JUMPED_ELSEWHERE);
    // also takes back ready addresses, which may have been given out since
    const next = nextReceiving(tx, id, next_index);
    skip(tx, id, 0, [{ from: next, to: next + far }]);
    // the other wallet of a watch-only account gets its change by itself
    if (!isWatchOnly(key)) skip(tx, id, 1, [{ from: next_change, to: next_change + change }]);
    // the signer has no key of a view-only account: its balance stays as far as it is known
    if (!isWatchOnly(key)) beginUnknownSpends(tx, { id, chain_key }, now);
    endPlan(tx, id, 'stopped', message('gas.restored'));
  }
  tellJumps(tx, now);
  const by = { by: jump };
  if (tx.run(jumpWithdrawals, by).changes === 0) tx.run(beginWithdrawals, by);
}

/**
 * Jumps once more, because somebody paid an address behind the jump: an earlier run from the same data has jumped as far and
 * given addresses out from there. Blocks are read again with those that are skipped now.
 */
export function jumpFarther(
  tx: Tx,
  record: QuarantineRecord,
  rereads: readonly string[],
  now: number,
  jump: number,
): void {
  const jumps = (record.jumps ?? 0) + 1;
  if (jumps > EARLIER_RESTORES_MAX) return;
  jumpAhead(tx, now, jump);
  saveQuarantine(tx, { ...record, jumps, read_again: readFromBeginning(tx, record, rereads) }, now);
}

/** Has chains read their blocks again from where they were when the data was of its time. Returns all that read some again. */
function readFromBeginning(tx: Tx, record: QuarantineRecord, chains: readonly string[]): string[] {
  const again = new Set(record.read_again);
  for (const { id, chain_key } of tx.all(accountsToJump, {})) {
    const from = record.read_from?.[chain_key];
    if (from === undefined || !chains.includes(chain_key)) continue;
    tx.run(rescanAgainFrom, { id, to: JSON.stringify(from) });
    again.add(chain_key);
  }
  return [...again];
}

/**
 * Notes in a quarantine that a chain's source is asked for addresses. Where a source of blocks takes its place, that reads the blocks
 * of before, which nobody has searched for the skipped addresses.
 */
export function followSource(tx: Tx, chain_key: string, isAsked: boolean, now: number): void {
  const record = quarantineOf(tx);
  if (!record || isAsked === wasAsked(record, chain_key)) return;
  const others = (record.asked ?? []).filter((key) => key !== chain_key);
  const next = isAsked
    ? { ...record, asked: [...others, chain_key] }
    : { ...record, asked: others, read_again: readFromBeginning(tx, record, [chain_key]) };
  saveQuarantine(tx, next, now);
}

/** Whether the source of a chain was asked for addresses in a quarantine. */
export const wasAsked = ({ asked = [] }: QuarantineRecord, chain_key: string): boolean => asked.includes(chain_key);

/** Tells the operator what a search by the words alone must be told, if it would not look so far by itself. */
function tellJumps(tx: Tx, now: number): void {
  const skipped = tx.all(accountsToJump, {}).flatMap(({ id }) => tx.all(skippedOf, { account_id: id }));
  const total = new Map<string, number>();
  for (const { account_id, branch, from_index, to_index } of skipped) {
    const key = `${account_id}/${branch}`;
    total.set(key, (total.get(key) ?? 0) + to_index - from_index);
  }
  const jumps = Math.ceil(Math.max(0, ...total.values()) / INDICES_JUMPED);
  if (jumps <= JUMPS_SEARCHED) return;
  insertIn(tx, now, 'restore.far', `${jumps}`, message('restore.far', { jumps }));
}

/**
 * The index from which on no address of an account was given out when the data was of its time. Ready addresses do not count: they
 * would move a wallet that is restored often farther than a search by its words looks.
 */
function nextReceiving(tx: Tx, account_id: number, next_index: number): number {
  const ready = tx.all(readyIndices, { account_id });
  let next = next_index;
  while (ready.pop()?.idx === next - 1) next--;
  return next;
}

/**
 * Suspends approval policies: shops may repeat requests made after the backup, since their idempotency keys are lost,
 * so such withdrawals wait for the operator. Returns the names of the businesses that had a policy.
 */
function suspendPolicies(tx: Tx): string[] {
  const found = tx.all(automaticPolicies, {});
  for (const { id } of found) tx.run(suspendPolicy, { business_id: id });
  return found.map(({ name }) => name);
}

/** Drops unsigned plans of the backup: after a restore every signature needs a new approval. */
function dropUnsigned(tx: Tx): void {
  for (const { id, spend_id } of tx.all(unsignedPlans, {})) {
    tx.run(dropKeys, { version_id: id });
    tx.run(dropPayouts, { version_id: id });
    tx.run(dropVersion, { id });
    const newest = tx.all(versionsOf, { spend_id }).at(-1);
    if (newest) tx.run(keepPaying, { version_id: newest.id });
    else {
      tx.run(leaveSpend, { spend_id });
      tx.run(dropSpend, { id: spend_id });
    }
  }
}
