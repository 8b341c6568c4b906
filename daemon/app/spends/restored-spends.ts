/**
 * Finds transactions that the wallet made after the backup, on the machine that was lost. During the quarantine each is
 * checked once. If it pays a withdrawal that the backup knew, it becomes a version of that withdrawal's payment. If
 * not, the operator is alerted. If it pays a newer one, another machine runs with the same wallet: a quarantine begins again.
 *
 * Invariant: the quarantine does not end while a coin of ours was spent by a transaction that was not checked, so that
 * no withdrawal is paid twice. A transaction that no source had by then may still appear. So the check continues while
 * a withdrawal waits that it may have paid.
 */

import { isWatchOnly } from '../../domain/chain.ts';
import { assert, Rejected, Unavailable } from '../../domain/errors.ts';
import { message, reasonOf, type Value } from '../../domain/messages.ts';
import { BURIED_BLOCKS } from '../../domain/withdrawal.ts';
import { accountById, accountsToRescan } from '../../store/queries/businesses.ts';
import { creditsSpentUnconfirmed } from '../../store/queries/credits.ts';
import { reportedDebitsAbove } from '../../store/queries/debits.ts';
import { creditsSpentAbove, creditsStoredAfter } from '../../store/queries/match.ts';
import { newestCredit } from '../../store/queries/operator.ts';
import { doubtedWithdrawal } from '../../store/queries/restore.ts';
import { versionByTxid } from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import { areSkippedWatched } from '../addresses/skipped.ts';
import { raise } from '../alerts.ts';
import type { App } from '../app.ts';
import { isAdopted } from '../books/entries.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { tipHeightOf } from '../chains/checkpoint.ts';
import { followSource, wasAsked } from '../recovery/begin-quarantine.ts';
import { beginAsOlder, isOfOurTime } from '../recovery/older.ts';
import {
  endApprovals,
  endQuarantine,
  isQuarantined,
  isReadAgain,
  jumpOf,
  leftOn,
  noteChecked,
  noteLooked,
  type QuarantineRecord,
  quarantineOf,
  restoredFrom,
  whyUnread,
} from '../recovery/quarantine.ts';
import { sleepingKeys } from '../recovery/sleeping-keys.ts';
import { whyChainUnknown } from '../recovery/unknown-spends.ts';
import { endApiKey } from '../shops/keys.ts';
import { matchSpend, type Outcome, paysNewer } from './match-spend.ts';

const PAGE = 500;
/** The height of what is in no block: above every block. */
const NOWHERE = Number.MAX_SAFE_INTEGER;
const TRANSACTION_TIMEOUT_MS = 20_000;

/** `mayBeForeign`: another program may have made a transaction that this one cannot read. */
type UnknownSpend = {
  txid: string;
  blockHash: string | null;
  mayBeForeign?: boolean;
  /** The last debit before it: all up to that one are known. */
  after?: number;
};

/** By chain: how far all spends were checked. A restart begins at the backup's height. */
type SearchMark = { since: number; times: number; height: number; creditId: number; debitId: number };
const lookedTo = new WeakMap<ChainRuntime, SearchMark>();

/** How far the spends of this quarantine were checked; undefined once facts came behind that. */
function lookedIn(chain: ChainRuntime, { since, behind }: QuarantineRecord): SearchMark | undefined {
  const found = lookedTo.get(chain);
  return found?.since === since && found.times === (behind?.times ?? 0) ? found : undefined;
}

/** By chain: transactions of another program that cannot be read. The operator was alerted. */
const unreadable = new WeakMap<ChainRuntime, Set<string>>();

/**
 * Unknown transactions that spent money of ours since the backup. `after`: a debit up to which all are known. Returns the
 * last debit that it looked at.
 */
function* unknownSpends(
  reader: Reader,
  chain: ChainRuntime,
  record: QuarantineRecord,
  after = lookedIn(chain, record)?.debitId ?? record.last_debit ?? 0,
): Generator<UnknownSpend, number> {
  yield* unknownSpendsOfCoins(reader, chain, record);
  return yield* unknownDebits(reader, chain, record, after);
}

