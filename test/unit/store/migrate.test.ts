/**
 * Whatever ends a process while it brings a database up to date, the next start goes on: with this release's way of
 * doing it, and on what release 0.1.0 left, which ran each statement alone.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { invoiceNamed, nextInvoice } from '../../../daemon/app/invoices/slugs.ts';
import { HELP, MIGRATIONS, migrate } from '../../../daemon/store/migrations.ts';
import { Store } from '../../../daemon/store/store.ts';
import { opened } from './opened.ts';

const FILE = 'countinghouse.db';
/** A row that every migration from the second on must leave alone. */
const ROW = `INSERT INTO rate_snapshot (at, body) VALUES (1, 'kept')`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countinghouse-migrate-'));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

const names = (count = MIGRATIONS.length): string[] => MIGRATIONS.slice(0, count).map(([name]) => name);

/** Made by chance when a database is. */
const RANDOM = /"[0-9a-f]{32}"/g;
/** The statement of each table and index, every row, and which migrations the database says it has. */
function contentOf(db: Database.Database) {
  const schema = db
    .prepare(
      `SELECT name, type, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'kysely_%' ORDER BY name`,
    )
    .raw()
    .all() as [name: string, type: string, sql: string][];
  const isMigrated = db.prepare(`SELECT 1 FROM sqlite_master WHERE name = 'kysely_migration'`).get() !== undefined;
  return {
    schema,
    applied: isMigrated ? db.prepare('SELECT name FROM kysely_migration ORDER BY name').pluck().all() : [],
    rows: schema
      .filter(([, type]) => type === 'table')
      .map(([name]) => [
        name,
        JSON.stringify(db.prepare(`SELECT * FROM "${name}"`).raw().all()).replace(RANDOM, '"random"'),
      ]),
  };
}

function look(file: string): ReturnType<typeof contentOf> {
  const db = new Database(file);
  try {
    return contentOf(db);
  } finally {
    db.close();
  }
}

/** The database with each number of migrations, none of them cut off, with a row in it after the first. */
const levels: { file: Buffer; content: ReturnType<typeof contentOf> }[] = [];
const newest = (): ReturnType<typeof contentOf> => levels.at(-1)!.content;
beforeAll(() => {
  const db = new Database(':memory:');
  for (let level = 0; level <= MIGRATIONS.length; level++) {
    migrate(db, MIGRATIONS.slice(0, level));
    if (level === 1) db.exec(ROW);
    levels.push({ file: db.serialize(), content: contentOf(db) });
  }
  db.close();
});

/** A data directory at the first `level` migrations. */
function dataAt(level: number): string {
  const dataDir = mkdtempSync(join(folder, `level-${level}-`));
  writeFileSync(join(dataDir, FILE), levels[level]!.file);
  const db = new Database(join(dataDir, FILE));
  db.pragma('journal_mode = WAL');
  db.close();
  return dataDir;
}

async function expectOpens(dataDir: string, hadRow: boolean): Promise<void> {
  await (await Store.open(dataDir)).close();
  expect(look(join(dataDir, FILE))).toEqual(hadRow ? newest() : withoutRow(newest()));
}

const withoutRow = (content: ReturnType<typeof contentOf>) => ({
  ...content,
  rows: content.rows.map(([name, rows]) => [name, name === 'rate_snapshot' ? '[]' : rows]),
});

/** A start that is ended after the first migration that it runs. */
async function startOne(dataDir: string): Promise<void> {
  const onMigration = ({ step }: { step: number }): void => {
    if (step === 2) throw new Error('ended after one');
  };
  const store = await Store.open(dataDir, { onMigration }).catch((error: Error) => {
    expect(error.message).toBe('ended after one');
  });
  await store?.close();
}

/** The content of each cut for SQLite, which undoes what was not committed. */
function foundIn(cuts: readonly string[]): ReturnType<typeof contentOf>[] {
  // most are equal to the byte
  const found: { bytes: Buffer; content: ReturnType<typeof contentOf> }[] = [];
  return cuts.map((cut) => {
    const db = new Database(join(cut, FILE));
    const bytes = db.serialize();
    const content = found.find((one) => one.bytes.equals(bytes))?.content ?? contentOf(db);
    if (!found.some((one) => one.content === content)) found.push({ bytes, content });
    db.close();
    return content;
  });
}

/** With BEGIN, the bookkeeping table and COMMIT, and the indexes that help it. */
const STATEMENTS = MIGRATIONS.map(([name, own]) => own.length + 2 * (HELP.get(name)?.length ?? 0) + 3);

