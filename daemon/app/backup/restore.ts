/**
 * Restores a data directory from a backup. The result is quarantined, because it may be older than what really
 * happened: nothing is signed, notified or given out until the operator confirms.
 *
 * Invariant: the database is moved into place last, so that an interrupted restore leaves none and can be repeated.
 * Before the first file is moved, the working folder is renamed, so that files beside such a folder are known to come
 * from it.
 */
import { createReadStream } from 'node:fs';
import { chmod, mkdtemp, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Rejected } from '../../domain/errors.ts';
import { INDICES_JUMPED } from '../../domain/indices.ts';
import { isFullFile, whyRefused } from '../../kit/full-disk.ts';
import { makeDataFolder } from '../../store/data-folder.ts';
import { isDiskError, isFullError, troubleOf } from '../../store/disk-errors.ts';
import { takeLock } from '../../store/lock.ts';
import { settle, storeProblems, strangeIn } from '../../store/snapshot.ts';
import { Store } from '../../store/store.ts';
import type { BackupSecret, OpenedBackup } from '../../wallet/backup-key.ts';
import { type BackupPass, needOwnPass } from '../../wallet/backup-pass.ts';
import { exists } from '../../wallet/files.ts';
import { inspectSealed, type Opener, openSealed, type SealedHeader, sealedHeader } from '../../wallet/sealed-file.ts';
import { revokeIn } from '../../wallet/signer/journal.ts';
import { hasWallet } from '../../wallet/wallet.ts';
import { beginQuarantine } from '../recovery/begin-quarantine.ts';
import { CONFIG, DATABASE, FOLDERS, inFolder, MANIFEST, type Sink, unpack } from './container.ts';
import { isCutOff, isMoving, MOVING_SUFFIX, RESTORE_WORK } from './leftovers.ts';
import { Manifest } from './make.ts';
import { compareAccounts, foreignReady } from './own-accounts.ts';

export const VAULT = 'vault';
const THIEF = 'A thief in the service may have put it there, so that payers pay him: restore an older backup';
/** The configuration of a backup, beside one that was there before. */
export const CONFIG_OF_BACKUP = `${CONFIG}.of-backup`;

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

/** Checks what can be checked of a backup file without its key. Throws `Rejected`: `backup.format`, `backup.damaged`. */
export const inspectBackup = (file: string): Promise<SealedHeader> => inspectSealed(file);

/** Opens it, because access(2) asks for the real user, who may be root. */
export async function there(file: string): Promise<void> {
  const handle = await open(file).catch((error: NodeJS.ErrnoException) => {
    const text =
      error.code === 'ENOENT'
        ? `There is no file ${file}`
        : `${file} cannot be read (${error.code}): the user of the data directory has to be able to`;
    throw new Rejected('backup.missing', text, 'file');
  });
  const isFolder = (await handle.stat()).isDirectory();
  await handle.close();
  if (isFolder) throw new Rejected('backup.missing', `${file} is a folder: name the file of the backup in it`, 'file');
}

/**
 * Opens a backup, writes its files to the sinks that `place` makes, and gives their names. Throws `Rejected`:
 * `backup.missing`, `backup.format`, `backup.words`, `backup.pass`, `backup.damaged`.
 */
export async function unpackBackup(
  file: string,
  by: Opener,
  place: (name: string) => Promise<Sink>,
): Promise<string[]> {
  await there(file);
  const names = await unpack(openSealed(createReadStream(file), by), place);
  if (!names.includes(MANIFEST) || !names.includes(DATABASE)) {
    throw new Rejected('backup.damaged', 'This backup lacks its database');
  }
  return names;
}

/** Throws `Rejected('backup.damaged')`. */
export function readManifest(text: string): Manifest {
  try {
    return Manifest.parse(JSON.parse(text));
  } catch {
    throw new Rejected('backup.damaged', 'The manifest of this backup cannot be read');
  }
}

/** `unproved`: accounts that the words do not give, by the backup's word alone, each with its descriptor or address. */
type Restored = { manifest: Manifest; unproved: string[] };
/** `keptConfig`: the configuration that was there stays, and that of the backup is beside it. */
type Moved = { keptConfig: boolean };

type Words = Pick<OpenedBackup, 'secret' | 'account' | 'kept'>;

