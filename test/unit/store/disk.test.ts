/** A disk that is full, another process that holds the lock, and a copy made beside the writes. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Unavailable } from '../../../daemon/domain/errors.ts';
import type { Trouble } from '../../../daemon/store/disk-errors.ts';
import { Reserve } from '../../../daemon/store/reserve.ts';
import type { Store } from '../../../daemon/store/store.ts';
import { until } from '../../support/daemon.ts';
import { keysIn, type Opened, opened, put } from './opened.ts';

const RESERVE_BYTES = 262_144;
const BODY = 'x'.repeat(20_000);

let dataDir: string;
let it_: Opened;
let troubles: (Trouble['kind'] | null)[];
let locker: ChildProcess | null = null;

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'countinghouse-disk-'));
  it_ = await opened(dataDir, { reserveBytes: RESERVE_BYTES });
  troubles = [];
  it_.store.onTrouble = (trouble) => troubles.push(trouble?.kind ?? null);
});
afterEach(async () => {
  vi.restoreAllMocks();
  locker?.kill('SIGKILL');
  locker = null;
  await it_.store.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const write = (store: Store, key: string, body = BODY): Promise<unknown> =>
  store.write((tx) => tx.run(put, { key, body }));
const logBytes = (): number => it_.store.health().logBytes;

describe('the write-ahead log', () => {
  it('of a small database stays small, however much is written', async () => {
    let largest = 0;
    for (let i = 0; i < 1_500; i++) {
      await write(it_.store, `${i % 50}`);
      largest = Math.max(largest, logBytes());
    }
    // 30 MB were written
    expect(largest).toBeLessThan(8_000_000);
  });

  it('of a large database is kept for a reader, and begins anew when it has ended, without the writer folding any of it', async () => {
    const large = 'x'.repeat(1_000_000);
    for (let i = 0; i < 70; i++) await write(it_.store, `${i}`, large);
    it_.store.tend();
    expect(it_.db.pragma('wal_autocheckpoint', { simple: true })).toBe(0);
    const reader = new Database(join(dataDir, 'countinghouse.db'), { readonly: true });
    reader.exec('BEGIN');
    expect(reader.prepare('SELECT count(*) FROM idempotency').pluck().get()).toBe(70);
    for (let i = 0; i < 90; i++) await write(it_.store, `${i % 70}`, large);
    await until('the thread met the reader', async () => it_.store.health().logStuck !== null);
    expect(it_.store.health()).toMatchObject({ logStuck: { error: null }, trouble: null });
    expect(logBytes()).toBeGreaterThan(90_000_000);
    const pragma = vi.spyOn(it_.db, 'pragma');
    reader.close();
    await until('the log began anew', async () => {
      await write(it_.store, 'small');
      return logBytes() < 10_000_000;
    });
    expect(pragma).not.toHaveBeenCalled();
    expect(it_.store.health().logStuck).toBeNull();
    expect(keysIn(it_.store)).toHaveLength(71);
  });
});

describe('a disk that refuses writes', () => {
  it('is one until it takes a write, also for a job that found nothing to do', async () => {
    let refuses = true;
    it_.db.function('disk', () => {
      if (refuses) throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_WRITE' });
      return 0;
    });
    for (const table of ['setting', 'idempotency'])
      it_.db.exec(`CREATE TEMP TRIGGER refused_${table} BEFORE INSERT ON ${table} BEGIN SELECT disk(); END`);
    const nothing = () => it_.store.write(() => 'done');
    expect(await nothing()).toBe('done');
    await expect(write(it_.store, 'a')).rejects.toBeInstanceOf(Unavailable);
    await expect(nothing()).rejects.toBeInstanceOf(Unavailable);
    expect([it_.store.health().trouble?.kind, troubles]).toEqual(['failing', ['failing']]);
    refuses = false;
    expect(await nothing()).toBe('done');
    expect([it_.store.health().trouble, troubles]).toEqual([null, ['failing', null]]);
  });
});

describe('a full disk', () => {
  const reserve = (): boolean => existsSync(join(dataDir, 'reserve'));

  /** As if others had filled the disk: the database may not grow, and the file system says that nothing is left. */
  function fill(): () => void {
    const room = vi.spyOn(Reserve.prototype, 'freeBytes').mockReturnValue(0);
    it_.db.pragma(`max_page_count = ${it_.db.pragma('page_count', { simple: true })}`);
    return () => {
      room.mockRestore();
      it_.db.pragma('max_page_count = 1000000');
    };
  }

  it('gets the reserve and the log back, and says so', async () => {
    expect(statSync(join(dataDir, 'reserve')).size).toBe(RESERVE_BYTES);
    for (let i = 0; i < 20; i++) await write(it_.store, 'same');
    expect(logBytes()).toBeGreaterThan(400_000);
    fill();
    await expect(write(it_.store, 'a', BODY.repeat(20))).rejects.toBeInstanceOf(Unavailable);
    expect(reserve()).toBe(false);
    expect(logBytes()).toBe(0);
    expect(troubles).toEqual(['full']);
    expect(it_.store.health().trouble).toMatchObject({ kind: 'full' });
  });

  it('of which a quota leaves a part gives that part back', () => {
    const part = new Reserve(dataDir, RESERVE_BYTES);
    part.giveUp();
    const script = `
      import { Reserve } from ${JSON.stringify(join(import.meta.dirname, '../../../daemon/store/reserve.ts'))};
      console.log(new Reserve(${JSON.stringify(dataDir)}, ${RESERVE_BYTES}).keep());`;
    const node = `"$0" --input-type=module-typescript -e "$1"`;
    const out = execFileSync('sh', ['-c', `ulimit -f 100; ${node}`, process.execPath, script], { encoding: 'utf8' });
    expect(out).toBe('false\n');
    expect(reserve()).toBe(false);
  });

  it.each([
    ['by its limit', 'ulimit -f 0; ', true],
    ['without one', '', false],
  ])('takes nothing %s, whatever the file system says is free: %s%s', (_, limit, takesNothing) => {
    const script = `
      import { Reserve } from ${JSON.stringify(join(import.meta.dirname, '../../../daemon/store/reserve.ts'))};
      console.log(new Reserve(${JSON.stringify(dataDir)}, ${RESERVE_BYTES}).takesNothing());`;
    const node = `"$0" --input-type=module-typescript -e "$1"`;
    const out = execFileSync('sh', ['-c', `${limit}${node}`, process.execPath, script], { encoding: 'utf8' });
    expect(out).toBe(`${takesNothing}\n`);
    expect(readdirSync(dataDir).filter((name) => name.startsWith('reserve'))).toEqual(['reserve']);
  });

  it('by a quota, which SQLite takes for a failing disk, leaves its reserve to the operator, too', async () => {
    const quota = vi.spyOn(Reserve.prototype, 'takesNothing').mockReturnValue(true);
    const refused = it_.store.write(() => {
      throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_WRITE' });
    });
    await expect(refused).rejects.toBeInstanceOf(Unavailable);
    expect([reserve(), troubles]).toEqual([false, ['full']]);
    await expect(write(it_.store, 'shop', '')).rejects.toBeInstanceOf(Unavailable);
    await it_.store.urgently(() => write(it_.store, 'operator', ''));
    // what the reserve takes is the last that there is
    it_.store.tend();
    expect([reserve(), troubles]).toEqual([false, ['full']]);
    await expect(write(it_.store, 'shop', '')).rejects.toBeInstanceOf(Unavailable);
    quota.mockReturnValue(false);
    it_.store.tend();
    await write(it_.store, 'shop', '');
    expect([reserve(), troubles]).toEqual([true, ['full', null]]);
  });

  it('leaves what room there is to the operator, until there is enough again', async () => {
    const free = fill();
    await expect(write(it_.store, 'a', BODY.repeat(20))).rejects.toBeInstanceOf(Unavailable);
    // the database itself could take these
    it_.db.pragma('max_page_count = 1000000');
    await expect(write(it_.store, 'shop', '')).rejects.toBeInstanceOf(Unavailable);
    await it_.store.urgently(() => write(it_.store, 'operator', ''));
    it_.store.tend();
    await expect(write(it_.store, 'shop', '')).rejects.toBeInstanceOf(Unavailable);
    free();
    it_.store.tend();
    expect(reserve()).toBe(true);
    await write(it_.store, 'shop', '');
    expect(keysIn(it_.store)).toEqual(['operator', 'shop']);
    expect(troubles).toEqual(['full', null]);
  });

  it('that is as full after a restart still leaves its room to the operator', async () => {
    fill();
    await expect(write(it_.store, 'a', BODY.repeat(20))).rejects.toBeInstanceOf(Unavailable);
    await it_.store.close();
    it_ = await opened(dataDir, { reserveBytes: RESERVE_BYTES });
    it_.store.onTrouble = (trouble) => troubles.push(trouble?.kind ?? null);
    await write(it_.store, 'start', '');
    it_.store.tend();
    await expect(write(it_.store, 'shop', '')).rejects.toBeInstanceOf(Unavailable);
    await it_.store.urgently(() => write(it_.store, 'operator', ''));
    expect(it_.store.health().trouble).toMatchObject({ kind: 'full' });
    vi.restoreAllMocks();
    it_.store.tend();
    await write(it_.store, 'shop', '');
    expect(keysIn(it_.store)).toEqual(['operator', 'shop', 'start']);
    expect(troubles).toEqual(['full', 'full', null]);
  });

  it('does not keep the service from stopping, nor from starting again', async () => {
    await write(it_.store, 'before');
    fill();
    await expect(write(it_.store, 'a', BODY.repeat(20))).rejects.toBeInstanceOf(Unavailable);
    const failing = vi.spyOn(Database.prototype, 'pragma').mockImplementation(() => {
      throw new Database.SqliteError('database or disk is full', 'SQLITE_FULL');
    });
    await it_.store.close();
    failing.mockRestore();
    vi.restoreAllMocks();
    it_ = await opened(dataDir, { reserveBytes: RESERVE_BYTES });
    expect(keysIn(it_.store)).toEqual(['before']);
  });

  it('that is a limit of the process alone does not stop writes that fit', async () => {
    it_.db.pragma(`max_page_count = ${it_.db.pragma('page_count', { simple: true })}`);
    await expect(write(it_.store, 'a', BODY.repeat(20))).rejects.toBeInstanceOf(Unavailable);
    await write(it_.store, 'b', '');
    expect(troubles).toEqual(['full', null]);
  });

  it('makes a reserve that was cut off whole again', () => {
    truncateSync(join(dataDir, 'reserve'), 10);
    it_.store.tend();
    expect(statSync(join(dataDir, 'reserve')).size).toBe(RESERVE_BYTES);
  });
});