describe('an upgrade that is cut off', () => {
  // what is found at one number of migrations is equal in all upgrades, so each migration is cut off once
  it.each(names().map((name, level) => [name, level] as const))(
    'after any statement of %s leaves a database that opens',
    async (_, level) => {
      const dataDir = dataAt(level);
      const own = STATEMENTS[level]!;
      const cuts: string[] = [];
      let statements = 0;
      const { exec } = Database.prototype;
      vi.spyOn(Database.prototype, 'exec').mockImplementation(function (this: Database.Database, sql) {
        exec.call(this, sql);
        if (this.name !== join(dataDir, FILE) || ++statements > own) return this;
        // what kill -9 leaves: the files as they are now, without the memory that the processes shared
        const cut = mkdtempSync(join(folder, 'cut-'));
        for (const name of readdirSync(dataDir).filter((each) => !each.endsWith('-shm') && each !== 'lock')) {
          copyFileSync(join(dataDir, name), join(cut, name));
        }
        cuts.push(cut);
        return this;
      });
      await startOne(dataDir);
      vi.restoreAllMocks();
      // of a new database no step is told, so that all are done
      expect(statements).toBe(level === 0 ? STATEMENTS.reduce((sum, one) => sum + one) : own);
      // nothing was done before the COMMIT, and everything after it
      const [before, done] = [levels[level]!.content, levels[level + 1]!.content];
      const cut = join(folder, 'started-again');
      cpSync(cuts.at(-2)!, cut, { recursive: true });
      const contents = foundIn(cuts);
      const after = level > 0 ? done : withoutRow(done);
      for (const content of new Set(contents.slice(0, -1))) expect(content).toEqual(before);
      expect(contents.at(-1)).toEqual(after);
      if (level === 0) return expectOpens(cut, false);
      await startOne(cut);
      expect(look(join(cut, FILE))).toEqual(done);
    },
  );

  it('by a process that kills itself leaves a database that opens', async () => {
    const total = MIGRATIONS.flatMap(([, statements]) => statements).length;
    for (const after of [1, Math.floor(total / 2)]) {
      const dataDir = dataAt(0);
      const { signal } = spawnSync(process.execPath, [join(import.meta.dirname, 'cut-off.ts'), dataDir, `${after}`], {
        stdio: 'inherit',
        env: { PATH: process.env.PATH, NODE_NO_WARNINGS: '1' },
      });
      expect(signal).toBe('SIGKILL');
      await expectOpens(dataDir, false);
      rmSync(dataDir, { recursive: true });
    }
  });

  it('by the disk is undone as a whole, and done when there is room', async () => {
    const dataDir = dataAt(1);
    const db = new Database(join(dataDir, FILE));
    db.pragma(`max_page_count = ${(db.pragma('page_count', { simple: true }) as number) + 3}`);
    const before = look(join(dataDir, FILE));
    expect(() => migrate(db)).toThrow(expect.objectContaining({ code: 'SQLITE_FULL' }));
    expect(db.inTransaction).toBe(false);
    expect(look(join(dataDir, FILE))).toEqual(before);
    db.close();
    await expectOpens(dataDir, true);
  });
});

it('an upgrade that the disk ends says what it has changed', async () => {
  const dataDir = dataAt(MIGRATIONS.length - 3);
  for (const [failing, told] of [
    [1, /: the disk is full\. Nothing was changed$/],
    [
      2,
      /: the disk is full\. Of its upgrade 1 steps are done, so that an older release refuses it\. The next start goes on/,
    ],
  ] as const) {
    let begun = 0;
    const { exec } = Database.prototype;
    vi.spyOn(Database.prototype, 'exec').mockImplementation(function (this: Database.Database, sql) {
      if (sql === 'BEGIN IMMEDIATE' && this.name.endsWith(FILE) && ++begun === failing)
        throw new Database.SqliteError('database or disk is full', 'SQLITE_FULL');
      return exec.call(this, sql);
    });
    await expect(Store.open(dataDir)).rejects.toThrow(told);
    vi.restoreAllMocks();
  }
  await (await Store.open(dataDir)).close();
});

describe('the progress of an upgrade', () => {
  it('is told before each missing migration; a new database has none', async () => {
    const dataDir = dataAt(MIGRATIONS.length - 3);
    const told: string[] = [];
    const applied = (): number => look(join(dataDir, FILE)).applied.length;
    const store = await Store.open(dataDir, {
      onMigration: ({ name, step, of }) => told.push(`${name}, ${step} of ${of}, after ${applied()}`),
    });
    await store.close();
    const expected = names()
      .slice(-3)
      .map((name, n) => `${name}, ${n + 1} of 3, after ${MIGRATIONS.length - 3 + n}`);
    expect(told).toEqual(expected);
    await (await Store.open(join(folder, 'new'), { onMigration: () => expect.unreachable() })).close();
  });
});