/** Transactions with debits of addresses of an account chain. */
function* unknownDebits(
  reader: Reader,
  chain: ChainRuntime,
  record: QuarantineRecord,
  after: number,
): Generator<UnknownSpend, number> {
  const { key: chain_key } = chain;
  const from = (record.heights[chain_key] ?? 0) - BURIED_BLOCKS[chain.adapter.chain];
  const stored = record.stored?.debit ?? Number.MAX_SAFE_INTEGER;
  for (let known = after; ; ) {
    const page = reader.all(reportedDebitsAbove, { chain_key, id: known, limit: PAGE });
    for (const { id, txid, account_id, block_height, block_hash, kind } of page) {
      const isOld = block_height !== null && block_height <= from;
      const counts = isOld ? id > stored && isOfOurTime(reader, account_id, block_height) : isOurs(reader, account_id);
      if (
        counts &&
        !isAdopted({ kind }) &&
        !unreadable.get(chain)?.has(txid) &&
        !reader.get(versionByTxid, { txid, chain_key })
      ) {
        yield { txid, blockHash: block_hash, mayBeForeign: true, after: known };
      }
      known = id;
    }
    if (page.length === 0) return known;
  }
}

/** Those in blocks first. */
function* unknownSpendsOfCoins(reader: Reader, chain: ChainRuntime, record: QuarantineRecord): Generator<UnknownSpend> {
  const { key } = chain;
  const isUnknown = (txid: string, account_id: number, at: number): boolean =>
    !reader.get(versionByTxid, { txid, chain_key: key }) &&
    (at > from ? isOurs(reader, account_id) : isOfOurTime(reader, account_id, at));
  const buried = BURIED_BLOCKS[chain.adapter.chain];
  const known = record.heights[key] ?? 0;
  // a reorganisation may have put others into the last blocks that the backup knew
  const from = known - buried;
  const looked = Math.min(lookedIn(chain, record)?.height ?? 0, tipHeightOf(reader, chain));
  let height = Math.max(Math.min(known, record.behind?.heights[key] ?? known), looked) - buried;
  for (let id = Number.MAX_SAFE_INTEGER; ; ) {
    const page = reader.all(creditsSpentAbove, { chain_key: key, height, id, limit: PAGE });
    for (const { spent_txid, spent_block_height, spent_block_hash, account_id } of page) {
      if (spent_txid !== null && isUnknown(spent_txid, account_id, spent_block_height ?? NOWHERE))
        yield { txid: spent_txid, blockHash: spent_block_hash };
    }
    const last = page.at(-1);
    if (!last) break;
    [height, id] = [last.spent_block_height ?? height, last.id];
  }
  yield* unknownSpendsOfNews(reader, chain, record);
  for (let after = 0; ; ) {
    const page = reader.all(creditsSpentUnconfirmed, { chain_key: key, after, limit: PAGE });
    for (const { spent_txid, account_id } of page) {
      if (spent_txid !== null && isUnknown(spent_txid, account_id, NOWHERE))
        yield { txid: spent_txid, blockHash: null };
    }
    const last = page.at(-1);
    if (!last) break;
    after = last.id;
  }
}

/** Whether only this service's wallet can spend an account's coins; the wallet of a watch-only account needs nobody here. */
function isOurs(reader: Reader, id: number): boolean {
  const account = reader.get(accountById, { id });
  return account != null && !isWatchOnly(account.key);
}

/**
 * Those of coins that were stored since: at the addresses that are skipped, another machine may have got and spent them long before, at a
 * height that this one had read without these addresses.
 */
function* unknownSpendsOfNews(reader: Reader, chain: ChainRuntime, record: QuarantineRecord): Generator<UnknownSpend> {
  const { key } = chain;
  let id = lookedIn(chain, record)?.creditId ?? record.stored?.credit ?? Number.MAX_SAFE_INTEGER;
  for (;;) {
    const page = reader.all(creditsStoredAfter, { id, limit: PAGE });
    for (const { chain_key, account_id, spent_txid: txid, spent_block_height: height, spent_block_hash } of page) {
      if (chain_key !== key || txid === null || height === null) continue;
      if (reader.get(versionByTxid, { txid, chain_key }) || !isOfOurTime(reader, account_id, height)) continue;
      yield { txid, blockHash: spent_block_hash };
    }
    const last = page.at(-1);
    if (!last) return;
    id = last.id;
  }
}

/**
 * Checks every unknown spend of a synced chain. False: not all, because what would show them is not read yet, or the chain moved on.
 * Throws `Unavailable` if the source does not answer or no longer has a transaction; those before it were checked.
 */
