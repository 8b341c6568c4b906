/**
 * Data that is older than the chain. A data directory may come back older without a restore, and another machine may run with
 * the same wallet. Whatever shows that begins the same quarantine as a restore, in the transaction that stores it. A chain
 * gives out no address and signs nothing before its first complete view since the start, so the rule comes first.
 *
 * Invariant: only what cannot be invented counts. A transaction in a block that spends a coin of ours, or pays the fee from an
 * address of ours, was signed with our keys. So was an unconfirmed one: a node checks its signatures, and the light client does.
 *
 * The simulated chains are part of the database, so that they are never ahead of it.
 */
import { isUtxo } from '../../chains/derive.ts';
import { type BlockId, type ChainUpdate, type Checkpoint, type Credit, isWatchOnly } from '../../domain/chain.ts';
import { present } from '../../domain/errors.ts';
import { INDICES_JUMPED } from '../../domain/indices.ts';
import { type Message, message, textOf } from '../../domain/messages.ts';
import { BURIED_BLOCKS } from '../../domain/withdrawal.ts';
import { accountById, rescanFrom } from '../../store/queries/businesses.ts';
import { creditByOutpoint, targetById } from '../../store/queries/credits.ts';
import { debitByRef } from '../../store/queries/debits.ts';
import { doubtedWithdrawal } from '../../store/queries/restore.ts';
import { versionByTxid } from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { isTaken, kinTarget } from '../addresses/kin.ts';
import { insertIn } from '../alerts.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import type { Phase } from '../chains/ingest.ts';
import { type Beginning, beginQuarantine, jumpFarther } from './begin-quarantine.ts';
import {
  endApprovals,
  isQuarantined,
  noteLeft,
  OLDER,
  quarantineOf,
  restoredFrom,
  searchAgain,
  unendedSearch,
} from './quarantine.ts';

/** Facts that one step looks at. */
const PAGE = 32;

type SearchStart = Pick<Beginning, 'heights' | 'lastDebit'>;

/** Begins the quarantine, unless there is one. `reason`: what shows that the data is older. */
export function beginAsOlder(app: App, tx: Tx, reason: Message, where: SearchStart = {}): void {
  if (isQuarantined(tx)) return;
  const now = app.now();
  const readFrom = beginReadingAgain(app, tx);
  beginQuarantine(tx, { made_at: null, why: reason, readFrom, ...where }, now, jumpOf(app));
  insertIn(tx, now, OLDER, '', message('data.older', { reason }));
  tx.afterCommit(() => {
    app.log.error({ reason: textOf(reason) }, 'the data is older than what happened: the service is quarantined');
    app.keys.clear();
    app.wake.pool();
    app.wake.allWithdrawals();
    // if that fails, the operator's confirmation does it
    endApprovals(app).catch((error: Error) =>
      app.log.warn({ reason: error.message }, 'approvals could not be ended yet'),
    );
  });
}

const jumpOf = ({ jump }: App): number => jump ?? INDICES_JUMPED;

/** Reads the blocks since the start again, for addresses that are skipped now. Returns the chains, and from where. */
function beginReadingAgain(app: App, tx: Tx): Record<string, Checkpoint> {
  const again: Record<string, Checkpoint> = {};
  for (const { id, chainKey } of app.directory.accounts()) {
    const chain = app.chains.find(chainKey);
    if (!chain || !isReread(chain) || chain.startedFrom === null) continue;
    tx.run(rescanFrom, { id, to: JSON.stringify(chain.startedFrom) });
    again[chainKey] = chain.startedFrom;
  }
  return again;
}

const isSimulated = ({ adapter }: ChainRuntime): boolean => adapter.network === 'sandbox';

/** Whether blocks are read for addresses. A source that is asked for addresses needs none. */
const isReread = (chain: ChainRuntime): boolean => !isSimulated(chain) && !chain.adapter.rescan;

/** Looks for a spend of ours that nobody here made. To be run once the facts of the update are stored. */
export function unknownSpends(app: App, chain: ChainRuntime, update: ChainUpdate): Phase[] {
  const seen = isSimulated(chain) ? [] : spendsIn(chain, update);
  const look: Phase = (tx, at) => {
    const page = seen.slice(at, at + PAGE);
    if (page.length === 0) return null;
    const unknown = page.filter((one) => isUnknown(tx, chain, one));
    noteBehind(app, tx, chain, unknown);
    if (isQuarantined(tx)) return { at: at + PAGE };
    // payments that the service before a restore may have made are taken over without the operator
    const isTakenOver = tx.get(doubtedWithdrawal, { chain_key: chain.key }) !== undefined;
    const found = unknown.find((one) => !(isTakenOver && mayBeEarlier(tx, chain, one)));
    if (!found) {
      if (unknown.length > 0) {
        noteLeft(tx, chain.key, app.now());
        tx.afterCommit(() => app.wake.withdrawals(chain.key));
      }
      return { at: at + PAGE };
    }
    const reason = message('older.spend', { tx: found.txid, chain: chain.key });
    beginAsOlder(app, tx, reason, placeOf(tx, chain, seen));
    return null;
  };
  return seen.length > 0 ? [look] : [];
}

/**
 * Unknown spends of coins that are seen late, at a height that the search has passed: as of a coin of Monero whose key image came later,
 * or after a deep reorganisation.
 */
function noteBehind(app: App, tx: Tx, chain: ChainRuntime, unknown: readonly Spent[]): void {
  const late = unknown.flatMap((one) => ('outpoint' in one && one.block ? [one.block.height - 1] : []));
  const record = late.length === 0 ? null : unendedSearch(tx);
  if (!record) return;
  const passed = Math.max(record.heights[chain.key] ?? 0, chain.tipHeight ?? 0) - BURIED_BLOCKS[chain.adapter.chain];
  const height = least(late);
  if (height < passed) searchAgain(tx, { heights: { [chain.key]: height } }, app.now());
}

