/**
 * Restores a data directory from a backup. The result is quarantined, because it may be older than what really
 * happened: nothing is signed, notified or given out until the operator confirms.
 *
 * Invariant: the database is moved into place last, so that an interrupted restore leaves none and can be repeated.
 * Before the first file is moved, the working folder is renamed, so that files beside such a folder are known to come
 * from it.
 */
import type { KeyObject } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { tipOf } from '../../chains/adapter.ts';
import { isUtxo } from '../../chains/derive.ts';
import type { ChainId, Network } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import { INDICES_JUMPED, JUMPS_SEARCHED } from '../../domain/indices.ts';
import { message, templateOf } from '../../domain/messages.ts';
import {
  accountsToJump,
  automaticPolicies,
  beginWithdrawals,
  chainStates,
  doubtUnsigned,
  jumpWithdrawals,
  keepPaying,
  lastDebit,
  lastWithdrawal,
  leaveSpend,
  readyIndices,
  skipWebhooks,
  suspendPolicy,
  unsignedPlans,
} from '../../store/queries/restore.ts';
import { saveSetting } from '../../store/queries/settings.ts';
import { skippedOf } from '../../store/queries/skipped.ts';
import { dropKeys, dropPayouts, dropSpend, dropVersion, versionsOf } from '../../store/queries/withdrawals.ts';
import { storeProblems } from '../../store/snapshot.ts';
import { Store, type Tx } from '../../store/store.ts';
import type { BackupSecret } from '../../wallet/backup-key.ts';
import { exists } from '../../wallet/files.ts';
import { inspectSealed, openSealed, type SealedHeader, sealedHeader } from '../../wallet/sealed-file.ts';
import { revokeIn } from '../../wallet/signer/journal.ts';
import { hasWallet } from '../../wallet/wallet.ts';
import { skip } from '../addresses/skipped.ts';
import { insertIn } from '../alerts.ts';
import { endPlan } from '../gas/plans.ts';
import { QUARANTINE_SETTING, type QuarantineRecord } from '../recovery/quarantine.ts';
import { beginUnknownSpends } from '../recovery/unknown-spends.ts';
import { DATABASE, FOLDERS, inFolder, MANIFEST, type Sink, unpack } from './container.ts';
import { Manifest } from './make.ts';

/** Account chains, and chains with one change address, need change addresses only on the sandbox. */
const CHANGE_JUMPED_ELSEWHERE = 100;
/** The backup holds the simulated chains themselves: nothing was paid on them after it. */
const JUMPED_IN_SANDBOX = 100;

const VAULT = 'vault';
const WORK_PREFIX = 'restore-';
/** The suffix of the working folder's name while its files are moved. */
const MOVING_SUFFIX = '.moving';
/** Shown to the operator at a withdrawal that was unsigned in the backup. */
export const MAY_BE_PAID = message('wait.may_be_paid');

/** The header of a backup file. Throws `Rejected`: `backup.format`, `backup.missing`. */
export async function backupHeader(file: string): Promise<SealedHeader> {
  await there(file);
  const stream = createReadStream(file);
  try {
    return await sealedHeader(stream);
  } finally {
    stream.destroy();
  }
}

/** Checks a backup file as far as possible without its key. Throws `Rejected`: `backup.format`, `backup.damaged`. */
export const inspectBackup = (file: string): Promise<SealedHeader> => inspectSealed(file);

/** Opens it, because access(2) asks for the real user, who may be root. */
async function there(file: string): Promise<void> {
  const handle = await open(file).catch((error: NodeJS.ErrnoException) => {
    const text =
      error.code === 'ENOENT'
        ? `There is no file ${file}`
        : `${file} cannot be read (${error.code}): the user of the data directory has to be able to`;
    throw new Rejected('backup.missing', text, 'file');
  });
  await handle.close();
}

/**
 * Opens a backup and writes its files to the sinks that `place` makes. Throws `Rejected` `backup.*`: `missing`,
 * `format`, `words`, `damaged`.
 */
export async function unpackBackup(
  file: string,
  secret: { fingerprint: string; privateKey: KeyObject },
  place: (name: string) => Promise<Sink>,
): Promise<void> {
  await there(file);
  const names = await unpack(openSealed(createReadStream(file), secret), place);
  if (!names.includes(MANIFEST) || !names.includes(DATABASE)) {
    throw new Rejected('backup.damaged', 'This backup lacks its database');
  }
}

/** Throws `Rejected('backup.damaged')`. */
export function readManifest(text: string): Manifest {
  try {
    return Manifest.parse(JSON.parse(text));
  } catch {
    throw new Rejected('backup.damaged', 'The manifest of this backup cannot be read');
  }
}

/**
 * Restores into a data directory without a service. Throws `Rejected`: `restore.not_empty`, `backup.*`, `store.newer`
 * (made by a newer release).
 */
