/** Group commit, and what is answered when: on a real file, with the connection's own settings. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Rejected, Unavailable } from '../../../daemon/domain/errors.ts';
import { Store, WRITES_PER_COMMIT_MAX, WRITES_QUEUED_MAX } from '../../../daemon/store/store.ts';
import { keysIn, type Opened, opened, put } from './opened.ts';

let dataDir: string;
let open: Opened[];
let commits: number;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'countinghouse-store-'));
  open = [];
  commits = 0;
});
afterEach(async () => {
  for (const { store } of open) await store.close();
  rmSync(dataDir, { recursive: true, force: true });
});

async function start(): Promise<Opened> {
  const one = await opened(dataDir);
  one.store.onCommit = () => {
    if (one === open.at(-1)) commits++;
  };
  open.push(one);
  return one;
}

const write = (store: Store, key: string, body = ''): Promise<string> =>
  store.write((tx) => {
    tx.run(put, { key, body });
    return key;
  });

describe('the database', () => {
  it('is durable: write-ahead log, and every commit is on the disk', async () => {
    const { db } = await start();
    expect(db.pragma('journal_mode', { simple: true })).toBe('wal');
    expect(db.pragma('synchronous', { simple: true })).toBe(2);
  });

  it('has what was answered when it is read by somebody else', async () => {
    const { store } = await start();
    await write(store, 'a');
    const other = new Database(join(dataDir, 'countinghouse.db'), { readonly: true });
    expect(other.prepare('SELECT key FROM idempotency').pluck().all()).toEqual(['a']);
    other.close();
  });

  it('is whole after it was closed, without its log', async () => {
    const { store } = await start();
    const last = write(store, 'a');
    await store.close();
    expect(await last).toBe('a');
    await new Promise((resolve) => setImmediate(resolve));
    expect(readdirSync(dataDir).sort()).toEqual(['countinghouse.db', 'lock']);
    await expect(write(store, 'b')).rejects.toBeInstanceOf(Unavailable);
    expect(keysIn((await start()).store)).toEqual(['a']);
  });
});

describe('writes', () => {
  it('are all that its watcher is told of', async () => {
    const { store } = await start();
    const last = write(store, 'a');
    await store.close();
    await last;
    await new Promise((resolve) => setImmediate(resolve));
    expect(commits).toBe(1);
  });

  it('of one turn share a transaction and are answered after its commit, in order', async () => {
    const { store } = await start();
    const answered: string[] = [];
    const writes = ['a', 'b', 'c'].map(async (key) => {
      answered.push(`${await write(store, key)} ${commits}`);
    });
    expect(keysIn(store)).toEqual([]);
    await Promise.all(writes);
    expect(answered).toEqual(['a 1', 'b 1', 'c 1']);
    await write(store, 'd');
    expect(commits).toBe(2);
  });

  it('see those before them in the same transaction', async () => {
    const { store } = await start();
    const [, seen] = await Promise.all([write(store, 'a'), store.write((tx) => tx.all(keysStatement, {}).length)]);
    expect(seen).toBe(1);
  });

  it('are at most so many in a transaction', async () => {
    const { store } = await start();
    const count = 2 * WRITES_PER_COMMIT_MAX + 1;
    await Promise.all(Array.from({ length: count }, (_, i) => write(store, `${i}`)));
    expect(commits).toBe(3);
    expect(keysIn(store)).toHaveLength(count);
  });

  it('that throw are undone alone', async () => {
    const { store } = await start();
    const failure = new Error('no');
    const results = await Promise.allSettled([
      write(store, 'a'),
      store.write((tx) => {
        tx.run(put, { key: 'b', body: '' });
        tx.afterCommit(() => expect.unreachable());
        throw failure;
      }),
      write(store, 'c'),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: failure });
    expect(keysIn(store)).toEqual(['a', 'c']);
    expect(commits).toBe(1);
  });

  it.each([
    ['violates a rule of the schema', (store: Store) => store.write((tx) => tx.run(raw, { sql: null }))],
    ['is not synchronous', (store: Store) => store.write(async (tx) => tx.run(put, { key: 'b', body: '' }))],
  ])('one that %s is undone alone', async (_, bad) => {
    const { store } = await start();
    const [, second] = await Promise.allSettled([write(store, 'a'), bad(store), write(store, 'c')]);
    expect(second.status).toBe('rejected');
    expect(second).not.toMatchObject({ reason: expect.any(Unavailable) });
    expect(keysIn(store)).toEqual(['a', 'c']);
  });

  it('call back after the commit and before the answer', async () => {
    const { store, db } = await start();
    const order: string[] = [];
    const done = store.write((tx) => {
      tx.run(put, { key: 'a', body: '' });
      tx.afterCommit(() => order.push(`called, ${db.inTransaction ? 'in' : 'after'} the transaction, ${commits}`));
    });
    await done.then(() => order.push('answered'));
    expect(order).toEqual(['called, after the transaction, 1', 'answered']);
  });

  it('are refused when too many wait, and those that wait are carried out', async () => {
    const { store } = await start();
    let done = 0;
    const waiting = Array.from({ length: WRITES_QUEUED_MAX }, () =>
      store.write(() => {
        done++;
      }),
    );
    await expect(write(store, 'a')).rejects.toMatchObject({ name: 'Unavailable', retryAfterSeconds: 1 });
    await Promise.all(waiting);
    expect(done).toBe(WRITES_QUEUED_MAX);
    expect(await write(store, 'b')).toBe('b');
  });
});

const keysStatement = { sql: 'SELECT key FROM idempotency', bind: () => [] };
const raw = { sql: 'INSERT INTO idempotency (business_id) VALUES (?)', bind: (_: { sql: null }) => [1] };

describe('a data directory', () => {
  const opener = (): ChildProcess =>
    spawn(process.execPath, [join(import.meta.dirname, 'opener.ts'), dataDir], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { PATH: process.env.PATH, NODE_NO_WARNINGS: '1' },
    });
  const firstLine = async (child: ChildProcess): Promise<string> => {
    const [chunk] = (await once(child.stdout!, 'data')) as [Buffer];
    return chunk.toString().trim();
  };

  it('is refused to a second process, and to a second store in the same one', async () => {
    await start();
    await expect(Store.open(dataDir)).rejects.toMatchObject({ code: 'store.locked' });
    const second = opener();
    expect(await firstLine(second)).toBe('store.locked');
    await once(second, 'exit');
  });

  it('is free again as soon as its process was killed', async () => {
    const first = opener();
    expect(await firstLine(first)).toBe('open');
    await expect(Store.open(dataDir)).rejects.toBeInstanceOf(Rejected);
    first.kill('SIGKILL');
    await once(first, 'exit');
    expect(keysIn((await start()).store)).toEqual([]);
  });

  it.runIf(process.platform === 'linux')('of a newer release is refused and let go of', async () => {
    const { store, db } = await start();
    db.exec(`INSERT INTO kysely_migration (name, timestamp) VALUES ('9999-future', '2099-01-01T00:00:00.000Z')`);
    await store.close();
    await expect(Store.open(dataDir)).rejects.toMatchObject({ code: 'store.newer' });
    const held = readdirSync('/proc/self/fd').flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/self/fd/${fd}`)];
      } catch {
        return []; // closed since it was listed
      }
    });
    expect(held.filter((file) => file.startsWith(dataDir))).toEqual([]);
  });
});