export async function matchSpends(app: App, chain: ChainRuntime): Promise<boolean> {
  await noteSource(app, chain);
  const quarantine = quarantineOf(app.store);
  const left = leftOn(app.store, chain.key);
  const record = quarantine ?? (left > 0 || isInDoubt(app, chain) ? restoredFrom(app.store) : null);
  if (!record || !chain.adapter.spending) return true;
  // before that, coins and change may be missing in the store
  if (chain.syncedAt === 0 || !areSkippedWatched(app)) return false;
  if (quarantine && isReadAgain(app.store, quarantine, chain.key)) return false;
  const isWhole = quarantine !== null || hasJoined(chain, record);
  if (isWhole && (!hasLookedEverywhere(app, chain, record) || whyChainUnknown(app.store, chain) !== null)) return false;
  for (let after: number | undefined; ; ) {
    const { done: isOver, value: unknown } = unknownSpends(app.store, chain, record, after).next();
    if (isOver) {
      const height = tipHeightOf(app.store, chain);
      const creditId = isReadingPast(app, chain)
        ? (lookedIn(chain, record)?.creditId ?? record.stored?.credit)
        : app.store.get(newestCredit, {})?.id;
      lookedTo.set(chain, {
        since: record.since,
        times: record.behind?.times ?? 0,
        height,
        creditId: creditId ?? 0,
        debitId: unknown,
      });
      if (quarantine === null && left > 0) {
        await app.store.write((tx) => noteChecked(tx, chain.key, left));
      }
      if (quarantine === null && isWhole) await app.store.write((tx) => noteLooked(tx, chain.key, app.now()));
      return true;
    }
    after = unknown.after ?? after;
    const outcome = await matchOne(app, chain, unknown, record);
    // the chain moved on; the next pass continues
    if (outcome === 'gone') return false;
    if (outcome === 'again') {
      lookedTo.delete(chain);
      after = undefined;
    }
  }
}

/** Notes of which kind a chain's source is in a quarantine, where that is another than before. */
async function noteSource(app: App, { key, adapter }: ChainRuntime): Promise<void> {
  const record = quarantineOf(app.store);
  const isAsked = adapter.rescan !== undefined;
  if (record && isAsked !== wasAsked(record, key))
    await app.store.write((tx) => followSource(tx, key, isAsked, app.now()));
}

/** Whether a chain is in the configuration only since the quarantine has ended: nobody looked at its skipped addresses. */
const hasJoined = ({ key }: ChainRuntime, { ended }: QuarantineRecord): boolean =>
  ended?.chains?.includes(key) === false;

/** Then a coin may be stored before the block that spends it is read. */
const isReadingPast = (app: App, { key, adapter }: ChainRuntime): boolean =>
  adapter.rescanning?.() === true || app.store.all(accountsToRescan, { chain_key: key }).length > 0;

/** Checks one. */
async function matchOne(
  app: App,
  chain: ChainRuntime,
  unknown: UnknownSpend,
  record: QuarantineRecord,
): Promise<Outcome> {
  try {
    const raw = await transactionOf(chain, unknown);
    const decoded = chain.spending.decode(raw);
    assert(decoded.txid === unknown.txid, 'a source gives the transaction that it was asked for');
    const seen = { decoded, raw, knownTo: record.last_withdrawal };
    return await app.store.write((tx) => {
      if (isQuarantined(tx) || !paysNewer(tx, chain, seen)) return matchSpend(app, tx, chain, seen);
      const reason = message('older.spend', { tx: unknown.txid, chain: chain.key });
      beginAsOlder(app, tx, reason);
      return 'gone';
    });
  } catch (error) {
    if (!(unknown.mayBeForeign && error instanceof Rejected && error.code === 'spend.malformed')) throw error;
    await tellUnreadable(app, chain, unknown.txid);
    return 'taken';
  }
}

/** Another program with the same words can make transactions that this one cannot, such as calls of contracts. */
async function tellUnreadable(app: App, chain: ChainRuntime, txid: string): Promise<void> {
  const text = message('restore.foreign_kind', { tx: txid });
  await raise(app, chain.adapter.network, 'restore.unknown_spend', `${chain.key} ${txid}`, text);
  const known = unreadable.get(chain) ?? new Set();
  unreadable.set(chain, known.add(txid));
}

/**
 * Why nothing may be signed on a chain after the quarantine: payments made before the restore may not be known yet.
 * Null if they are, or if no withdrawal is in doubt.
 */