describe('a lock that another process holds', () => {
  /** Holds the write lock, or keeps everybody out, until standard input ends. */
  async function hold(how: 'BEGIN IMMEDIATE' | 'PRAGMA locking_mode = EXCLUSIVE'): Promise<() => Promise<void>> {
    const program = `
      const db = new (require('better-sqlite3'))(process.argv[1]);
      db.exec(${JSON.stringify(how)});
      if (${how.startsWith('PRAGMA')}) db.exec('BEGIN EXCLUSIVE');
      console.log('held');
      process.stdin.on('end', () => process.exit()).resume();`;
    const child = spawn(process.execPath, ['-e', program, join(dataDir, 'countinghouse.db')], {
      cwd: join(import.meta.dirname, '../../..'),
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { PATH: process.env.PATH, NODE_NO_WARNINGS: '1' },
    });
    locker = child;
    await once(child.stdout, 'data');
    return async () => {
      child.stdin.end();
      await once(child, 'exit');
    };
  }

  it('lets the event loop run and writes wait, in their order', async () => {
    const release = await hold('BEGIN IMMEDIATE');
    const order: string[] = [];
    const writes = ['a', 'b', 'c'].map((key) => write(it_.store, key).then(() => order.push(key)));
    let longest = 0;
    for (let i = 0, last = performance.now(); i < 40; i++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }
    // SQLite itself would wait for five seconds
    expect(longest).toBeLessThan(3_000);
    expect(order).toEqual([]);
    expect(keysIn(it_.store)).toEqual([]);
    await release();
    await Promise.all(writes);
    expect(order).toEqual(['a', 'b', 'c']);
    expect(troubles).toEqual([]);
  });

  it('that does not end refuses writes with a reason, and does not hold up the stop', async () => {
    const release = await hold('BEGIN IMMEDIATE');
    const clock = vi.spyOn(performance, 'now');
    const refused = expect(write(it_.store, 'a')).rejects.toBeInstanceOf(Unavailable);
    await until('it was tried', async () => clock.mock.calls.length > 0);
    const real = performance.timeOrigin;
    clock.mockImplementation(() => Date.now() - real + 60_000);
    await refused;
    expect(troubles).toEqual(['locked']);
    clock.mockRestore();
    const waiting = expect(write(it_.store, 'b')).rejects.toBeInstanceOf(Unavailable);
    const began = performance.now();
    await it_.store.close();
    // a write waits for ten seconds, but not when the service stops
    expect(performance.now() - began).toBeLessThan(9_000);
    await waiting;
    await release();
    it_ = await opened(dataDir);
    expect(keysIn(it_.store)).toEqual([]);
  });

  it('refuses readers as something that may work later', async () => {
    await it_.store.close();
    it_ = await opened(dataDir);
    vi.spyOn(it_.db, 'prepare').mockImplementation(() => {
      throw new Database.SqliteError('database is locked', 'SQLITE_BUSY');
    });
    expect(() => keysIn(it_.store)).toThrow(Unavailable);
  });
});

