/**
 * Payments that are signed in another wallet, where the keys of a watch-only account are: the other side of `signClaimed`. A plan is
 * handed out as a file (a PSBT), and its signed transaction is taken back.
 *
 * Invariants. From the moment of its first download a version counts as signed, because anybody who has the file may hold a signed copy:
 * its coins stay reserved, each later version shares one of them, and only the chain decides it. If nobody signs it in time, or the
 * operator gives it up, its coins are free for what is paid next, which excludes the copy (`abandoned.ts`). Its bytes are stored before
 * they are sent. A copy that somebody broadcasts is the same payment, which is recognised by its coins and outputs, whatever its id.
 */
import type { OutsideSigning } from '../../chains/spending.ts';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { type Message, message } from '../../domain/messages.ts';
import type { SignedSpend } from '../../domain/spend.ts';
import { isAbandoned } from '../../domain/spend-state.ts';
import { MS_PER_DAY } from '../../domain/time.ts';
import { isOpen } from '../../domain/withdrawal.ts';
import { nameVersion, storeOutside } from '../../store/queries/outside.ts';
import {
  heldWithdrawals,
  paidBy,
  setSpendState,
  setVersionProblem,
  type VersionRow,
  versionById,
  versionsOf,
  type WithdrawalRow,
  withdrawalsOfSpend,
} from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { refuseInQuarantine } from '../recovery/quarantine.ts';
import { keyState, unsettledSpends, versionFacts } from './facts.ts';
import { type Holder, holderOf, isOutside } from './plan.ts';
import { transactionOf } from './restored-spends.ts';
import { applyEvent, dropUnsigned, expire, findWithdrawal, saveWithdrawal, spendOf, withdrawalOf } from './rows.ts';
import { isForeign, noteForeign, settleSpends, settleStored, strangersOf } from './settle.ts';
import { isObsolete, keepAll, keptTransactions, markSigned } from './sign.ts';
import { readPlan } from './stored-plan.ts';

/** From the download of a version on; then it is given up. */
const SIGNED_WITHIN_MS = 30 * MS_PER_DAY;

/** A file for the wallet that has the keys. */
type HandedOut = { file: Uint8Array; version: VersionRow };

/**
 * The newest version of a withdrawal's payment, for the wallet that has the keys; the same file each time. Throws `Rejected`:
 * `psbt.none`, `withdrawal.overtaken`.
 */
export async function handOut(app: App, name: string): Promise<HandedOut> {
  refuseInQuarantine(app.store, 'Withdrawals');
  const { row, holder, outside } = outsideOf(app, name);
  const version = isEnded(row) ? undefined : newestOf(app.store, row);
  if (!version) throw new Rejected('psbt.none', notPlanned(row));
  if (version.raw !== null || version.sent_at !== null) {
    throw new Rejected('psbt.none', `Withdrawal ${row.id} is signed already`);
  }
  const plan = readPlan(version.plan);
  const unsigned = await holder.chain.spending.unsigned(plan, keptTransactions(app, holder.chain));
  const { file, txid } = outside.handOut(unsigned, holder.account.key);
  await app.store.write((tx) => {
    const now = tx.get(versionById, { id: version.id });
    if (now?.txid === null && isObsolete(tx, holder, { spend: spendOf(tx, now.spend_id), version: now, plan })) {
      tx.afterCommit(() => app.wake.withdrawals(holder.chain.key));
    } else if (now) {
      if ('previous' in unsigned) keepAll(tx, holder, unsigned.previous);
      if (now.txid === null) markHanded(app, tx, now, txid);
      return;
    }
    throw new Rejected('withdrawal.overtaken', 'It is planned anew, because the chain moved on: try again in a moment');
  });
  return { file, version };
}

/** The account's side of a withdrawal. Throws `Rejected('psbt.none')` if this service's own wallet signs it. */
function outsideOf(app: App, name: string): { row: WithdrawalRow; holder: Holder; outside: OutsideSigning } {
  const row = findWithdrawal(app.store, name);
  const holder = holderOf(app, row);
  const { outside } = holder.chain.spending;
  if (isOutside(holder.account) && outside) return { row, holder, outside };
  throw new Rejected('psbt.none', `Withdrawal ${row.id} is not signed in another wallet`);
}

const newestOf = (reader: Reader, { spend_id }: WithdrawalRow): VersionRow | undefined =>
  spend_id === null ? undefined : reader.all(versionsOf, { spend_id }).at(-1);

/** Whether nothing is handed out for it any more. */
const isEnded = ({ state }: WithdrawalRow): boolean => state === 'rejected' || state === 'failed';

const notPlanned = ({ id, state }: WithdrawalRow): string =>
  state === 'requested'
    ? `Withdrawal ${id} is not approved yet: approve it first`
    : `Withdrawal ${id} is ${state}, and no transaction of it waits for a signature`;

function markHanded(app: App, tx: Tx, version: VersionRow, txid: string): void {
  tx.run(nameVersion, { id: version.id, txid });
  tx.run(setVersionProblem, { id: version.id, problem: message('wait.outside') });
  markSigned(app, tx, version, version.fee);
  setEnd(app, tx, version, app.now() + SIGNED_WITHIN_MS);
}

