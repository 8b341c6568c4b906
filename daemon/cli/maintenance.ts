/** `countinghouse maintenance`: the stored rows by kind, and their removal. */
import { statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from 'better-sqlite3';
import type { Command } from 'commander';
import { action } from './commands.ts';
import { EXIT, Failure, type Io, usage } from './io.ts';
import { confirm } from './prompt.ts';
import type { Session } from './session.ts';
import { megabytes, pairs, table } from './table.ts';

const DATABASE = 'countinghouse.db';
const TABLES_SHOWN_MAX = 15;

type Options = { free?: boolean; compact?: boolean };

export function maintenanceCommand(root: Command, io: Io): void {
  root
    .command('maintenance')
    .option('--free', 'remove now what the service removes every night')
    .option('--compact', 'give free room inside the database back to the disk; the service must not run')
    .description('show how much is stored, by kind, and how much room is free in the database')
    .action(action(io, maintenance));
}

async function maintenance(session: Session, { free = false, compact = false }: Options): Promise<void> {
  if (free && compact) throw usage('give --free or --compact, not both');
  if (free) return freeNow(session);
  return session.asDataUser(() => (compact ? compactNow(session) : list(session)));
}

async function freeNow(session: Session): Promise<void> {
  const freed = await session.call('maintenance.free', {});
  session.print(freed, () =>
    pairs([
      ['Transactions of coins that are long spent', `${freed.transactions}`],
      ['Attempts of webhooks', `${freed.attempts}`],
      ['Closed alerts', `${freed.alerts}`],
    ]),
  );
}

/** The database, or `Failure` where there is none. */
async function open(session: Session, readonly: boolean) {
  const file = join(session.dataDir, DATABASE);
  const { default: Database } = await import('better-sqlite3');
  if (!statSync(file, { throwIfNoEntry: false })) throw new Failure(`there is no database in ${session.dataDir}`);
  return { file, db: new Database(file, { readonly, timeout: 5_000 }) };
}

/** Reads every page, in this process and not in the service's. */
async function list(session: Session): Promise<void> {
  const { file, db } = await open(session, true);
  try {
    const rows = db
      .prepare(
        `SELECT s.tbl_name AS name, sum(d.pgsize) AS bytes FROM dbstat d JOIN sqlite_schema s ON s.name = d.name
         WHERE d.aggregate = TRUE GROUP BY s.tbl_name ORDER BY bytes DESC`,
      )
      .all() as { name: string; bytes: number }[];
    const pageSize = db.pragma('page_size', { simple: true }) as number;
    const unused = (db.pragma('freelist_count', { simple: true }) as number) * pageSize;
    const bytes = statSync(file).size;
    const log = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    session.print({ bytes, log_bytes: log, unused_bytes: unused, tables: rows }, () =>
      [
        pairs([
          ['Database', megabytes(bytes)],
          ['Free room in it', megabytes(unused)],
          ['Write-ahead log', megabytes(log)],
        ]),
        table(
          ['KIND', '>WITH ITS INDEXES'],
          rows.slice(0, TABLES_SHOWN_MAX).map((row) => [row.name, megabytes(row.bytes)]),
          'Nothing is stored yet.',
        ),
      ].join('\n'),
    );
  } finally {
    db.close();
  }
}

async function compactNow(session: Session): Promise<void> {
  const { file, db } = await open(session, false);
  const lock = await lockOf(session);
  try {
    const before = statSync(file).size;
    const { bavail, bsize } = statfsSync(session.dataDir);
    // the new file, and the log with the same pages
    if (bavail * bsize < 2 * before) throw new Failure(`this needs ${megabytes(2 * before)} of free room for a while`);
    await confirm(session.io, session.yes, `Write ${megabytes(before)} anew?`);
    await rewrite(db, session.dataDir);
    const after = statSync(file).size;
    session.print({ before, after }, () => `${megabytes(before)} before, ${megabytes(after)} now.\n`);
  } finally {
    db.close();
    lock.close();
  }
}

/** Throws `Failure` if the disk takes no more, or refuses it: then the database is what it was. */
async function rewrite(db: Database, dataDir: string): Promise<void> {
  // SQLite's temporary file: by default it is in /var/tmp, whose free space was not checked
  process.env.SQLITE_TMPDIR = dataDir;
  try {
    db.exec('VACUUM');
    db.pragma('wal_checkpoint(TRUNCATE)');
  } catch (error) {
    const { isDiskError, troubleOf } = await import('../store/disk-errors.ts');
    if (!isDiskError(error)) throw error;
    throw new Failure(`in ${dataDir} ${troubleOf(error).message}. The database is as it was`);
  }
}

/** Keeps a service from starting meanwhile. */
async function lockOf({ dataDir }: Session): Promise<{ close(): void }> {
  const { takeLock } = await import('../store/lock.ts');
  try {
    return takeLock(dataDir);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'store.locked') throw error;
    throw new Failure('stop the service first: it could not store anything meanwhile', EXIT.locked, 'store.locked');
  }
}
