/** When the thread folds the log of a large database, when commits wait for it, and what a reader and a fault change. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Folded } from '../../../daemon/store/checkpoint-thread.ts';
import { Checkpoints } from '../../../daemon/store/checkpoints.ts';
import { keysIn, opened, put } from './opened.ts';

const LOG_BYTES_MAX = 400_000;
const ROW_BYTES = 100_000;
const FRAME_BYTES = 4_120;

let dataDir: string;
let db: Database.Database;
let checkpoints: Checkpoints;
/** The messages to the thread, which answers none by itself. */
let asked: { thread: Worker }[];
let released: number;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'countinghouse-checkpoints-'));
  db = new Database(join(dataDir, 'log.db'));
  db.pragma('journal_mode = WAL');
  db.pragma('wal_autocheckpoint = 0');
  db.exec('CREATE TABLE t (x)');
  checkpoints = new Checkpoints(db, { logBytesMax: LOG_BYTES_MAX });
  released = 0;
  checkpoints.onRelease = () => released++;
  asked = [];
  vi.spyOn(Worker.prototype, 'postMessage').mockImplementation(function (this: Worker) {
    asked.push({ thread: this });
  });
});
afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  await checkpoints.stop();
  db.close();
  rmSync(dataDir, { recursive: true, force: true });
});

function write(rows: number): void {
  for (let n = 0; n < rows; n++) db.prepare('INSERT INTO t VALUES (randomblob(?))').run(ROW_BYTES);
  checkpoints.tend();
}
const frames = (): number => Math.floor(checkpoints.logBytes() / FRAME_BYTES);
const answer = (folded: Partial<Folded> = {}): void => {
  const all = { log: frames(), checkpointed: frames(), error: null };
  asked.at(-1)!.thread.emit('message', { ...all, ...folded });
};

describe('the log of a large database', () => {
  it('is folded by the thread, and commits wait for the last part alone', () => {
    write(2);
    expect(asked).toHaveLength(0);
    write(4);
    write(4);
    expect(asked).toHaveLength(1);
    const then = frames();
    write(1);
    expect(checkpoints.holdsCommits).toBe(false);
    answer({ log: then, checkpointed: then });
    expect(asked).toHaveLength(2);
    expect(checkpoints.holdsCommits).toBe(true);
    expect(released).toBe(0);
    answer();
    expect([checkpoints.holdsCommits, released, checkpoints.stuck]).toEqual([false, 1, null]);
  });

  it('is folded beside the commits again while much of it is left, five times at the most', () => {
    write(6);
    for (let round = 1; round < 5; round++) {
      write(90);
      answer({ log: 10, checkpointed: 10 });
      expect([round, checkpoints.holdsCommits, asked.length]).toEqual([round, false, round + 1]);
    }
    write(90);
    answer({ log: 10, checkpointed: 10 });
    expect(checkpoints.holdsCommits).toBe(true);
    expect(asked).toHaveLength(6);
  });

  it('is never folded by the writer for a thread that gets no processor time, and commits wait five seconds at the most', () => {
    const pragma = vi.spyOn(db, 'pragma');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    write(6);
    write(20);
    answer({ log: 10, checkpointed: 10 });
    vi.advanceTimersByTime(4_999);
    expect(checkpoints.holdsCommits).toBe(true);
    vi.advanceTimersByTime(1);
    expect([checkpoints.holdsCommits, released]).toEqual([false, 1]);
    write(20);
    expect(asked).toHaveLength(2);
    // it comes to it at last, and folds the rest
    answer({ log: 20, checkpointed: 20 });
    expect(checkpoints.holdsCommits).toBe(true);
    answer();
    expect([checkpoints.holdsCommits, released]).toEqual([false, 2]);
    expect(pragma.mock.calls.flat()).toEqual([]);
  });

  it('is folded by the writer when the thread has ended by an error', () => {
    write(6);
    answer({ log: 10, checkpointed: 10 });
    asked[0]!.thread.emit('error', new Error('out of memory'));
    expect([checkpoints.holdsCommits, released]).toEqual([false, 1]);
    db.exec('DELETE FROM t');
    // it began anew
    expect(db.pragma('wal_checkpoint(PASSIVE)')).toMatchObject([{ log: expect.toSatisfy((n) => n < 10) }]);
  });

  it('is known to be stuck while a reader keeps it, or a fault, and no commit waits then', () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    write(6);
    answer({ checkpointed: 40 });
    expect(checkpoints.holdsCommits).toBe(false);
    const stuck = checkpoints.stuck;
    expect(stuck).toEqual({ since: performance.now(), error: null });
    write(1);
    expect(asked).toHaveLength(1);
    vi.advanceTimersByTime(3_600_000);
    write(1);
    expect(asked).toHaveLength(2);
    answer({ checkpointed: 40, error: 'disk I/O error' });
    expect(checkpoints.stuck).toEqual({ since: stuck!.since, error: 'disk I/O error' });
    vi.advanceTimersByTime(1_000);
    write(1);
    answer();
    expect(checkpoints.stuck).toBeNull();
  });
});

it('the store answers no write while commits wait, and all of them afterwards', async () => {
  const { store } = await opened(dataDir);
  const holds = vi.spyOn(Checkpoints.prototype, 'holdsCommits', 'get').mockReturnValue(true);
  let answered = 0;
  const writes = ['a', 'b'].map((key) => store.write((tx) => tx.run(put, { key, body: '' })).then(() => answered++));
  await vi.waitFor(() => expect(holds).toHaveBeenCalled());
  await new Promise((resolve) => setImmediate(resolve));
  expect([answered, keysIn(store)]).toEqual([0, []]);
  holds.mockReturnValue(false);
  (holds.mock.contexts[0] as Checkpoints).onRelease?.();
  await Promise.all(writes);
  expect([answered, keysIn(store)]).toEqual([2, ['a', 'b']]);
  holds.mockReturnValue(true);
  const last = store.write((tx) => tx.run(put, { key: 'c', body: '' }));
  await store.close();
  await last;
});