/** `ref`: of a debit; `outpoint`: of a coin. */
type Spent = { txid: string; block: BlockId | null } & ({ ref: string } | { outpoint: string });

function spendsIn({ adapter }: ChainRuntime, { spends, debits = [] }: ChainUpdate): Spent[] {
  // a fee is paid by the one who signs; a contract may move tokens of ours without us
  const fees = debits.filter(({ kind }) => kind === 'fee').map(({ id: ref, txid, block }) => ({ ref, txid, block }));
  const isBelieved = ({ block }: Spent): boolean => block !== null || isUtxo(adapter.chain);
  return [...(isUtxo(adapter.chain) || adapter.keyImages ? spends : []), ...fees].filter(isBelieved);
}

function rowOf(reader: Reader, { key: chain_key }: ChainRuntime, spent: Spent) {
  return 'ref' in spent
    ? reader.get(debitByRef, { ref: spent.ref, chain_key })
    : reader.get(creditByOutpoint, { outpoint: spent.outpoint, chain_key });
}

/**
 * Whether the service before the last quarantine can have made it: it knew nothing of invoices and payments of after. Who spends their
 * money is another machine with the same wallet, or the data came back older once more.
 */
function mayBeEarlier(reader: Reader, chain: ChainRuntime, spent: Spent): boolean {
  const ended = restoredFrom(reader)?.ended;
  const row = rowOf(reader, chain, spent);
  if (!ended || !row) return true;
  const made = reader.get(versionByTxid, { txid: row.txid, chain_key: chain.key });
  const isOfPayment = 'outpoint' in spent && made !== undefined && made.id > ended.version;
  const target = row.target_id === null ? undefined : reader.get(targetById, { id: row.target_id });
  return !isOfPayment && (target?.invoice_id ?? 0) <= ended.invoice;
}

function isUnknown(reader: Reader, chain: ChainRuntime, spent: Spent): boolean {
  if (reader.get(versionByTxid, { txid: spent.txid, chain_key: chain.key })) return false;
  const row = rowOf(reader, chain, spent);
  if (!row) return false;
  // the operator spent a locked coin elsewhere, as he was told to; with key images it is a twin, of which a copy may count the other one
  if (!chain.adapter.keyImages && 'locked' in row && row.locked) return false;
  return isOfOurTime(reader, row.account_id, spent.block?.height ?? null);
}

/**
 * Whether only this service's wallet can have spent money of an account in a block of this height, null for the mempool: another
 * program may have used the wallet before it came here.
 */
export function isOfOurTime(reader: Reader, id: number, height: number | null): boolean {
  const account = reader.get(accountById, { id });
  // the other wallet of a watch-only account spends, and gives out addresses, by itself
  if (!account || isWatchOnly(account.key)) return false;
  if (account.gap === null) return true;
  return account.past_until !== null && (height === null || height > account.past_until);
}

/** Where the search for unknown spends begins: before every one of these, in whichever order they are stored. */
function placeOf(reader: Reader, { key }: ChainRuntime, seen: readonly Spent[]): SearchStart {
  const heights = seen.flatMap(({ block }) => (block ? [block.height - 1] : []));
  const debits = seen.flatMap((one) =>
    'ref' in one ? [reader.get(debitByRef, { ref: one.ref, chain_key: key })] : [],
  );
  const ids = debits.flatMap((debit) => (debit ? [debit.id - 1] : []));
  return {
    ...(heights.length > 0 && { heights: { [key]: least(heights) } }),
    ...(ids.length > 0 && { lastDebit: least(ids) }),
  };
}

const least = (numbers: readonly number[]): number => numbers.reduce((a, b) => Math.min(a, b));

/**
 * Looks for payments to addresses that the books never gave out, in what happened while the service was away. In a quarantine
 * they show that an earlier run from the same data has jumped as far. To be run before the update's credits are stored.
 */
export function unknownAddresses(app: App, chain: ChainRuntime, { credits }: ChainUpdate): Phase[] {
  const isFirstView = chain.startedFrom !== null && chain.syncs === 0;
  const look: Phase = (tx, at) => {
    const page = credits.slice(at, at + PAGE);
    const quarantine = quarantineOf(tx);
    if (page.length === 0 || !(isFirstView || quarantine)) return null;
    const found = page.find((credit) => isNeverGivenOut(tx, chain, credit));
    if (!found) return { at: at + PAGE };
    if (quarantine) {
      const rereads = app.chains.all().filter(isReread);
      const keys = rereads.map(({ key }) => key);
      jumpFarther(tx, quarantine, keys, app.now(), jumpOf(app));
      tx.afterCommit(() => app.wake.pool());
      return null;
    }
    const { address } = present(tx.get(targetById, { id: found.targetId }), 'target of a credit');
    beginAsOlder(app, tx, message('older.address', { address, chain: chain.key }));
    return null;
  };
  return !isSimulated(chain) && credits.length > 0 ? [look] : [];
}

function isNeverGivenOut(reader: Reader, chain: ChainRuntime, { id, targetId, block }: Credit): boolean {
  const { key, adapter } = chain;
  const target = reader.get(targetById, { id: targetId });
  if (block === null || !target || target.invoice_id !== null) return false;
  if (target.branch === 1) {
    // of change, those behind a jump
    const { next_change: next } = present(reader.get(accountById, { id: target.account_id }), 'account of a target');
    if (!isUtxo(adapter.chain) || target.idx < next) return false;
  }
  if (isTaken(kinTarget(reader, target)) || reader.get(creditByOutpoint, { outpoint: id, chain_key: key }))
    return false;
  return isOfOurTime(reader, target.account_id, block.height);
}
