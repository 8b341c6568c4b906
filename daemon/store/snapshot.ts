/**
 * Copies of the database as of one moment, made beside the writer (a WAL reader sees one commit and blocks no one), and
 * facts about a copy, for checking it.
 */
import { open } from 'node:fs/promises';
import Database from 'better-sqlite3';
import { isDamage } from './disk-errors.ts';
import { strangeObjects } from './migrations.ts';

/** Facts that a backup's manifest repeats and a drill compares. Units are decimal text. */
export type StoreFacts = {
  counts: { businesses: number; invoices: number; payments: number; credits: number; webhooks: number };
  accounts: { chain_key: string; account_no: number; next_index: number; targets: number }[];
  balances: { chain_key: string; account_no: number; asset: string; units: string }[];
};

/** Blocks the event loop for about a millisecond. */
const PAGES_PER_STEP = 200;
/** The copied pages after which the disk is synced outside the event loop, which makes the last sync short. */
const PAGES_PER_SYNC = 4_000;

/**
 * Copies an open database to `to`, which must not exist, as it is at the end of the copy. Works in steps between
 * requests. Writes of this connection meanwhile go into the copy too, and no step keeps the log from being folded.
 * Throws when `signal` is aborted.
 */
export async function copyInSteps(db: Database.Database, to: string, signal: AbortSignal): Promise<void> {
  const copy = await open(to, 'wx', 0o600);
  let syncing: Promise<void> | null = null;
  let failure: unknown;
  let unsynced = 0;
  const sync = (): void => {
    unsynced = 0;
    syncing = copy
      .datasync()
      .catch((error: unknown) => {
        failure = error;
      })
      .finally(() => {
        syncing = null;
      });
  };
  try {
    await db.backup(to, {
      progress: ({ remainingPages }) => {
        signal.throwIfAborted();
        if (failure !== undefined) throw failure;
        unsynced += PAGES_PER_STEP;
        const isNearEnd = remainingPages <= PAGES_PER_STEP;
        if (syncing === null && (unsynced >= PAGES_PER_SYNC || (isNearEnd && unsynced > PAGES_PER_STEP))) sync();
        // the last step ends with a sync, which would block the event loop for as long as this one takes
        return isNearEnd && syncing !== null ? 0 : PAGES_PER_STEP;
      },
    });
  } finally {
    await syncing;
    await copy.close();
  }
}

/** Copies the database file `from` to `to`, which must not exist, and compacts it. Slow: not for the event loop. */
export function copyDatabase(from: string, to: string): void {
  const db = new Database(from, { readonly: true, fileMustExist: true });
  try {
    db.prepare('VACUUM INTO ?').run(to);
  } finally {
    db.close();
  }
}

/** Turns a copied database into a single file without a log. */
export function settle(file: string): void {
  const db = new Database(file, { fileMustExist: true });
  try {
    db.pragma('journal_mode = DELETE');
  } finally {
    db.close();
  }
}

/** An open database, or the file of one. */
export type Source = Database.Database | string;

function reading<T>(source: Source, read: (db: Database.Database) => T): T {
  if (typeof source !== 'string') return read(source);
  const db = new Database(source, { readonly: true, fileMustExist: true });
  try {
    return read(db);
  } finally {
    db.close();
  }
}

export function storeFacts(source: Source): StoreFacts {
  return reading(source, (db) => {
    const count = (table: string): number => db.prepare(`SELECT COUNT(*) FROM ${table}`).pluck().get() as number;
    const accounts = db
      .prepare(
        `SELECT chain_key, account_no, next_index,
           (SELECT COUNT(*) FROM target WHERE account_id = account.id) AS targets
         FROM account JOIN business ON business.id = account.business_id ORDER BY account.id`,
      )
      .all() as StoreFacts['accounts'];
    const balances = db
      .prepare(
        `SELECT chain_key, account_no, asset, units FROM balance JOIN account ON account.id = balance.account_id
           JOIN business ON business.id = account.business_id ORDER BY account.id, asset`,
      )
      .all() as StoreFacts['balances'];
    return {
      counts: {
        businesses: count('business'),
        invoices: count('invoice'),
        payments: count('payment'),
        credits: count('credit'),
        webhooks: count('webhook'),
      },
      accounts,
      balances,
    };
  });
}

/** The tables without which a database is none of this program's, of any release. */
const TABLES = ['account', 'business', 'invoice', 'setting'];

/** Whether a file is a database of this program, sound or not. Never throws for a file of something else. */
export function isOurs(file: string): boolean {
  try {
    return reading(file, (db) => {
      const names = new Set(db.prepare(`SELECT name FROM sqlite_master WHERE type = 'table'`).pluck().all());
      return TABLES.every((name) => names.has(name));
    });
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code === 'SQLITE_NOTADB') return false;
    throw error;
  }
}