describe('the journal of an upgrade', () => {
  const modes = async (dataDir: string): Promise<unknown[]> => {
    const seen: unknown[] = [];
    const { exec } = Database.prototype;
    vi.spyOn(Database.prototype, 'exec').mockImplementation(function (this: Database.Database, sql) {
      if (sql.startsWith('BEGIN') && this.name.endsWith(FILE)) seen.push(this.pragma('journal_mode', { simple: true }));
      return exec.call(this, sql);
    });
    const { store, db } = await opened(dataDir);
    seen.push(db.pragma('journal_mode', { simple: true }));
    await store.close();
    return seen;
  };

  it('is a rollback journal, and the write-ahead log afterwards', async () => {
    expect(await modes(dataAt(MIGRATIONS.length - 1))).toEqual(['delete', 'wal']);
  });

  it('stays the write-ahead log while another program reads', async () => {
    const dataDir = dataAt(MIGRATIONS.length - 1);
    const reader = new Database(join(dataDir, FILE), { readonly: true });
    reader.exec('BEGIN');
    expect(reader.prepare('SELECT count(*) FROM rate_snapshot').pluck().get()).toBe(1);
    expect(await modes(dataDir)).toEqual(['wal', 'wal']);
    reader.close();
    expect(look(join(dataDir, FILE)).applied).toEqual(names());
  });
});

describe('a data directory that release 0.1.0 left behind when it was cut off', () => {
  /** As that release did it: its tables first, then each statement alone. */
  function cutOff(dataDir: string, level: number, done: number): void {
    const db = new Database(join(dataDir, FILE));
    db.exec(`create table if not exists "kysely_migration"
      ("name" varchar(255) not null primary key, "timestamp" varchar(255) not null)`);
    db.exec(`create table if not exists "kysely_migration_lock"
      ("id" varchar(255) not null primary key, "is_locked" integer default 0 not null)`);
    db.exec(`insert or ignore into kysely_migration_lock (id, is_locked) values ('migration_lock', 0)`);
    for (const statement of MIGRATIONS[level]![1].slice(0, done)) db.exec(statement);
    db.close();
  }

  const RELEASED = MIGRATIONS.filter(([name]) => name <= '0006-restored');

  it.each(RELEASED.map(([name, statements], level) => [name, level, statements.length] as const))(
    'after any statement of %s is mended',
    async (_, level, count) => {
      for (let done = 0; done <= count; done++) {
        const dataDir = dataAt(level);
        cutOff(dataDir, level, done);
        const db = new Database(join(dataDir, FILE));
        migrate(db, MIGRATIONS.slice(0, level + 1));
        const { content } = levels[level + 1]!;
        expect(contentOf(db)).toEqual(level > 0 ? content : withoutRow(content));
        db.close();
      }
    },
  );

  it('is mended beside tables of other programs', async () => {
    const dataDir = dataAt(1);
    cutOff(dataDir, 1, 5);
    const db = new Database(join(dataDir, FILE));
    db.exec('CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)');
    db.close();
    await (await Store.open(dataDir)).close();
    expect(look(join(dataDir, FILE)).applied).toEqual(names());
  });

  it('is refused with what to do when its tables are none of ours', async () => {
    const dataDir = dataAt(1);
    cutOff(dataDir, 1, 5);
    const db = new Database(join(dataDir, FILE));
    db.exec('DROP INDEX withdrawal_face');
    db.close();
    await expect(Store.open(dataDir)).rejects.toMatchObject({
      code: 'store.damaged',
      message: expect.stringContaining('countinghouse restore'),
    });
    expect(existsSync(join(dataDir, FILE))).toBe(true);
  });
});

it('no statement of a migration reads a whole table for each row of another', () => {
  const db = new Database(':memory:');
  const exec = db.exec.bind(db);
  const scans: string[] = [];
  let changes = 0;
  db.exec = (sql) => {
    if (/^\s*(?:INSERT|UPDATE|DELETE)\b/i.test(sql)) {
      changes++;
      scans.push(...repeatedScans(db, sql));
    }
    return exec(sql);
  };
  migrate(db);
  // for each account whose history is being read, and there are few
  expect(scans).toEqual([expect.stringMatching(/^SEARCH target: UPDATE account SET rescan/)]);
  expect(changes).toBeGreaterThan(10);
  expect(db.prepare(`SELECT name FROM sqlite_master WHERE name LIKE 'migration_help%'`).all()).toEqual([]);
  db.close();
});

