/** A database that is older than a backup of it, by the folder of the backups. */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { App } from '../../../daemon/app/app.ts';
import { DATABASE } from '../../../daemon/app/backup/container.ts';
import { freeName, prepareFolder } from '../../../daemon/app/backup/folder.ts';
import { STAMP_SETTING } from '../../../daemon/app/recovery/clock.ts';
import { Instance } from '../../../daemon/app/recovery/instance.ts';
import { quarantineOf } from '../../../daemon/app/recovery/quarantine.ts';
import { saveSetting, settingOf } from '../../../daemon/store/queries/settings.ts';
import { Store } from '../../../daemon/store/store.ts';
import { Backups } from '../../../daemon/workers/backup.ts';
import { cheapWallet } from '../../support/wallet.ts';
import { Bench } from './bench.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const YEAR = 365 * 24 * HOUR;

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
  vi.restoreAllMocks();
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

const isFound = (): boolean => quarantineOf(app.store) !== null;
const begin = (): Promise<Instance> => Instance.begin(app, root);

/** The clock goes on with the time that passes. It is set where only `bench.at` is. */
function clocks(): (ms: number) => void {
  const { now } = performance;
  let passed = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + passed);
  return (ms) => {
    passed += ms;
    bench.at += ms;
  };
}

/** Runs for a while, stamped every minute, and makes a backup at the end of it if the disk of the backups is there. */
async function run(pass: (ms: number) => void, { minutes, backup = true }: { minutes: number; backup?: boolean }) {
  const instance = await begin();
  for (let minute = 0; minute < minutes; minute++) {
    pass(MINUTE);
    await instance.stamp();
    await instance.lookAgain();
  }
  if (backup) await backups.scheduled(folder);
  await instance.lookAgain();
  await instance.stop();
}

/** What the database says of itself, for it to come back older with the file beside it. */
const stamped = (): string => app.store.get(settingOf, { key: STAMP_SETTING })?.value ?? '';
const comeBack = (earlier: string): Promise<unknown> =>
  app.store.write((tx) => {
    const value = JSON.stringify({ ...JSON.parse(earlier), count: 10_000 });
    tx.run(saveSetting, { key: STAMP_SETTING, value, updated_at: bench.at });
  });

it('is found by a later start, if nobody could read the folder before', async () => {
  const pass = clocks();
  const away = join(root, 'away');
  await backups.scheduled(folder);
  await stamp(bench.at - HOUR, 100);
  renameSync(folder, away);
  for (let restart = 0; restart < 3; restart++) {
    pass(HOUR);
    await run(pass, { minutes: 2, backup: false });
    expect(isFound()).toBe(false);
  }
  renameSync(away, folder);
  await (await begin()).stop();
  expect(isFound()).toBe(true);
});

it('is none by its own backups, with a disk that comes and goes', async () => {
  const pass = clocks();
  const away = join(root, 'away');
  for (let restart = 0; restart < 10; restart++) {
    await run(pass, { minutes: 5 });
    pass(HOUR);
    renameSync(folder, away);
    await run(pass, { minutes: 5, backup: false });
    renameSync(away, folder);
    pass(HOUR);
  }
  await run(pass, { minutes: 2 });
  expect(isFound()).toBe(false);
});

it('is found once its backup can be read, of which the disk gave nothing at the start', async () => {
  const pass = clocks();
  await backups.scheduled(folder);
  await stamp(bench.at - HOUR, 100);
  const [name = ''] = readdirSync(folder).filter((each) => each.endsWith('.backup'));
  renameSync(join(folder, name), join(root, name));
  symlinkSync(name, join(folder, name));
  pass(HOUR);
  await run(pass, { minutes: 2, backup: false });
  const instance = await begin();
  expect(isFound()).toBe(false);
  rmSync(join(folder, name));
  renameSync(join(root, name), join(folder, name));
  await instance.lookAgain();
  expect(isFound()).toBe(true);
  await instance.stop();
});

