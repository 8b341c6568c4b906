/**
 * Takes over a copy of the database alone, such as a replica: it loses seconds where a backup loses a day. The result is
 * quarantined, as after any restore, because the copy may be older than what really happened.
 *
 * Invariant: the given file is only read.
 */
import { chmod, copyFile, mkdir, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { z } from 'zod';
import { Rejected } from '../../domain/errors.ts';
import { INDICES_JUMPED } from '../../domain/indices.ts';
import { isDamage } from '../../store/disk-errors.ts';
import { copyProblems, isOurs, settingIn, settle, storeFacts } from '../../store/snapshot.ts';
import type { OpenedBackup } from '../../wallet/backup-key.ts';
import { exists } from '../../wallet/files.ts';
import { HOLDER_FILE } from '../../wallet/signer/files.ts';
import { createWallet, hasWallet } from '../../wallet/wallet.ts';
import { STAMP_SETTING } from '../recovery/clock.ts';
import { DATABASE } from './container.ts';
import { needNothingStrange, quarantine, restoreInto, revokeApprovals, there, VAULT } from './restore.ts';
import { addressProblems } from './verify.ts';

/** SQLite's file format, 1.3.1. */
const HEADER = 'SQLite format 3\0';
const Stamp = z.object({ at: z.number() }).nullable().catch(null);

/** The wallet that belongs to the database: a copy of its folder, or a new one of the same words with a passphrase of this machine. */
export type GivenWallet = { folder: string } | { words: string; mnemonicPassphrase: string; passphrase: string };

/** `made_at`: the time to which the database reaches, to a minute. `unproved`: see `restoreBackup`. */
type TakenOver = { made_at: string; invoices: number; accounts: number; unproved: string[] };

/**
 * Restores into a data directory without a service. `opened`: the keys of the wallet. Throws `Rejected`: `restore.not_empty`,
 * `backup.missing`, `backup.format`, `backup.damaged`, `backup.words` (it is the database of another wallet), `vault.missing`,
 * `data_dir`, `store.newer` (made by a newer release).
 */
export async function restoreDatabase(
  file: string,
  wallet: GivenWallet,
  opened: OpenedBackup,
  dataDir: string,
  now: number,
  jump = INDICES_JUMPED,
): Promise<TakenOver> {
  await needDatabase(file);
  if ('folder' in wallet && !(await hasWallet(wallet.folder))) {
    throw new Rejected('vault.missing', `There is no wallet in ${wallet.folder}: name the folder that has wallet.json`);
  }
  const { result } = await restoreInto(dataDir, async (work) => {
    const database = join(work, DATABASE);
    await copyOf(file, database);
    // the log, or what undoes a change that was under way
    for (const beside of ['-wal', '-journal'])
      if (await exists(`${file}${beside}`)) await copyOf(`${file}${beside}`, `${database}${beside}`);
    needSound(file, database);
    needNothingStrange(database);
    const { foreign, watchOnly } = addressProblems(database, opened);
    if (foreign.length > 0) {
      throw new Rejected('backup.words', `This wallet is not the one of ${file}: ${foreign[0]}`);
    }
    const { counts, accounts } = storeFacts(database);
    const stamped = Stamp.parse(settingIn(database, STAMP_SETTING))?.at || (await stat(file)).mtimeMs;
    const made_at = new Date(stamped).toISOString();
    const vault = join(work, VAULT);
    if ('folder' in wallet) await copyWallet(wallet.folder, vault);
    else await createWallet(vault, wallet);
    await quarantine(work, { made_at }, now, jump);
    await revokeApprovals(vault, opened.secret, now);
    return { made_at, invoices: counts.invoices, accounts: accounts.length, unproved: watchOnly };
  });
  return result;
}

/** A copy for its owner alone, who may change it: of a file on a stick, say, or of one that nobody may write to. */
async function copyOf(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  await chmod(to, 0o600);
}

/** A lock or a socket of a signer that ran there is none of the wallet. */
async function copyWallet(from: string, to: string): Promise<void> {
  await mkdir(to, { mode: 0o700 });
  for (const name of (await readdir(from)).filter((each) => each !== HOLDER_FILE)) {
    if ((await stat(join(from, name))).isFile()) await copyOf(join(from, name), join(to, name));
  }
}

/** Throws `Rejected` for what is no SQLite database. */
async function needDatabase(file: string): Promise<void> {
  await there(file);
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEADER.length), 0, HEADER.length, 0);
    if (bytesRead === HEADER.length && buffer.toString('latin1') === HEADER) return;
  } finally {
    await handle.close();
  }
  throw new Rejected(
    'backup.format',
    `${file} is no SQLite database. A file of \`countinghouse backup\` is restored without --database`,
  );
}

/** Folds the log of a copied database into it, and checks the whole of it. Throws `Rejected`. */
function needSound(file: string, copy: string): void {
  let problem: string | undefined;
  try {
    settle(copy);
    if (!isOurs(copy)) throw new Rejected('backup.format', `${file} is a database of another program`);
    [problem] = copyProblems(copy);
  } catch (error) {
    if (!(error instanceof Database.SqliteError) || !isDamage(error)) throw error;
    problem = `${error.message} (${error.code})`;
  }
  if (problem !== undefined) throw new Rejected('backup.damaged', `${file} is not sound: ${problem}`);
}
