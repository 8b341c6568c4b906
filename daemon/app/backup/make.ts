/**
 * Makes a backup: one encrypted file with the database as of one moment, the vault (itself encrypted), the signer's
 * journal and the configuration. Needs no secret, so it is possible while the wallet is locked.
 *
 * Invariant: the file exists completely or not at all, and was opened and found sound before it gets its name. The
 * journal is copied after the database, so that it has everything that was signed.
 */
import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { access, mkdir, mkdtemp, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { Rejected } from '../../domain/errors.ts';
import { GAP } from '../../domain/indices.ts';
import { fileCode, isFullFile, whyRefused } from '../../kit/full-disk.ts';
import { isDiskError, troubleOf } from '../../store/disk-errors.ts';
import { copyDatabase, settle, storedGap, storeFacts } from '../../store/snapshot.ts';
import { type BackupKey, readBackupKey } from '../../wallet/backup-key.ts';
import { isTemporary, syncFolder } from '../../wallet/files.ts';
import { seal } from '../../wallet/sealed-file.ts';
import { HOLDER_FILE, JOURNAL_BYTES_MAX } from '../../wallet/signer/files.ts';
import { belongsIn, CONFIG, DATABASE, FOLDERS, MANIFEST, pack } from './container.ts';
import { BACKUP_WORK, sweepDataDir } from './leftovers.ts';
import { digestsOf, needSound, needWhole, reading } from './prove.ts';

export const VAULT_FOLDER = 'vault';
const CONTENT = 'content';
/** A disk that takes no file, and is not full. */
const REFUSING = new Set(['EROFS', 'EIO']);

export const Manifest = z.object({
  release: z.string(),
  made_at: z.string(),
  fingerprint: z.string(),
  /** The `--gap` of a restore from the words alone; absent in backups of earlier releases. */
  gap: z.int().optional(),
  facts: z.object({
    counts: z.record(z.string(), z.number()),
    accounts: z.array(
      z.object({ chain_key: z.string(), account_no: z.number(), next_index: z.number(), targets: z.number() }),
    ),
    balances: z.array(
      z.object({ chain_key: z.string(), account_no: z.number(), asset: z.string(), units: z.string() }),
    ),
  }),
});
export type Manifest = z.infer<typeof Manifest>;

export type BackupJob = {
  dataDir: string;
  /** The destination; must not exist. */
  file: string;
  release: string;
  /** Milliseconds since 1970. */
  now: number;
  /** A folder from `openWork` with a copy of the database; absent: both are made here. */
  work?: string;
};
export type BackupMade = { file: string; bytes: number; manifest: Manifest };

/**
 * Writes a backup of a data directory, also while its daemon runs. Throws `Rejected`: `backup.no_wallet`,
 * `backup.exists`, `backup.folder` (not writable, or no room), `backup.unsound` (the database is damaged), `backup.damaged`
 * (the written file is).
 */
export async function makeBackup(job: BackupJob): Promise<BackupMade> {
  const { fingerprint, publicKey } = await needBackupKey(job);
  const file = resolve(job.file);
  const work = job.work ?? (await withRoom(job.dataDir, () => openWork(job.dataDir)));
  const partial = `${file}.${randomBytes(6).toString('hex')}.partial`;
  try {
    const content = join(work, CONTENT);
    const { manifest, digests } = await withRoom(job.dataDir, async () => {
      const collected = await collect(job, work, fingerprint);
      needSound(join(work, DATABASE));
      // to a file first: the sealed content states its length, so that a truncated one is recognised without the key
      await pipeline(pack(collected.files), createWriteStream(content, { flags: 'wx', mode: 0o600 }));
      return { manifest: collected.manifest, digests: await digestsOf(collected.files) };
    });
    await rm(join(work, DATABASE));
    const { size } = await stat(content);
    const { sealed, reopen } = await seal(createReadStream(content), size, publicKey, fingerprint, job.now);
    await writing(file, () => pipeline(sealed, createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true })));
    await needWhole(reopen(createReadStream(partial)), digests);
    await rename(partial, file);
    await syncFolder(dirname(file));
    return { file, bytes: (await stat(file)).size, manifest };
  } finally {
    // in a folder that cannot be entered, this fails too: the first error says why
    await rm(partial, { force: true }).catch(() => undefined);
    await rm(work, { recursive: true, force: true });
  }
}

