/**
 * A program beside the service that replicates the database from its write-ahead log, as Litestream does: it keeps a
 * read transaction open, so that no frame is overwritten before it was copied, copies what was added, keeps a table of its
 * own, and now and then folds the log itself. Litestream itself is not run.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, readSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts';

const INVOICES = 60;
const LOCKED_MS = 150;
const WAL_HEADER_BYTES = 32;

/** Obeys one word at a time: hold, release, fold, lock. */
const REPLICATOR = `
  const Database = require(process.argv[3]);
  const db = new Database(process.argv[2], { timeout: 5000 });
  db.exec('CREATE TABLE IF NOT EXISTS _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)');
  const words = {
    hold: () => { db.exec('BEGIN'); db.prepare('SELECT count(*) FROM sqlite_schema').get(); },
    release: () => db.exec('ROLLBACK'),
    fold: () => {
      db.exec('INSERT INTO _litestream_seq (id, seq) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET seq = seq + 1');
      db.pragma('wal_checkpoint(RESTART)');
    },
    lock: () => db.exec('BEGIN IMMEDIATE'),
  };
  process.on('message', (word) => { words[word](); process.send(word); });
  process.send('ready');
`;

describe('a replicator beside the service', () => {
  let service: TestDaemon;
  let replicator: ChildProcess;
  let log: string;

  const tell = async (word: string): Promise<void> => {
    const answered = once(replicator, 'message');
    replicator.send(word);
    expect((await answered)[0]).toBe(word);
  };
  const invoices = async (count: number): Promise<number[]> =>
    Promise.all(
      Array.from({ length: count }, async () => {
        const { status, body } = await service.call<{ id: string }>('POST', '/invoice', { amount: 10, crypto: 'LTC' });
        return status === 201 ? (await service.call('POST', `/invoice/rp/${body.id}`)).status : status;
      }),
    );
  const all201 = (statuses: number[]) => statuses.filter((status) => status !== 201 && status !== 200);

  beforeAll(async () => {
    service = await startTestDaemon();
    log = join(service.dataDir, 'countinghouse.db-wal');
    const script = join(service.dataDir, 'replicator.cjs');
    writeFileSync(script, REPLICATOR);
    const library = createRequire(import.meta.url).resolve('better-sqlite3');
    replicator = fork(script, [join(service.dataDir, 'countinghouse.db'), library]);
    await once(replicator, 'message');
  });
  afterAll(async () => {
    replicator?.kill();
    await service?.stop();
  });

  it('finds every frame that was added while it held its place, and the service goes on', async () => {
    await tell('hold');
    const before = readFileSync(log);
    expect(all201(await invoices(INVOICES))).toEqual([]);
    const after = readFileSync(log);
    // the same log (its salts are in the header), with everything where it was
    expect(after.subarray(0, WAL_HEADER_BYTES)).toEqual(before.subarray(0, WAL_HEADER_BYTES));
    expect(after.length).toBeGreaterThan(before.length);
    expect(after.subarray(0, before.length).equals(before)).toBe(true);
    await tell('release');
  });

  it('may keep a table, fold the log and lock the database for a moment, and no request fails', async () => {
    for (let round = 0; round < 3; round++) {
      await tell('fold');
      await tell('lock');
      const asked = invoices(10);
      await new Promise((resolve) => setTimeout(resolve, LOCKED_MS));
      await tell('release');
      expect(all201(await asked)).toEqual([]);
    }
  });

  it('has, with the database and the log that it copied, everything that was answered', async () => {
    await tell('hold');
    const made = await service.call<{ id: string }>('POST', '/invoice', { amount: 77 });
    const copy = join(service.dataDir, 'replica.db');
    for (const [from, to] of [
      [join(service.dataDir, 'countinghouse.db'), copy],
      [log, `${copy}-wal`],
    ] as const) {
      const size = statSync(from).size;
      const bytes = Buffer.alloc(size);
      const file = openSync(from, 'r');
      readSync(file, bytes, 0, size, 0);
      closeSync(file);
      writeFileSync(to, bytes);
    }
    await tell('release');
    const replica = new Database(copy);
    expect(replica.pragma('integrity_check', { simple: true })).toBe('ok');
    expect(replica.prepare('SELECT amount FROM invoice WHERE slug = ?').get(made.body.id)).toEqual({
      amount: expect.stringMatching(/^77/),
    });
    replica.close();
  });

  it('does not keep the service from stopping, or from starting with the table that it left', async () => {
    await tell('hold');
    await service.restart();
    await tell('release');
    expect(all201(await invoices(3))).toEqual([]);
  });
});