describe('a copy beside the writes', () => {
  it('is whole, has all that was answered before it began, and does not let the log grow', async () => {
    const { store } = it_;
    for (let i = 0; i < 600; i++) await write(store, `old ${i}`, BODY.repeat(2));
    store.tend();
    let copying = true;
    let largest = 0;
    let written = 0;
    const writer = (async () => {
      while (copying) {
        await write(store, `same ${written++ % 3}`, BODY.repeat(10));
        largest = Math.max(largest, logBytes());
      }
    })();
    await store.copyTo(join(dataDir, 'copy.db'), new AbortController().signal);
    copying = false;
    await writer;
    const copy = new Database(join(dataDir, 'copy.db'));
    expect(copy.pragma('integrity_check', { simple: true })).toBe('ok');
    expect(copy.prepare(`SELECT COUNT(*) FROM idempotency WHERE key LIKE 'old %'`).pluck().get()).toBe(600);
    copy.close();
    expect(written).toBeGreaterThan(10);
    // 24 MB of database: its log may have as many pages, and what is written in one commit
    expect(largest).toBeLessThan(32_000_000);
  });

  it('ends when it is told to, and leaves the store as it was', async () => {
    for (let i = 0; i < 100; i++) await write(it_.store, `${i}`, BODY.repeat(2));
    const abort = new AbortController();
    const copying = it_.store.copyTo(join(dataDir, 'copy.db'), abort.signal);
    abort.abort();
    await expect(copying).rejects.toThrow();
    await write(it_.store, 'after');
    expect(keysIn(it_.store)).toHaveLength(101);
  });
});