export async function whyHeld(app: App, chain: ChainRuntime): Promise<Value | null> {
  const isDoubted = isInDoubt(app, chain);
  if (!isDoubted && leftOn(app.store, chain.key) === 0) return null;
  if (!chain.isCurrent) return isDoubted ? message('wait.unsynced') : null;
  try {
    return (await matchSpends(app, chain)) || !isDoubted ? null : message('wait.unsynced');
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    // what nobody here waits to pay holds nothing up
    return isDoubted ? message('wait.unread', { reason: reasonOf(error) }) : null;
  }
}

/** Whether a withdrawal of a chain waits that a transaction made after the backup may have paid. */
function isInDoubt(app: App, { key }: ChainRuntime): boolean {
  return app.store.get(doubtedWithdrawal, { chain_key: key }) !== undefined;
}

/** The number of syncs when the search ended, and when the next one was requested. */
type Look = { endedAfter: number; askedAfter: number };
/** By chain: the search by a source that needs the addresses to search, and its end; null until then. */
const looked = new WeakMap<ChainRuntime, { jump: string; end: Look | null }>();
/** The sync under way at the end of the search may have begun before it; the next one did not. */
const SYNCS_AFTER_LOOK = 2;

/**
 * Whether every address, including the skipped ones, was searched since all are watched: a source that is asked per
 * address watches only the active ones by itself. Starts the search if needed. The result is stored after further
 * complete syncs, which are counted, because clocks may jump.
 */
function hasLookedEverywhere(app: App, chain: ChainRuntime, record: QuarantineRecord): boolean {
  const { adapter, syncs } = chain;
  if (!adapter.rescan || !adapter.rescanning) return true;
  const search = looked.get(chain);
  // each jump adds addresses
  const jump = jumpOf(record);
  if (search?.jump !== jump) {
    adapter.rescan();
    looked.set(chain, { jump, end: null });
    return false;
  }
  if (search.end === null && adapter.rescanning()) return false;
  search.end ??= { endedAfter: syncs, askedAfter: -1 };
  const look = search.end;
  if (syncs >= look.endedAfter + SYNCS_AFTER_LOOK) return true;
  // once for each: an incomplete sync is repeated anyway
  if (look.askedAfter !== syncs) app.wake.chain(chain.key);
  look.askedAfter = syncs;
  return false;
}

/** A transaction as the chain's source has it. Throws `Unavailable`. */
export function transactionOf(
  chain: ChainRuntime,
  { txid, blockHash }: Pick<UnknownSpend, 'txid' | 'blockHash'>,
): Promise<string> {
  return chain.spending.transaction(txid, blockHash, chain.limit(TRANSACTION_TIMEOUT_MS));
}

/**
 * Carries out the operator's confirmation that this appliance takes over: checks the spends since the backup once more,
 * and ends the quarantine. Sleeping keys that are not in `keptKeys` are revoked. Throws `Rejected`: `restore.none`, `restore.not_ready`.
 */
export async function takeOver(app: App, keptKeys: readonly number[] | 'all' = []): Promise<void> {
  for (const chain of app.chains.all()) {
    try {
      await matchSpends(app, chain);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      throw notLookedAt(chain, error.message);
    }
  }
  await endApprovals(app);
  await app.store.write((tx) => {
    const why = whyNotReady(app, tx);
    if (why) throw why;
    const sleeping = sleepingKeys(tx);
    endQuarantine(app, tx);
    for (const { id } of sleeping) if (keptKeys !== 'all' && !keptKeys.includes(id)) endApiKey(app, tx, id);
  });
}

/** Why a quarantine cannot end yet, `restore.not_ready`; null: it can, or there is none. */
export function whyNotReady(app: App, reader: Reader): Rejected | null {
  const record = quarantineOf(reader);
  if (!record) return null;
  const unread = whyUnread(app, reader, record);
  if (unread) return unread;
  for (const chain of app.chains.all()) {
    if (!chain.adapter.spending || chain.dormant) continue;
    if (!hasLookedEverywhere(app, chain, record)) {
      return notLookedAt(chain, 'its servers are still being asked about every address there ever was');
    }
    const why = whyChainUnknown(reader, chain);
    if (why !== null) return notLookedAt(chain, why);
    const next = unknownSpends(reader, chain, record).next();
    if (!next.done) return notLookedAt(chain, `${next.value.txid} came just now`);
  }
  return null;
}

const notLookedAt = ({ key }: ChainRuntime, why: string): Rejected =>
  new Rejected(
    'restore.not_ready',
    `Payments on ${key} after the backup are not known yet (${why}). Try again in a minute`,
  );