/** Throws `Rejected('backup.pass')` for a backup with a wallet in it, which a machine without the words shall not get. */
export function needNoWallet(hasOne: boolean): void {
  if (!hasOne) return;
  const text =
    'This backup has a wallet in it, of a service that had the words: a pass opens none such. Restore it with the words';
  throw new Rejected('backup.pass', text);
}

/**
 * Restores into a data directory without a service. Throws `Rejected`: `restore.not_empty`, `backup.*`, `data_dir`, `store.newer`
 * (made by a newer release). Anybody can seal a backup to a wallet: whoever had the service could have put accounts of his own into it.
 * A pass says that its accounts were compared with the words where it was made. `others`: accounts that the words do not give are taken, too.
 */
export async function restoreBackup(
  file: string,
  by: Words | BackupPass,
  dataDir: string,
  now: number,
  jump = INDICES_JUMPED,
  { others = false } = {},
): Promise<Restored & Moved> {
  const words = 'secret' in by ? by : null;
  if ('hash' in by) {
    await there(file);
    await needOwnPass(file, by);
  }
  const { result, keptConfig } = await restoreInto(dataDir, async (work) => {
    await unpackBackup(file, 'secret' in by ? by.secret : by, inFolder(work));
    const manifest = readManifest(await readFile(join(work, MANIFEST), 'utf8'));
    const [problem] = storeProblems(join(work, DATABASE));
    if (problem) throw new Rejected('backup.damaged', `The database of this backup is not sound: ${problem}`);
    needNothingStrange(join(work, DATABASE));
    if (!words) needNoWallet(await hasWallet(join(work, VAULT)));
    const unproved = words ? needOwnAccounts(join(work, DATABASE), words, others) : [];
    await quarantine(work, manifest, now, jump);
    if (words) await revokeApprovals(join(work, VAULT), words.secret, now);
    await rm(join(work, MANIFEST));
    return { manifest, unproved };
  });
  return { ...result, keptConfig };
}

/** Throws `Rejected('backup.damaged')` for a database that would change by itself what the restored service stores. */
export function needNothingStrange(database: string): void {
  const [strange] = strangeIn(database);
  if (strange === undefined) return;
  throw new Rejected('backup.damaged', `The database has the ${strange}, which no release makes. ${THIEF}`);
}

/** The accounts that the words do not prove. Throws `Rejected('backup.words')` for one that they contradict, unless `others` are taken. */
function needOwnAccounts(database: string, words: Words, others: boolean): string[] {
  const { foreign, imported, watchOnly } = compareAccounts(database, words);
  if (foreign.length > 0 && !others) {
    const text = `${foreign[0]}. ${THIEF}. If the service had other words before, and you know this account, add --other-accounts`;
    throw new Rejected('backup.words', text);
  }
  return [...foreign, ...watchOnly, ...imported];
}

/**
 * Moves what `fill` puts into a working folder into an empty data directory. Throws `Rejected`: `restore.not_empty`,
 * `store.locked`, `data_dir`, and what `fill` throws.
 */
export async function restoreInto<T>(
  dataDir: string,
  fill: (work: string) => Promise<T>,
): Promise<Moved & { result: T }> {
  await needUnoccupied(dataDir);
  await makeDataFolder(dataDir);
  return written(dataDir, async () => {
    // a service that starts meanwhile would write to the database that this one replaces
    const lock = takeLock(dataDir);
    try {
      // another user who may read it could hold it
      await chmod(lock.name, 0o600);
      await needUnoccupied(dataDir);
      await removeLeftovers(dataDir);
      const work = await mkdtemp(join(dataDir, RESTORE_WORK));
      try {
        const result = await fill(work);
        return { result, keptConfig: await moveInto(work, dataDir) };
      } finally {
        await rm(work, { recursive: true, force: true });
      }
    } finally {
      lock.close();
    }
  });
}

/** Says in words why the disk does not take the files. Throws `Rejected('data_dir')` for that. */
async function written<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const file = error as NodeJS.ErrnoException;
    const isFull = isFullFile(file) || isFullError(error);
    if (!isFull && file.syscall === undefined && !isDiskError(error)) throw error;
    const why = isFull ? 'the disk is full' : file.syscall === undefined ? troubleOf(error).message : whyRefused(file);
    const advice = isFull ? 'Make room' : 'Mend that';
    throw new Rejected(
      'data_dir',
      `Nothing was restored into ${dataDir}: ${why}. ${advice}, or give another folder with --data-dir`,
    );
  }
}