export async function restoreBackup(
  file: string,
  secret: BackupSecret,
  dataDir: string,
  now: number,
  jump = INDICES_JUMPED,
): Promise<Manifest> {
  await needUnoccupied(dataDir);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await removeLeftovers(dataDir);
  const work = await mkdtemp(join(dataDir, WORK_PREFIX));
  try {
    await unpackBackup(file, secret, inFolder(work));
    const manifest = readManifest(await readFile(join(work, MANIFEST), 'utf8'));
    const [problem] = storeProblems(join(work, DATABASE));
    if (problem) throw new Rejected('backup.damaged', `The database of this backup is not sound: ${problem}`);
    await quarantine(work, manifest, now, jump);
    await revokeApprovals(join(work, VAULT), secret, now);
    await rm(join(work, MANIFEST));
    await moveInto(work, dataDir);
    return manifest;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Throws `Rejected` `restore.not_empty` if a data directory has a service or a wallet. */
export async function needUnoccupied(dataDir: string): Promise<void> {
  const names = await readdir(dataDir).catch((): string[] => []);
  if (!names.includes(DATABASE) && (!names.includes(VAULT) || (await isCutOff(dataDir, names)))) return;
  const text = `${dataDir} holds a service already: restore into another folder with --data-dir`;
  throw new Rejected('restore.not_empty', text);
}

/**
 * Whether a restore was interrupted while it moved its files: then its working folder still has the database, the last
 * file. Without it, the restore was complete, and the files beside it may be newer than any backup.
 */
async function isCutOff(dataDir: string, names: readonly string[]): Promise<boolean> {
  const moving = names.filter((name) => name.startsWith(WORK_PREFIX) && name.endsWith(MOVING_SUFFIX));
  const left = await Promise.all(moving.map((name) => exists(join(dataDir, name, DATABASE))));
  return left.some(Boolean);
}

/** Deletes the remains of an interrupted restore. */
async function removeLeftovers(dataDir: string): Promise<void> {
  const names = await readdir(dataDir);
  // the folder that proves where they came from is deleted after them
  if (await isCutOff(dataDir, names)) await rm(join(dataDir, VAULT), { recursive: true, force: true });
  for (const name of names.filter((one) => one.startsWith(WORK_PREFIX))) {
    await rm(join(dataDir, name), { recursive: true, force: true });
  }
}

async function quarantine(folder: string, manifest: Manifest, now: number, jump: number): Promise<void> {
  const store = await Store.open(folder);
  try {
    await store.write((tx) => beginQuarantine(tx, manifest, now, jump));
  } finally {
    await store.close();
  }
  for (const leftover of ['lock', `${DATABASE}-wal`, `${DATABASE}-shm`])
    await rm(join(folder, leftover), { force: true });
}

/** Marks a restored database: its numbers jump ahead, and unsigned withdrawals are not sent automatically. */
export function beginQuarantine(tx: Tx, { made_at }: Pick<Manifest, 'made_at'>, now: number, jump: number): void {
  const heights = tx
    .all(chainStates, {})
    .map(({ chain_key, checkpoint }) => [chain_key, tipOf(checkpoint).height] as const);
  const record: QuarantineRecord = {
    since: now,
    backup_made_at: made_at,
    last_withdrawal: tx.get(lastWithdrawal, {})?.id ?? 0,
    heights: Object.fromEntries(heights),
    last_debit: tx.get(lastDebit, {})?.id ?? 0,
    policies: suspendPolicies(tx),
  };
  tx.run(saveSetting, { key: QUARANTINE_SETTING, value: JSON.stringify(record), updated_at: now });
  tx.run(skipWebhooks, {});
  dropUnsigned(tx);
  tx.run(doubtUnsigned, { problem: MAY_BE_PAID.text, problem_template: templateOf(MAY_BE_PAID), now });
  for (const { id, chain_key, next_index, next_change } of tx.all(accountsToJump, {})) {
    const [network, chain] = chain_key.split(':') as [Network, ChainId];
    const far = network === 'sandbox' ? Math.min(jump, JUMPED_IN_SANDBOX) : jump;
    const change = isUtxo(chain) ? far : Math.min(far, CHANGE_JUMPED_ELSEWHERE);
    // also takes back ready addresses, which may have been given out since
    const next = nextReceiving(tx, id, next_index);
    skip(tx, id, 0, [{ from: next, to: next + far }]);
    skip(tx, id, 1, [{ from: next_change, to: next_change + change }]);
    beginUnknownSpends(tx, { id, chain_key }, now);
    endPlan(tx, id, 'stopped', 'A restore ends every grant of gas: approve another plan');
  }
  tellJumps(tx, now);
  const by = { by: jump };
  if (tx.run(jumpWithdrawals, by).changes === 0) tx.run(beginWithdrawals, by);
}

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
  insertIn(tx, now, null, 'restore.far', `${jumps}`, message('restore.far', { jumps }));
}

/**
 * The index from which on no address of an account was given out when the backup was made. Ready addresses do not count: they
 * would move a wallet that is restored often farther than a search by its words looks.
 */
function nextReceiving(tx: Tx, account_id: number, next_index: number): number {
  const ready = tx.all(readyIndices, { account_id });
  let next = next_index;
  while (ready.pop()?.idx === next - 1) next--;
  return next;
}

/** Makes all earlier approvals and grants invalid, in case somebody kept them. */
async function revokeApprovals(folder: string, { journalKey, fingerprint }: BackupSecret, now: number): Promise<void> {
  // a separate signer has its wallet elsewhere
  if (!(await hasWallet(folder))) return;
  try {
    await revokeIn(folder, journalKey, fingerprint, now);
  } catch (error) {
    // with a damaged journal nothing is signed, and its replacement begins with a new epoch
    if (!(error instanceof Rejected) || error.code !== 'signer.journal') throw error;
  }
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

async function moveInto(prepared: string, dataDir: string): Promise<void> {
  const work = `${prepared}${MOVING_SUFFIX}`;
  await rename(prepared, work);
  for (const entry of await readdir(work)) {
    if (entry === DATABASE || (FOLDERS as readonly string[]).includes(entry)) continue;
    await rename(join(work, entry), join(dataDir, entry));
  }
  for (const folder of FOLDERS) {
    const isThere = await readdir(join(work, folder)).catch(() => null);
    if (isThere) await rename(join(work, folder), join(dataDir, folder));
  }
  await rename(join(work, DATABASE), join(dataDir, DATABASE));
  await rm(work, { recursive: true, force: true });
  if (process.platform === 'win32') return;
  const handle = await open(dataDir, 'r');
  await handle.sync();
  await handle.close();
}
