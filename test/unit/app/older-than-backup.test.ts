/** A database that is older than a backup of it, by the folder of the backups. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { App } from '../../../daemon/app/app.ts';
import { DATABASE } from '../../../daemon/app/backup/container.ts';
import { prepareFolder } from '../../../daemon/app/backup/folder.ts';
import { STAMP_SETTING } from '../../../daemon/app/recovery/clock.ts';
import { Instance } from '../../../daemon/app/recovery/instance.ts';
import { quarantineOf } from '../../../daemon/app/recovery/quarantine.ts';
import { saveSetting, settingOf } from '../../../daemon/store/queries/settings.ts';
import { Store } from '../../../daemon/store/store.ts';
import { Backups } from '../../../daemon/workers/backup.ts';
import { cheapWallet } from '../../support/wallet.ts';
import { Bench } from './bench.ts';

const HOUR = 3_600_000;

let root: string;
let folder: string;
let bench: Bench;
let app: App;
let backups: Backups;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'countinghouse-older-backup-'));
  folder = join(root, 'stick');
  mkdirSync(folder);
  await cheapWallet(join(root, 'vault'), { words: `${'abandon '.repeat(11)}about`, passphrase: 'of the test' });
  bench = await Bench.open();
  app = { ...bench.app, config: { ...bench.app.config, backup: { folder, schedule: '0 3 * * *', keep: 5 } } };
  backups = new Backups(app, root, 'test');
  await prepareFolder(app, folder);
  writeFileSync(join(root, DATABASE), '');
});
afterEach(async () => {
  await backups.stop();
  rmSync(root, { recursive: true, force: true });
});

/** Stamps the database at this time. */
const stamp = (at: number, count = 1): Promise<unknown> =>
  app.store.write((tx) => {
    const value = JSON.stringify({ id: '6f0f6d2e-2f0e-4a50-8a0e-000000000001', count, at, journal: null });
    tx.run(saveSetting, { key: STAMP_SETTING, value, updated_at: at });
  });

it('is found at the start', async () => {
  await backups.scheduled(folder);
  await stamp(bench.at - HOUR);
  await (await Instance.begin(app, root)).stop();
  expect(quarantineOf(app.store)).not.toBeNull();
});

it('is found once the disk of the backups is there, and its own later backups tell nothing', async () => {
  const away = join(root, 'away');
  await backups.scheduled(folder);
  renameSync(folder, away);
  for (const isOlder of [false, true]) {
    // the mount point of a disk that is away is an empty folder
    if (isOlder) mkdirSync(folder);
    await stamp(isOlder ? bench.at - HOUR : bench.at, isOlder ? 100 : 1);
    const instance = await Instance.begin(app, root);
    expect(quarantineOf(app.store)).toBeNull();
    rmSync(folder, { recursive: true, force: true });
    renameSync(away, folder);
    bench.at += HOUR;
    await backups.scheduled(folder);
    await instance.lookAgain();
    expect(quarantineOf(app.store) !== null).toBe(isOlder);
    await instance.stop();
    if (!isOlder) renameSync(folder, away);
  }
});

it('is not told of a database that a full disk kept, and of which a backup was made meanwhile', async () => {
  // no disk has so much room
  const store = await Store.open(join(root, 'full'), { reserveBytes: 2 ** 50 });
  const instance = await Instance.begin({ ...app, store }, root);
  store.tend();
  bench.at += HOUR;
  await instance.stamp();
  expect(JSON.parse(store.get(settingOf, { key: STAMP_SETTING })?.value ?? '')).toMatchObject({ at: bench.at });
  await instance.stop();
  await store.close();
});