/** The scans inside the correlated subqueries of a statement, and the indexes that SQLite would make for one of its runs. */
function repeatedScans(db: Database.Database, sql: string): string[] {
  type Step = { id: number; parent: number; detail: string };
  const steps = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as Step[];
  const byId = new Map(steps.map((step) => [step.id, step]));
  const isRepeated = ({ parent }: Step): boolean => {
    const above = byId.get(parent);
    return above !== undefined && (above.detail.startsWith('CORRELATED') || isRepeated(above));
  };
  // for min() and max(), a scan is called a search without an index
  const isScan = ({ detail }: Step): boolean => detail.startsWith('SCAN') || /^SEARCH \S+$/.test(detail);
  return steps
    .filter((step) => (isScan(step) && isRepeated(step)) || step.detail.includes('AUTOMATIC'))
    .map(({ detail }) => `${detail}: ${sql.slice(0, 80)}`);
}

it('invoices keep every value and their slugs, and the next one gets a slug that needs no index', async () => {
  const before = MIGRATIONS.findIndex(([name]) => name === '0071-slugs');
  const file = join(folder, FILE);
  const db = new Database(file);
  migrate(db, MIGRATIONS.slice(0, before));
  const columns = (db.pragma('table_info(invoice)') as { name: string; type: string }[]).filter(
    ({ name }) => name !== 'id',
  );
  const add = db.prepare(
    `INSERT INTO invoice (${columns.map(({ name }) => name)}) VALUES (${columns.map(({ name }) => `@${name}`)})`,
  );
  const metadata = '{"a":"b"}';
  for (let n = 1; n <= 50; n++) {
    const values = columns.map(({ name, type }, at) => [name, type === 'INTEGER' ? n * 100 + at : `${name} ${n}`]);
    add.run({
      ...Object.fromEntries(values),
      slug: `Slug${`${n}`.padStart(8, '0')}`,
      amount: `${n}`,
      tolerance: '0',
      metadata,
    });
  }
  // a gap in the numbers, and the last one of them
  db.exec('DELETE FROM invoice WHERE id IN (7, 50)');
  const old = db.prepare('SELECT * FROM invoice ORDER BY id').all() as { id: number; slug: string }[];
  migrate(db);
  expect(db.prepare('SELECT * FROM invoice ORDER BY id').all()).toEqual(old.map((row) => ({ ...row, random_slug: 1 })));
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
  const twice = `INSERT INTO invoice SELECT 99, 'another', ${columns.slice(1).map(({ name }) => name)}, 1 FROM invoice WHERE id = 3`;
  expect(() => db.exec(twice)).toThrow('UNIQUE constraint failed: invoice.slug');
  db.close();

  const store = await Store.open(folder);
  try {
    expect(old).toHaveLength(48);
    for (const { id, slug } of old) expect(invoiceNamed(store, slug)?.id).toBe(id);
    const next = await store.write(nextInvoice);
    expect(next.id).toBe(50);
    expect(next.slug).toMatch(/^[A-Za-z0-9]{12}$/);
  } finally {
    await store.close();
  }
});

it('the spends that a restore left to its search are kept by chain, and the rest of its record as it was', () => {
  const before = MIGRATIONS.findIndex(([name]) => name === '0093-spends-left');
  const db = new Database(join(folder, FILE));
  migrate(db, MIGRATIONS.slice(0, before));
  const record = { since: 1_767_268_800_123, heights: { 'mainnet:BTC': 7 }, ended: { version: 1, invoice: 2 } };
  const add = db.prepare('INSERT INTO setting (key, value, updated_at) VALUES (?, ?, 5)');
  add.run('restored', JSON.stringify({ ...record, left: { 'mainnet:BTC': 3, 'mainnet:ETH': 1 } }));
  add.run('quarantine', '{"since":6}');
  migrate(db);
  const rows = db.prepare('SELECT key, value, updated_at FROM setting WHERE updated_at = 5 ORDER BY key').raw().all();
  expect(rows).toEqual([
    ['quarantine', '{"since":6}', 5],
    ['restored', JSON.stringify(record), 5],
    ['spends_left:mainnet:BTC', '3', 5],
    ['spends_left:mainnet:ETH', '1', 5],
  ]);
  db.close();
});
