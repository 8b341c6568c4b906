/** Disks that are full, read-only or failing: a group of writes happens as a whole or not at all, and then life goes on. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Unavailable } from '../../../daemon/domain/errors.ts';
import { keysIn, type Opened, opened, put } from './opened.ts';

const MEBIBYTE = 'x'.repeat(1_048_576);

let dataDir: string;
let it_: Opened;
let called: string[];
let commits: number;

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'countinghouse-faults-'));
  it_ = await opened(dataDir);
  called = [];
  commits = 0;
  await write('before');
  it_.store.onCommit = () => {
    commits++;
  };
});
afterEach(async () => {
  vi.restoreAllMocks();
  await it_.store.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const write = (key: string, body = ''): Promise<void> =>
  it_.store.write((tx) => {
    tx.run(put, { key, body });
    tx.afterCommit(() => called.push(key));
  });

const writeAndThrow = (key: string): Promise<void> =>
  it_.store.write((tx) => {
    tx.run(put, { key, body: '' });
    throw new Error('thrown by the write');
  });

/** Every write of the group is refused as something that may work later, and nothing of it remains. */
async function expectRefused(writes: readonly Promise<unknown>[]): Promise<void> {
  called.length = 0;
  const results = await Promise.allSettled(writes);
  for (const result of results) {
    expect(result).toMatchObject({ status: 'rejected', reason: expect.any(Unavailable) });
    expect((result as PromiseRejectedResult).reason.retryAfterSeconds).toBeGreaterThan(0);
  }
  expect(called).toEqual([]);
  expect(commits).toBe(0);
  expect(it_.db.inTransaction).toBe(false);
  expect(keysIn(it_.store)).toEqual(['before']);
  const other = new Database(join(dataDir, 'countinghouse.db'), { readonly: true });
  expect(other.prepare('SELECT key FROM idempotency').pluck().all()).toEqual(['before']);
  other.close();
}

async function expectWorks(): Promise<void> {
  await Promise.all([write('after'), write('after that')]);
  expect(keysIn(it_.store)).toEqual(['after', 'after that', 'before']);
}

describe('a full disk', () => {
  const pages = (): number => it_.db.pragma('page_count', { simple: true }) as number;
  const fill = (): unknown => it_.db.pragma(`max_page_count = ${pages()}`);
  const makeRoom = (): unknown => it_.db.pragma(`max_page_count = ${pages() + 10_000}`);

  it.each([
    ['first', [MEBIBYTE, '', '']],
    ['middle', ['', MEBIBYTE, '']],
    ['last', ['', '', MEBIBYTE]],
    ['only', [MEBIBYTE]],
  ])('met by the %s of a group refuses all of it', async (_, bodies) => {
    fill();
    await expectRefused(bodies.map((body, i) => write(`${i}`, body)));
    makeRoom();
    await expectWorks();
  });

  it('is not hidden by a write that swallows the error', async () => {
    fill();
    const swallowing = it_.store.write((tx) => {
      tx.run(put, { key: 'small', body: '' });
      try {
        tx.run(put, { key: 'big', body: MEBIBYTE });
      } catch {
        // as a careless use case might
      }
      tx.run(put, { key: 'alone', body: '' });
    });
    await expectRefused([write('a'), swallowing, write('b')]);
    makeRoom();
    await expectWorks();
  });

  it('does not stop reading', async () => {
    fill();
    await expect(write('big', MEBIBYTE)).rejects.toBeInstanceOf(Unavailable);
    expect(keysIn(it_.store)).toEqual(['before']);
  });
});

describe('a disk that became read-only', () => {
  it('refuses the group, and takes writes once it is writable', async () => {
    it_.db.pragma('query_only = ON');
    await expectRefused([write('a'), write('b')]);
    it_.db.pragma('query_only = OFF');
    await expectWorks();
  });
});

describe('a commit that fails', () => {
  /** Makes the next run of one control statement fail as SQLite says that disks do. */
  function failOnce(sql: string, code: string): void {
    const { prepare } = Database.prototype;
    let failed = false;
    vi.spyOn(Database.prototype, 'prepare').mockImplementation(function (this: Database.Database, text: string) {
      const prepared = prepare.call(this, text);
      if (text !== sql) return prepared;
      const run = prepared.run.bind(prepared) as () => Database.RunResult;
      return Object.assign(Object.create(prepared) as Database.Statement, {
        run: () => {
          if (failed) return run();
          failed = true;
          throw new Database.SqliteError('disk I/O error', code);
        },
      });
    });
  }

  it.each([
    ['COMMIT', 'SQLITE_IOERR_FSYNC'],
    ['BEGIN IMMEDIATE', 'SQLITE_IOERR_READ'],
    ['ROLLBACK', 'SQLITE_IOERR_WRITE'],
    ['SAVEPOINT job', 'SQLITE_IOERR_WRITE'],
    ['ROLLBACK TO job', 'SQLITE_IOERR_WRITE'],
    ['RELEASE job', 'SQLITE_FULL'],
  ])('at %s with %s refuses the group', async (sql, code) => {
    // a store that has prepared nothing of this yet
    await it_.store.close();
    it_ = await opened(dataDir);
    it_.store.onCommit = () => {
      commits++;
    };
    failOnce(sql, code);
    // one that throws after it changed something, so that the group is run apart
    await expectRefused([write('a'), writeAndThrow('b'), write('c')]);
    await expectWorks();
  });

  it.each(['BEGIN IMMEDIATE', 'COMMIT'])('at %s because another process holds the lock is tried again', async (sql) => {
    await it_.store.close();
    it_ = await opened(dataDir);
    failOnce(sql, 'SQLITE_BUSY');
    called.length = 0;
    await Promise.all([write('a'), expect(writeAndThrow('b')).rejects.toThrow('thrown by the write'), write('c')]);
    expect(keysIn(it_.store)).toEqual(['a', 'before', 'c']);
    expect(called).toEqual(['a', 'c']);
  });

  it('leaves the writes that wait behind it unharmed', async () => {
    it_.db.pragma(`max_page_count = ${it_.db.pragma('page_count', { simple: true })}`);
    const refused = expect(write('big', MEBIBYTE)).rejects.toBeInstanceOf(Unavailable);
    await new Promise((resolve) => setImmediate(resolve));
    const next = write('next');
    await refused;
    it_.db.pragma('max_page_count = 100000');
    await next;
    expect(keysIn(it_.store)).toEqual(['before', 'next']);
  });
});