/** Sets the time until which the withdrawals of a payment wait for their signature; null: it is there. */
function setEnd(app: App, tx: Tx, version: VersionRow, deadline_at: number | null): void {
  for (const row of tx.all(withdrawalsOfSpend, { spend_id: version.spend_id })) {
    if (isOpen(row.state) && row.deadline_at !== deadline_at)
      saveWithdrawal(app, tx, { ...row, deadline_at }, row.state);
  }
}

/**
 * Takes the signed transaction of the newest version back: judged, finished, stored, and sent afterwards. The same one again changes
 * nothing. Throws `Rejected('psbt.…')`.
 */
export async function takeBack(app: App, name: string, given: Uint8Array): Promise<WithdrawalRow> {
  refuseInQuarantine(app.store, 'Withdrawals');
  const { row, holder, outside } = outsideOf(app, name);
  const version = newestOf(app.store, row);
  if (!version) throw new Rejected('psbt.none', notPlanned(row));
  needAwaited(app.store, row);
  const signed = judged(app, row, version, outside, given);
  if (version.txid === null) {
    throw new Rejected('psbt.none', `The PSBT of withdrawal ${row.id} was not downloaded yet: this is another one`);
  }
  await app.store.write((tx) => {
    const now = tx.get(versionById, { id: version.id });
    if (!now || tx.all(versionsOf, { spend_id: version.spend_id }).at(-1)?.id !== version.id) throw replaced(row);
    if (now.raw !== null) return;
    needAwaited(tx, withdrawalOf(tx, row.id));
    // the chain shows a copy with other signatures, which is not to be sent beside it
    if (now.txid !== signed.txid && isShown(tx, holder.chain, now)) return;
    const { txid, raw, size } = signed;
    tx.run(storeOutside, { id: now.id, txid, raw, size, signed_at: app.now() });
    setEnd(app, tx, now, null);
    tx.afterCommit(() => app.wake.withdrawals(holder.chain.key));
  });
  return findWithdrawal(app.store, name);
}

/** Throws `Rejected('psbt.abandoned')` for a withdrawal that was given up. */
function needAwaited(reader: Reader, { id, spend_id }: WithdrawalRow): void {
  if (spend_id === null || !isAbandoned(reader.all(withdrawalsOfSpend, { spend_id }))) return;
  throw new Rejected(
    'psbt.abandoned',
    `Withdrawal ${id} was given up unsigned, and is not sent. This signed copy can still pay it, until a later payment from this account ` +
      'is confirmed, which spends a coin of it: keep it from others',
    'signed',
  );
}

/** Throws `Rejected`: as `takeBack` of the chain, and `psbt.replaced` for the transaction of an earlier version. */
function judged(
  app: App,
  row: WithdrawalRow,
  version: VersionRow,
  outside: OutsideSigning,
  given: Uint8Array,
): SignedSpend {
  try {
    return outside.takeBack(readPlan(version.plan), given);
  } catch (error) {
    const earlier = app.store.all(versionsOf, { spend_id: version.spend_id }).slice(0, -1);
    if (error instanceof Rejected && earlier.some(({ plan }) => fits(outside, plan, given))) throw replaced(row);
    throw error;
  }
}

function fits(outside: OutsideSigning, plan: string, given: Uint8Array): boolean {
  try {
    outside.takeBack(readPlan(plan), given);
    return true;
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    return error.code === 'psbt.unsigned' || error.code === 'psbt.signature' || error.code === 'psbt.sighash';
  }
}

const replaced = ({ id, cancel }: WithdrawalRow): Rejected =>
  new Rejected(
    'psbt.replaced',
    `This is an earlier PSBT of withdrawal ${id}, which ${cancel ? 'was canceled' : 'a newer one replaced'}: sign the newest. ` +
      'Both spend a same coin, so only one of them can confirm; until then keep this signed copy from others',
    'signed',
  );

/**
 * Gives up a withdrawal that was handed out, with all that its payment pays: nobody signed it, as far as is known. Throws
 * `Rejected('withdrawal.state')` if a signed copy is known, and `Unavailable` while the chain is not known as it is now.
 */
export function giveUp(app: App, tx: Tx, row: WithdrawalRow, why: string | null): WithdrawalRow {
  const { chain } = holderOf(app, row);
  if (!chain.isCurrent) {
    throw new Unavailable('Whether it was sent by the other wallet is not known before the chain is synced', 10);
  }
  if (!abandon(app, tx, chain, row, why)) {
    const text = `Withdrawal ${row.id} was signed: cancel it by another PSBT`;
    throw new Rejected('withdrawal.state', text);
  }
  return withdrawalOf(tx, row.id);
}