/** Throws `Rejected` `restore.not_empty` if a data directory has a service or a wallet. */
export async function needUnoccupied(dataDir: string): Promise<void> {
  const names = await readdir(dataDir).catch((): string[] => []);
  const log = names.find((name) => name === `${DATABASE}-wal` || name === `${DATABASE}-journal`);
  if (log !== undefined && !names.includes(DATABASE)) {
    // SQLite would read it into the restored database
    const text = `${dataDir} holds ${log} of another database: move it away, or restore into another folder with --data-dir`;
    throw new Rejected('restore.not_empty', text);
  }
  if (!names.includes(DATABASE) && (!names.includes(VAULT) || (await isCutOff(dataDir, names)))) return;
  const text = `${dataDir} holds a service already: restore into another folder with --data-dir`;
  throw new Rejected('restore.not_empty', text);
}

/** Deletes the remains of an interrupted restore. */
async function removeLeftovers(dataDir: string): Promise<void> {
  const names = await readdir(dataDir);
  // the folder that proves where they came from is deleted after them
  if (await isCutOff(dataDir, names)) await rm(join(dataDir, VAULT), { recursive: true, force: true });
  for (const name of names.filter((one) => one.startsWith(RESTORE_WORK) || isMoving(one))) {
    await rm(join(dataDir, name), { recursive: true, force: true });
  }
}

/**
 * Begins the quarantine in a copied database, which gets the present schema. Throws `Rejected`: `store.newer`, and `backup.words` where
 * an address that it would give out after that is not of its account: those that were ready are skipped, unless it says otherwise.
 */
export async function quarantine(
  folder: string,
  made: Pick<Manifest, 'made_at'>,
  now: number,
  jump: number,
): Promise<void> {
  const store = await Store.open(folder);
  try {
    await store.write((tx) => beginQuarantine(tx, made, now, jump));
  } finally {
    await store.close();
  }
  // on a full disk the quarantine may still be in the log alone
  settle(join(folder, DATABASE));
  await rm(join(folder, 'lock'), { force: true });
  const [foreign] = foreignReady(join(folder, DATABASE));
  if (foreign !== undefined) throw new Rejected('backup.words', `${foreign}. ${THIEF}`);
}

/** Makes all earlier approvals and grants invalid, in case somebody kept them. */
export async function revokeApprovals(
  folder: string,
  { journalKey, fingerprint }: BackupSecret,
  now: number,
): Promise<void> {
  // a separate signer has its wallet elsewhere
  if (!(await hasWallet(folder))) return;
  try {
    await revokeIn(folder, journalKey, fingerprint, now);
  } catch (error) {
    // with a damaged journal nothing is signed, and its replacement begins with a new epoch
    if (!(error instanceof Rejected) || error.code !== 'signer.journal') throw error;
  }
}

/** Whether the second file is there, and is another one. */
async function isOther(one: string, other: string): Promise<boolean> {
  return (await exists(other)) && !(await readFile(one)).equals(await readFile(other));
}

/** Whether the configuration of the backup was put beside the one that is there. */
async function moveInto(prepared: string, dataDir: string): Promise<boolean> {
  const work = `${prepared}${MOVING_SUFFIX}`;
  await rename(prepared, work);
  // of an earlier restore
  await rm(join(dataDir, CONFIG_OF_BACKUP), { force: true });
  let keptConfig = false;
  for (const entry of await readdir(work)) {
    if (entry === DATABASE || (FOLDERS as readonly string[]).includes(entry)) continue;
    // one that is there was written for this machine
    const isTaken = entry === CONFIG && (await isOther(join(work, CONFIG), join(dataDir, CONFIG)));
    keptConfig ||= isTaken;
    await rename(join(work, entry), join(dataDir, isTaken ? CONFIG_OF_BACKUP : entry));
  }
  for (const folder of FOLDERS) {
    const isThere = await readdir(join(work, folder)).catch(() => null);
    if (isThere) await rename(join(work, folder), join(dataDir, folder));
  }
  await rename(join(work, DATABASE), join(dataDir, DATABASE));
  await rm(work, { recursive: true, force: true });
  if (process.platform === 'win32') return keptConfig;
  const handle = await open(dataDir, 'r');
  await handle.sync();
  await handle.close();
  return keptConfig;
}