it('is looked for no more where the disk gives nothing of a backup of before', async () => {
  const pass = clocks();
  await stamp(bench.at - HOUR);
  symlinkSync('countinghouse-20200101-000000.backup', join(folder, 'countinghouse-20200101-000000.backup'));
  await run(pass, { minutes: 1, backup: false });
  expect(JSON.parse(stamped())).toMatchObject({ times: { gaps: [] } });
});

it.each([
  ['a little', 2 * MINUTE],
  ['since 1970', null],
])('is found once the clock is set that was behind at the start: %s', async (_, after) => {
  const pass = clocks();
  await run(pass, { minutes: 5 });
  const [earlier, end] = [stamped(), bench.at];
  bench.at = end + HOUR;
  await backups.scheduled(folder);
  await comeBack(earlier);
  bench.at = after === null ? 0 : end + after;
  const instance = await begin();
  pass(MINUTE);
  await instance.stamp();
  await instance.lookAgain();
  expect(isFound()).toBe(false);
  bench.at = end + 2 * HOUR;
  await instance.stamp();
  await instance.lookAgain();
  expect(isFound()).toBe(true);
  await instance.stop();
});

it('is found although a clock was a year ahead once', async () => {
  const pass = clocks();
  await run(pass, { minutes: 5 });
  bench.at += YEAR;
  await run(pass, { minutes: 5 });
  bench.at -= YEAR;
  await run(pass, { minutes: 5 });
  const earlier = stamped();
  pass(HOUR);
  await run(pass, { minutes: 5 });
  await comeBack(earlier);
  expect(isFound()).toBe(false);
  await (await begin()).stop();
  expect(isFound()).toBe(true);
});

it('is none by its own backups of a clock that was a year ahead, once that time comes', async () => {
  const pass = clocks();
  await run(pass, { minutes: 5 });
  bench.at += YEAR;
  await run(pass, { minutes: 5 });
  bench.at -= YEAR;
  for (let restart = 0; restart < 20; restart++) {
    await run(pass, { minutes: 1, backup: false });
    pass(HOUR);
  }
  pass(YEAR - 21 * HOUR);
  await run(pass, { minutes: 5, backup: false });
  pass(4 * HOUR);
  await run(pass, { minutes: 5 });
  expect(isFound()).toBe(false);
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

it('is none by backups that were made by hand while no folder was set', async () => {
  const pass = clocks();
  await run(pass, { minutes: 3 });
  const without: App = { ...app, config: { ...app.config, backup: { ...app.config.backup, folder: null } } };
  pass(HOUR);
  const instance = await Instance.begin(without, root);
  for (let minute = 0; minute < 60; minute++) {
    pass(MINUTE);
    await instance.stamp();
  }
  await new Backups(without, root, 'test').make(await freeName(folder, bench.at));
  await instance.stop();
  pass(MINUTE);
  await run(pass, { minutes: 3 });
  expect(isFound()).toBe(false);
});

it('is found by a start whose clock is a few minutes behind the backup', async () => {
  await backups.scheduled(folder);
  await stamp(bench.at - HOUR);
  bench.at -= 5 * MINUTE;
  await (await begin()).stop();
  expect(isFound()).toBe(true);
});

it('is looked for in the whole time before, however often it starts while the disk is away', async () => {
  const pass = clocks();
  await run(pass, { minutes: 5 });
  const earlier = stamped();
  pass(HOUR);
  await run(pass, { minutes: 5 });
  await comeBack(earlier);
  const away = join(root, 'away');
  renameSync(folder, away);
  pass(HOUR);
  for (let start = 0; start < 40; start++) await run(pass, { minutes: 1, backup: false });
  expect(isFound()).toBe(false);
  renameSync(away, folder);
  await run(pass, { minutes: 1, backup: false });
  expect(isFound()).toBe(true);
});
