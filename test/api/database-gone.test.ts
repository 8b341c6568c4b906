/** A database that is gone, empty or damaged: the service says so, and does not begin anew with the same addresses. */
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { takeLock } from '../../daemon/store/lock.ts';
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts';
import { openShop } from '../support/shop.ts';

let service: TestDaemon;
const database = () => join(service.dataDir, 'countinghouse.db');
const remove = () => {
  for (const name of readdirSync(service.dataDir).filter((one) => one.startsWith('countinghouse.db'))) {
    rmSync(join(service.dataDir, name));
  }
};
const empty = () => {
  remove();
  writeFileSync(database(), '');
};

beforeEach(async () => {
  service = await startTestDaemon();
});
afterEach(async () => {
  await service.stop().catch(() => {});
  rmSync(service.dataDir, { recursive: true, force: true });
});

it.each([
  ['gone', remove],
  ['empty', empty],
])('with a wallet, %s: it does not start, says what to do, and changes nothing', async (what, damage) => {
  await openShop(service);
  await service.daemon.stop();
  damage();
  const before = readdirSync(service.dataDir).toSorted();
  await expect(service.resume()).rejects.toMatchObject({
    code: 'store.damaged',
    message: expect.stringMatching(new RegExp(`countinghouse.db in .* is ${what}, .*countinghouse restore FILE`)),
  });
  expect(readdirSync(service.dataDir).toSorted()).toEqual(before);
});

it.each(['with', 'without'])(
  'of a restore that was broken off %s its vault moved: it does not start, and changes nothing',
  async (moved) => {
    await openShop(service);
    await service.daemon.stop();
    const work = join(service.dataDir, 'work-of-restore-abcdef.moving');
    mkdirSync(work);
    for (const name of ['countinghouse.db', ...(moved === 'with' ? [] : ['vault'])]) {
      renameSync(join(service.dataDir, name), join(work, name));
    }
    // a backup has no stamp
    rmSync(join(service.dataDir, 'instance.json'));
    const before = readdirSync(service.dataDir).toSorted();
    await expect(service.resume()).rejects.toMatchObject({
      code: 'store.damaged',
      message: `A restore into ${service.dataDir} was broken off: restore again into it, with the same backup, and then start the service`,
    });
    expect(readdirSync(service.dataDir).toSorted()).toEqual(before);
  },
);

it('of a restore that was broken off while it unpacked: it does not start, until the rest is removed', async () => {
  await service.daemon.stop();
  for (const name of readdirSync(service.dataDir)) rmSync(join(service.dataDir, name), { recursive: true });
  const work = join(service.dataDir, 'work-of-restore-abcdef');
  mkdirSync(work);
  const restore = takeLock(service.dataDir);
  await expect(service.resume()).rejects.toMatchObject({ code: 'store.locked' });
  restore.close();
  const before = readdirSync(service.dataDir).toSorted();
  await expect(service.resume()).rejects.toMatchObject({
    code: 'store.damaged',
    message: `A restore into ${service.dataDir} was broken off: restore again into it, with the same backup, and then start the service. To begin without that, remove ${work}`,
  });
  expect(readdirSync(service.dataDir).toSorted()).toEqual(before);
  rmSync(work, { recursive: true });
  await service.resume();
});

it('in the sandbox alone, it begins anew', async () => {
  await service.daemon.stop();
  remove();
  await service.resume();
  expect(statSync(database()).size).toBeGreaterThan(0);
});

/** Overwrites the first page of a table. */
function spoil(table: string): void {
  const db = new Database(database());
  const { rootpage } = db.prepare('SELECT rootpage FROM sqlite_master WHERE name = ?').get(table) as {
    rootpage: number;
  };
  const bytes = db.pragma('page_size', { simple: true }) as number;
  db.close();
  const file = openSync(database(), 'r+');
  writeSync(file, Buffer.alloc(bytes, 0xa5), 0, bytes, (rootpage - 1) * bytes);
  closeSync(file);
}

it('with damage that only the start meets, it does not start, and says what to do', async () => {
  await service.daemon.stop();
  spoil('business');
  await expect(service.resume()).rejects.toMatchObject({
    code: 'store.disk',
    message: `The database in ${service.dataDir} cannot be used: its file is damaged (SQLITE_CORRUPT): restore a backup`,
  });
});