/** A stored setting; null: there is none. */
export const settingIn = (source: Source, key: string): unknown =>
  reading(source, (db) => {
    const value = db.prepare('SELECT value FROM setting WHERE key = ?').pluck().get(key) as string | undefined;
    return value === undefined ? null : JSON.parse(value);
  });

/** The setting with the gap that a restore from words needs. */
export const GAP_SETTING = 'restore.gap';

/** That gap as it is stored; null: it was not measured yet. */
export function storedGap(source: Source): number | null {
  return (settingIn(source, GAP_SETTING) as { gap: number } | null)?.gap ?? null;
}

/** An account in a database. `key`: public, JSON. */
export type StoredAccount = { chain_key: string; account_no: number; key: string };

export const accountsIn = (source: Source): StoredAccount[] =>
  reading(source, (db) =>
    db
      .prepare(
        `SELECT chain_key, account_no, key FROM account JOIN business ON business.id = account.business_id
         ORDER BY account.id`,
      )
      .all(),
  ) as StoredAccount[];

/** An address in a database with its account. */
export type AddressSample = StoredAccount & { branch: 0 | 1; idx: number; address: string };

const SAMPLES_PER_ACCOUNT = 200;

/** Sample addresses of every account, evenly spread over its indices, including the first and the last. */
export function addressSamples(source: Source): AddressSample[] {
  return reading(source, (db) => {
    return db
      .prepare(
        `SELECT chain_key, account_no, key, branch, idx, address FROM
           (SELECT target.chain_key, account_no, key, branch, idx, address,
              ROW_NUMBER() OVER (PARTITION BY account_id, branch ORDER BY idx) AS place,
              COUNT(*) OVER (PARTITION BY account_id, branch) AS places
            FROM target JOIN account ON account.id = target.account_id
              JOIN business ON business.id = account.business_id)
         WHERE place = 1 OR place = places OR place % (places / ${SAMPLES_PER_ACCOUNT} + 1) = 0`,
      )
      .all() as AddressSample[];
  });
}

/** An address that the payer of an open invoice sees. `key`, `idx`: of the account that gives it, and its place; null: there is none. */
export type ShownAddress = { slug: string; chain_key: string; address: string; key: string | null; idx: number | null };

/**
 * The addresses on the pages of open invoices, and those to which a payer can return there. They are stored beside those that were
 * derived.
 */
export const shownAddresses = (source: Source): ShownAddress[] =>
  reading(source, (db) => {
    const hasFormer = db.prepare(`SELECT 1 FROM sqlite_master WHERE name = 'former_target'`).get() !== undefined;
    const former = 'UNION ALL SELECT invoice_id, chain_key, target_id, address FROM former_target';
    return db
      .prepare(
        `SELECT slug, shown.chain_key, shown.address, key, idx FROM
           (SELECT invoice_id, chain_key, target_id, address FROM payment ${hasFormer ? former : ''}) AS shown
           JOIN invoice ON invoice.id = shown.invoice_id AND invoice.status = 'unpaid'
           LEFT JOIN target ON target.id = shown.target_id AND target.branch = 0
           LEFT JOIN account ON account.id = target.account_id AND account.chain_key = shown.chain_key`,
      )
      .all() as ShownAddress[];
  });

/** An address that is not given out yet, and its account. */
export type ReadyAddress = StoredAccount & { idx: number; address: string };

export const readyAddresses = (source: Source): ReadyAddress[] =>
  reading(source, (db) =>
    db
      .prepare(
        `SELECT account.chain_key, account_no, key, idx, address FROM target JOIN account ON account.id = target.account_id
           JOIN business ON business.id = account.business_id
         WHERE target.invoice_id IS NULL AND branch = 0 ORDER BY account.id, idx`,
      )
      .all(),
  ) as ReadyAddress[];

export const strangeIn = (source: Source): string[] => reading(source, strangeObjects);

/** Faults that SQLite's check and the sums find; empty if there are none. Reads the whole database. */
export function storeProblems(source: Source): string[] {
  return reading(source, (db) => {
    const problems = (db.pragma('integrity_check') as { integrity_check: string }[])
      .map((row) => row.integrity_check)
      .filter((text) => text !== 'ok');
    return problems.length > 0 ? problems : [...balanceProblems(db), ...indexProblems(db)];
  });
}

/**
 * Why a copy would not bring everything back: `storeProblems`, rows that refer to no row, and tables that cannot be
 * read. Reads the whole database. Never throws for a damaged file.
 */
export function copyProblems(source: Source): string[] {
  try {
    return reading(source, (db) => {
      const problems = storeProblems(db);
      if (problems.length > 0) return problems;
      readEachTable(db);
      return referenceProblems(db);
    });
  } catch (error) {
    if (error instanceof Database.SqliteError && isDamage(error)) return [`${error.message} (${error.code})`];
    throw error;
  }
}

function readEachTable(db: Database.Database): void {
  const tables = db.prepare(`SELECT name FROM sqlite_master WHERE type = 'table'`).pluck().all() as string[];
  for (const name of tables) db.prepare(`SELECT * FROM "${name}" LIMIT 1`).get();
}