/** False: a signature of it is known, or a transaction spends its coins. */
function abandon(app: App, tx: Tx, chain: ChainRuntime, row: WithdrawalRow, why: string | null): boolean {
  if (row.state !== 'signed' || row.spend_id === null) return false;
  const known = versionFacts(tx, chain, row.spend_id);
  const isUnsigned = known.every(
    ({ version, users }) => version.raw === null && version.sent_at === null && users.length === 0,
  );
  if (!isUnsigned) return false;
  dropUnsigned(app, tx, row.spend_id);
  const reason = why === null ? message('ended.unsigned') : message('ended.unsigned_why', { reason: why });
  for (const one of tx.all(withdrawalsOfSpend, { spend_id: row.spend_id })) {
    if (isOpen(one.state)) applyEvent(app, tx, one, 'abandon', { reason, deadline_at: null, problem: null });
  }
  tx.run(setSpendState, { id: row.spend_id, state: 'waiting', closed_height: null });
  tx.afterCommit(() => app.wake.withdrawals(chain.key));
  return true;
}

/** Ends the withdrawals of other wallets whose time is over: those that nobody downloaded, and those that nobody signed. */
export function endUnsigned(app: App, tx: Tx, now: number): void {
  for (const account of app.directory.accounts().filter(isOutside)) {
    const chain = app.chains.find(account.chainKey);
    if (!chain?.isCurrent) continue;
    for (const { id } of tx.all(heldWithdrawals, { account_id: account.id })) {
      const row = withdrawalOf(tx, id);
      if (row.spend_id === null || row.deadline_at === null || row.deadline_at > now) continue;
      if (row.state === 'approved') endPlanned(app, tx, row, row.spend_id);
      else abandon(app, tx, chain, row, null);
    }
  }
}

/** The approval of what was never handed out is over. */
function endPlanned(app: App, tx: Tx, { id }: WithdrawalRow, spendId: number): void {
  dropUnsigned(app, tx, spendId);
  expire(app, tx, withdrawalOf(tx, id));
}

/** Whether the chain shows the transaction by which a version is known. */
function isShown(tx: Tx, chain: ChainRuntime, version: VersionRow): boolean {
  const known = versionFacts(tx, chain, version.spend_id);
  return known.some((fact) => fact.version.id === version.id && fact.depth !== null);
}

/** Why a withdrawal waits that is signed in another wallet; null: it does not, or it was taken back or seen. */
export function whyOutside(app: App, row: WithdrawalRow): Message | null {
  if (row.spend_id === null || (row.state !== 'approved' && row.state !== 'signed' && row.state !== 'broadcast'))
    return null;
  if (!isOutside(app.directory.accountOf(row.account_id))) return null;
  const version = newestOf(app.store, row);
  return version && version.raw === null && version.sent_at === null ? message('wait.outside') : null;
}

/**
 * Reads the transactions that spend coins of versions that were handed out, and recognises the payments among them whose id nobody
 * knew: a copy was broadcast elsewhere, or its signatures are a part of its id. Returns whether one could not be read.
 */
export async function recogniseOutside(app: App, chain: ChainRuntime): Promise<boolean> {
  const { outside } = chain.spending;
  if (!outside) return false;
  // two payments may share a coin, after one of them was given up
  const known = unsettledSpends(app.store, chain)
    .filter(({ account_id }) => isOutside(app.directory.accountOf(account_id)))
    .flatMap((spend) => versionFacts(app.store, chain, spend.id));
  const keys = known.flatMap((version) => version.keys);
  let waits = false;
  for (const txid of strangersOf(app.store, chain, known)) {
    if (isForeign(chain, txid)) continue;
    const raw = await rawOf(app, chain, keys, txid);
    if (raw === null) {
      waits = true;
      continue;
    }
    const own = known.find(({ version }) => outside.isOf(readPlan(version.plan), raw));
    await app.store.write((tx) => {
      if (own && recognise(app, tx, chain, own.version, txid)) return settleStored(app, tx, chain, txid, true);
      if (!own) noteForeign(chain, txid);
      return settleSpends(app, tx, chain);
    });
  }
  return waits;
}

/** False: the version is another one by now. */
function recognise(app: App, tx: Tx, chain: ChainRuntime, { id, plan, size }: VersionRow, txid: string): boolean {
  const version = tx.get(versionById, { id });
  if (!version || version.plan !== plan) return false;
  tx.run(storeOutside, { id, txid, raw: null, size, signed_at: app.now() });
  if (version.txid === null) markSigned(app, tx, version, version.fee);
  setEnd(app, tx, version, null);
  app.log.info(
    { withdrawals: tx.all(paidBy, { version_id: id }).map((row) => row.id), txid },
    'a payment was sent by another wallet',
  );
  tx.afterCommit(() => app.wake.chain(chain.key));
  return true;
}

/** The transaction that uses a key, without witnesses; null: the source does not have it now. */
async function rawOf(app: App, chain: ChainRuntime, keys: readonly string[], txid: string): Promise<string | null> {
  const state = keys.map((key) => keyState(app.store, chain, key)).find((one) => one?.usedBy === txid);
  try {
    return await transactionOf(chain, { txid, blockHash: state?.block?.hash ?? null });
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    return null;
  }
}