/** Checks whether a backup is possible. Throws `Rejected`: `backup.no_wallet`, `backup.exists`. */
export async function needBackupKey({ dataDir, file }: Pick<BackupJob, 'dataDir' | 'file'>): Promise<BackupKey> {
  const key = await readBackupKey(join(dataDir, VAULT_FOLDER));
  if (await isThere(file)) throw new Rejected('backup.exists', `${file} exists already: give another name`, 'file');
  return key;
}

/** A working folder in the data directory. No backup may be running, but one that was given up. Throws when `signal` is aborted. */
export async function openWork(dataDir: string, signal?: AbortSignal): Promise<string> {
  await sweepDataDir(dataDir, signal);
  return mkdtemp(join(dataDir, BACKUP_WORK));
}

/** Works in the data directory. Throws `Rejected('backup.folder')` if its disk is full or refuses writes. */
export async function withRoom<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isFull = isFullFile(error);
    const code = fileCode(error as NodeJS.ErrnoException);
    if (REFUSING.has(code)) {
      const text = `No backup was made: in ${dataDir} ${whyRefused(error as NodeJS.ErrnoException)}. Mend that, and try again`;
      throw new Rejected('backup.folder', text);
    }
    if (!isFull && !isDiskError(error)) throw error;
    const why = isFull ? 'the disk is full' : troubleOf(error).message;
    throw new Rejected(
      'backup.folder',
      `No backup was made: in ${dataDir} ${why}. While one is made, it needs room there for the database twice`,
    );
  }
}

async function writing(file: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (!code || !syscall) throw error;
    throw new Rejected(
      'backup.folder',
      `${file} cannot be written: ${whyRefused(error as NodeJS.ErrnoException)}`,
      'file',
    );
  }
}

async function collect(
  { dataDir, release, now, work: given }: BackupJob,
  work: string,
  fingerprint: string,
): Promise<{ files: { name: string; path: string }[]; manifest: Manifest }> {
  const database = join(work, DATABASE);
  const { facts, gap } = reading(() => {
    if (given === undefined) copyDatabase(join(dataDir, DATABASE), database);
    else settle(database);
    return { facts: storeFacts(database), gap: storedGap(database) ?? GAP };
  });
  const manifest: Manifest = { release, made_at: new Date(now).toISOString(), fingerprint, gap, facts };
  const files = [
    { name: MANIFEST, path: join(work, MANIFEST) },
    { name: DATABASE, path: database },
  ];
  await writeFile(join(work, MANIFEST), JSON.stringify(manifest), { mode: 0o600 });
  for (const folder of FOLDERS) files.push(...(await filesOf(dataDir, folder, work)));
  if (await isThere(join(dataDir, CONFIG))) files.push(await copied(dataDir, CONFIG, work));
  return { files, manifest };
}

async function filesOf(dataDir: string, folder: string, work: string): Promise<{ name: string; path: string }[]> {
  const entries = await readdir(join(dataDir, folder), { withFileTypes: true }).catch(() => []);
  // in order: the head of the signer's files may be behind its journal, but not ahead of it
  const names = entries
    .filter((entry) => entry.isFile() && !isTemporary(entry.name) && entry.name !== HOLDER_FILE)
    .map((entry) => `${folder}/${entry.name}`)
    .sort();
  await mkdir(join(work, folder), { recursive: true, mode: 0o700 });
  const files: { name: string; path: string }[] = [];
  for (const name of names.filter(belongsIn)) files.push(await copied(dataDir, name, work));
  return files;
}

/** Copies a file first, because a growing journal would exceed the announced size. */
async function copied(dataDir: string, name: string, work: string): Promise<{ name: string; path: string }> {
  const source = await open(join(dataDir, name), 'r');
  try {
    const { size } = await source.stat();
    if (size > JOURNAL_BYTES_MAX) throw new Rejected('backup.folder', `${name} is too large for a backup`);
    // up to the current size; later records are for the next backup
    const upTo = size === 0 ? '' : source.createReadStream({ start: 0, end: size - 1, autoClose: false });
    await writeFile(join(work, name), upTo, { mode: 0o600 });
  } finally {
    await source.close();
  }
  return { name, path: join(work, name) };
}

export async function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