/**
 * Table and column that refer to the `id` of a table whose rows are never deleted. The schema declares no foreign keys,
 * so `foreign_key_check` would find nothing.
 */
const REFERENCES = [
  ['account', 'business_id', 'business'],
  ['target', 'account_id', 'account'],
  ['invoice', 'business_id', 'business'],
  ['payment', 'invoice_id', 'invoice'],
  ['payment', 'target_id', 'target'],
  ['webhook', 'invoice_id', 'invoice'],
  ['credit', 'target_id', 'target'],
  ['credit', 'invoice_id', 'invoice'],
  ['balance', 'account_id', 'account'],
  ['debit', 'account_id', 'account'],
  ['withdrawal', 'account_id', 'account'],
  ['spend_version', 'spend_id', 'spend'],
] as const;

function referenceProblems(db: Database.Database): string[] {
  // a backup of release 0.1.0 lacks tables
  const tables = new Set(db.prepare(`SELECT name FROM sqlite_master WHERE type = 'table'`).pluck().all());
  return REFERENCES.filter(([table]) => tables.has(table)).flatMap(([table, column, parent]) => {
    const missing = db
      .prepare(`SELECT ${column} FROM ${table} WHERE ${column} IS NOT NULL AND NOT EXISTS
        (SELECT 1 FROM ${parent} WHERE ${parent}.id = ${table}.${column}) LIMIT 1`)
      .pluck()
      .get();
    return missing === undefined ? [] : [`${table} has a row of ${parent} ${missing}, which is not there`];
  });
}

type Sum = { account_id: number; asset: string; units: string };

/**
 * Checks that every balance is the sum of the credits that count, less the debits that a chain of accounts reports. On
 * a chain of coins a credit that was spent does not count any more.
 */
function balanceProblems(db: Database.Database): string[] {
  const sums = new Map<string, bigint>();
  const add = (sql: string, sign: bigint): void => {
    for (const row of db.prepare(sql).iterate() as IterableIterator<Sum>) {
      const key = `${row.account_id} ${row.asset}`;
      sums.set(key, (sums.get(key) ?? 0n) + sign * BigInt(row.units));
    }
  };
  add('SELECT account_id, asset, units FROM credit WHERE counted = 1', 1n);
  // a backup of release 0.1.0 has no such table
  const hasDebits = db.prepare(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'debit'`).get();
  if (hasDebits) add('SELECT account_id, asset, units FROM debit WHERE target_id IS NOT NULL', -1n);
  const problems: string[] = [];
  const stored = db.prepare('SELECT account_id, asset, units FROM balance').all() as Sum[];
  for (const row of stored) {
    const sum = sums.get(`${row.account_id} ${row.asset}`) ?? 0n;
    sums.delete(`${row.account_id} ${row.asset}`);
    if (sum !== BigInt(row.units)) {
      problems.push(`account ${row.account_id}: the balance says ${row.units} ${row.asset}, its entries ${sum}`);
    }
  }
  for (const [key, sum] of sums) if (sum !== 0n) problems.push(`account ${key}: entries of ${sum} and no balance`);
  return problems;
}

type Skipped = { from_index: number; to_index: number; reached: number };

/**
 * Checks that no receiving address is at or beyond the next index, and that none is missing below it. Exceptions:
 * skipped ranges whose addresses are being derived, and ranges that were never given out, before a skipped one.
 */
function indexProblems(db: Database.Database): string[] {
  const accounts = db.prepare('SELECT id, next_index FROM account').all() as { id: number; next_index: number }[];
  // a backup of release 0.1.0 has no such table: it derived skipped addresses at once
  const hasSkipped = db.prepare(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'skipped'`).get();
  const skipped = hasSkipped
    ? db.prepare(
        'SELECT from_index, to_index, reached FROM skipped WHERE account_id = ? AND branch = 0 ORDER BY from_index',
      )
    : null;
  const stored = db
    .prepare('SELECT COUNT(*) FROM target WHERE account_id = ? AND branch = 0 AND idx >= ? AND idx < ?')
    .pluck();
  return accounts.flatMap(({ id, next_index }) => {
    const has = (from: number, to: number): number => stored.get(id, from, to) as number;
    const lacks = (from: number, to: number): boolean => has(from, to) !== Math.max(0, to - from);
    const ranges = (skipped?.all(id) ?? []) as Skipped[];
    let at = 0;
    let isWhole = has(next_index, Number.MAX_SAFE_INTEGER) === 0;
    for (const { from_index, to_index, reached } of ranges) {
      const before = has(at, from_index) > 0 && lacks(at, from_index);
      if (before || lacks(from_index, reached)) isWhole = false;
      at = Math.max(at, to_index);
    }
    if (lacks(at, next_index)) isWhole = false;
    return isWhole
      ? []
      : [`account ${id}: the next address is ${next_index}, and not all that belong below it are stored`];
  });
}
