/** Which scheduled backups are kept, whatever the clock says, and into which folder they go. */

import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { deriveSkipped } from '../../../daemon/app/addresses/skipped.ts';
import { end } from '../../../daemon/app/alerts.ts';
import type { App } from '../../../daemon/app/app.ts';
import { CONFIG, DATABASE } from '../../../daemon/app/backup/container.ts';
import { MARKER, newestBackup, prepareFolder } from '../../../daemon/app/backup/folder.ts';
import { beginQuarantine } from '../../../daemon/app/recovery/begin-quarantine.ts';
import { endQuarantine } from '../../../daemon/app/recovery/quarantine.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';
import { textOf } from '../../../daemon/domain/messages.ts';
import { openAlerts } from '../../../daemon/store/queries/effects.ts';
import { Backups } from '../../../daemon/workers/backup.ts';
import { Timetable } from '../../../daemon/workers/timetable.ts';
import { until } from '../../support/daemon.ts';
import { cheapWallet } from '../../support/wallet.ts';
import { Bench } from './bench.ts';

const DAY = 86_400_000;
const KEEP = 2;

let root: string;
let folder: string;
let bench: Bench;
let app: App;
let backups: Backups;
/** Once a thread has made its backup: older ones are looked at after that. */
let isMade: boolean;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'countinghouse-rotation-'));
  folder = join(root, 'stick');
  mkdirSync(folder);
  await cheapWallet(join(root, 'vault'), { words: `${'abandon '.repeat(11)}about`, passphrase: 'of the test' });
  bench = await Bench.open();
  isMade = false;
  vi.spyOn(bench.app.log, 'info').mockImplementation((_, text) => {
    if (text === 'a backup was made') isMade = true;
  });
  app = { ...bench.app, config: { ...bench.app.config, backup: { folder, schedule: '0 3 * * *', keep: KEEP } } };
  backups = new Backups(app, root, 'test');
  await prepareFolder(app, folder);
});
afterEach(async () => {
  await backups.stop();
  rmSync(root, { recursive: true, force: true });
});

const names = (): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.backup'))
    .sort();
const alerts = (): string[] =>
  app.store.all(openAlerts, { rank: 0, id: Number.MAX_SAFE_INTEGER, limit: 10 }).map(({ kind }) => kind);

/** A backup a day, the first at once. Returns the names of those that were made. */
async function days(count: number): Promise<string[]> {
  const made: string[] = [];
  for (let day = 0; day < count; day++) {
    const before = new Set(names());
    await backups.scheduled(folder);
    made.push(...names().filter((name) => !before.has(name)));
    bench.at += DAY;
  }
  return made;
}

const PAGE = 4_096;

function withDatabase<T>(file: string, work: (db: Database.Database) => T): T {
  const db = new Database(file);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

/** The first page of a table or index, from 1. */
const pageOf = (file: string, name: string): number =>
  withDatabase(
    file,
    (db) => db.prepare('SELECT rootpage FROM sqlite_master WHERE name = ?').pluck().get(name) as number,
  );

/** Damages the end of a page, where its first rows are, or its header. */
function overwrite(file: string, page: number, where: 'rows' | 'header' = 'rows'): void {
  const handle = openSync(file, 'r+');
  writeSync(handle, Buffer.alloc(64, 0xa5), 0, 64, where === 'rows' ? page * PAGE - 64 : (page - 1) * PAGE);
  closeSync(handle);
}

describe('the scheduled backups', () => {
  it('say that the disk is full, leave nothing, and are made once there is room', async () => {
    const { copyTo } = app.store;
    app.store.copyTo = (to, signal) =>
      copyTo.call(app.store, to, signal).then(() => {
        throw new Database.SqliteError('database or disk is full', 'SQLITE_FULL');
      });
    const before = readdirSync(root);
    await expect(backups.scheduled(folder)).rejects.toMatchObject({ code: 'backup.folder' });
    const told = app.store.all(openAlerts, { rank: 0, id: 2 ** 40, limit: 9 });
    expect(told.map(({ kind, message }) => [kind, textOf(message)])).toEqual([
      ['backup.failed', expect.stringMatching(/the disk is full.* room there for the database twice/)],
    ]);
    expect([readdirSync(root), names()]).toEqual([before, []]);
    app.store.copyTo = copyTo;
    await days(1);
    expect([names().length, alerts()]).toEqual([1, []]);
  });

  /** Ways in which a database is damaged: the page of an index, of a table, the end of the file, a row that is gone. */
  const damages: { [what: string]: (file: string) => void } = {
    'an index': (file) => overwrite(file, pageOf(file, 'invoice_slug')),
    'a table': (file) => overwrite(file, pageOf(file, 'business')),
    'a table that nothing counts': (file) => overwrite(file, pageOf(file, 'setting'), 'header'),
    'the end': (file) => truncateSync(file, readFileSync(file).length - 4_096),
    'a row': (file) => withDatabase(file, (db) => db.exec('DELETE FROM business')),
  };
  it('are not made of a damaged database. Nothing is rotated, and it is told', async () => {
    const made = await days(KEEP);
    const { copyTo } = app.store;
    for (const [what, damage] of Object.entries(damages)) {
      app.store.copyTo = async (to, signal) => {
        await copyTo.call(app.store, to, signal);
        damage(to);
      };
      await expect(backups.scheduled(folder), what).rejects.toMatchObject({ code: 'backup.unsound' });
      expect([names(), alerts()], what).toEqual([made, ['backup.failed', 'storage.damaged']]);
      // whatever the next one finds is told anew
      await end(app, 'backup.failed', folder);
      await end(app, 'storage.damaged', DATABASE);
      bench.at += DAY;
    }
    await expect(backups.make(join(root, 'by hand.backup'))).rejects.toMatchObject({ code: 'backup.unsound' });
    expect([readdirSync(root).includes('by hand.backup'), alerts()]).toEqual([false, ['storage.damaged']]);
    await expect(backups.scheduled(folder)).rejects.toMatchObject({ code: 'backup.unsound' });
    app.store.copyTo = copyTo;
    const [next] = await days(1);
    expect([names(), alerts()]).toEqual([[...made.slice(1), next], []]);
  });

  it('that are kept are the newest, by what they say themselves', async () => {
    const made = await days(KEEP + 1);
    expect(names()).toEqual(made.slice(-KEEP));
    // a file's date says when it was copied
    utimesSync(join(folder, made.at(-KEEP)!), new Date(), new Date(2040, 0));
    const [next] = await days(1);
    expect(names()).toEqual([...made.slice(1 - KEEP), next]);
    expect(alerts()).toEqual([]);
  });

  it('made now are never removed for those that a clock made which was ahead, and it is told', async () => {
    const real = bench.at;
    bench.at = real + 400 * DAY;
    const ahead = await days(KEEP);
    bench.at = real;
    const made = await days(KEEP + 1);
    expect(names()).toEqual([...made.slice(-KEEP), ...ahead].sort());
    expect(alerts()).toEqual(['backup.future']);
    // once their time has come they are like any others
    bench.at = real + 410 * DAY;
    const [last] = await days(1);
    expect(names()).toEqual([...ahead.slice(1 - KEEP), last].sort());
  });

  it('made in 1970 remove none of those that were made when the clock was right', async () => {
    const made = await days(KEEP);
    bench.at = 10 * DAY;
    await days(KEEP + 1);
    expect(names()).toEqual(expect.arrayContaining(made));
    expect(names()).toHaveLength(2 * KEEP);
  });

  it('made in a quarantine remove none of before it, which may know more, and it is rotated once that has ended', async () => {
    const made = await days(KEEP);
    await app.store.write((tx) => beginQuarantine(tx, { made_at: null }, app.now(), 10));
    bench.at += DAY;
    const since = await days(KEEP + 1);
    expect(names()).toEqual([...made, ...since.slice(1)]);
    for (const account of app.directory.accounts()) await deriveSkipped(app, account, () => false);
    await app.store.write((tx) => endQuarantine(app, tx));
    const [next] = await days(1);
    expect(names()).toEqual([...since.slice(1 - KEEP), next]);
  });

  it('of the same second get a name of their own', async () => {
    await backups.scheduled(folder);
    await backups.scheduled(folder);
    expect(names()).toEqual([expect.stringMatching(/\d{6}-2\.backup$/), expect.stringMatching(/\d{6}\.backup$/)]);
  });

  it('that are not whole, or are none, count for nothing and are left', async () => {
    const made = await days(2);
    truncateSync(join(folder, made[1]!), readFileSync(join(folder, made[1]!)).length - 10);
    writeFileSync(join(folder, 'countinghouse-29990101-000000.backup'), 'a text');
    writeFileSync(join(folder, 'notes.txt'), 'not ours');
    await days(KEEP);
    expect(names()).toHaveLength(KEEP + 2);
    expect(names()).toContain(made[1]);
    expect(readdirSync(folder)).toContain('notes.txt');
    expect(alerts()).toEqual(['backup.broken']);
  });

  it('of another wallet are left alone', async () => {
    const other = join(root, 'other');
    await cheapWallet(join(other, 'vault'), { words: `${'zoo '.repeat(11)}wrong`, passphrase: 'of the test' });
    const others = new Backups(app, other, 'test');
    for (let day = 0; day < 2; day++) {
      await others.scheduled(folder);
      bench.at += DAY;
    }
    await days(KEEP + 1);
    expect(names()).toHaveLength(KEEP + 2);
  });

  it('remove what one that was killed has left', async () => {
    const left = 'countinghouse-20260101-000000.backup.0123456789ab.partial';
    writeFileSync(join(folder, left), 'cut off');
    mkdirSync(join(root, 'work-of-backup-AbCdEf'));
    mkdirSync(join(root, 'backup-weekly'));
    await backups.scheduled(folder);
    expect(readdirSync(folder)).not.toContain(left);
    expect(readdirSync(root)).not.toContain('work-of-backup-AbCdEf');
    expect(readdirSync(root)).toContain('backup-weekly');
  });
});

describe('the folder of the scheduled backups', () => {
  it('is not written to when its disk is not mounted: the empty folder lacks the marker', async () => {
    rmSync(join(folder, MARKER));
    await expect(backups.scheduled(folder)).rejects.toMatchObject({ code: 'backup.unmounted' });
    expect(readdirSync(folder)).toEqual([]);
    expect(alerts()).toEqual(['backup.failed']);
    // a start makes no marker there, either
    await prepareFolder(app, folder);
    expect(readdirSync(folder)).toEqual([]);
    writeFileSync(join(folder, MARKER), '');
    await backups.scheduled(folder);
    expect(names()).toHaveLength(1);
  });

  it('that is missing at the start is told and looked for every minute, and does not keep the service from starting', async () => {
    rmSync(folder, { recursive: true });
    let passed = 0;
    const timetable = new Timetable(app, { passed: () => passed });
    await backups.start(timetable);
    timetable.start();
    try {
      await until('it is missed', async () => alerts().length > 0);
      expect(alerts()).toEqual(['backup.failed']);
      mkdirSync(folder);
      writeFileSync(join(folder, MARKER), '');
      passed += 61_000;
      await until('the folder is found', async () => alerts().length === 0);
    } finally {
      await timetable.stop();
    }
    await backups.scheduled(folder);
    expect(names()).toHaveLength(1);
  });

  /** Opening it waits for another one who does, as a network disk that is away does for ever. */
  function pipe(path: string): string {
    execFileSync('mkfifo', [path]);
    return path;
  }

  it('on a disk that does not answer does not keep the service from starting', async () => {
    const silent = join(root, 'silent');
    mkdirSync(silent);
    const marker = pipe(join(silent, MARKER));
    const config = { ...app.config, backup: { ...app.config.backup, folder: silent } };
    const timetable = new Timetable(app);
    try {
      await new Backups({ ...app, config }, root, 'test').start(timetable);
      timetable.start();
    } finally {
      await (await open(marker, 'r')).close();
      await timetable.stop();
    }
  });

  it('on a disk that does not answer is given up after ten seconds, and asked once by all who want to know', async () => {
    const file = pipe(join(folder, 'countinghouse-20260101-000000.backup'));
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    try {
      const ends = Promise.allSettled([newestBackup(folder, null, bench.at), newestBackup(folder, null, bench.at)]);
      vi.advanceTimersByTime(10_000);
      expect(await ends).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }]);
      const again = newestBackup(folder, null, bench.at);
      await (await open(file, 'w')).close();
      expect(await again).toBe(null);
    } finally {
      vi.useRealTimers();
    }
  });

  /** Until the hour for a backup is over. Its timer is one of `useFakeTimers`. */
  async function afterAnHour(what: string, hangs: () => boolean): Promise<void> {
    await until(what, async () => hangs());
    vi.advanceTimersByTime(3_600_000);
  }

  it('on a disk that hangs after the first look ends its backup after an hour, with an alert, and blocks that folder alone', async () => {
    const silent = pipe(join(folder, 'countinghouse-20260101-000000.backup'));
    vi.useFakeTimers({ toFake: ['setTimeout'], shouldAdvanceTime: true });
    try {
      const slot = expect(backups.scheduled(folder)).rejects.toBeInstanceOf(Unavailable);
      await afterAnHour('the older ones are read', () => isMade);
      await slot;
      expect(alerts()).toEqual(['backup.failed']);
      const hangs = `A backup to ${folder} hangs`;
      await expect(backups.scheduled(folder)).rejects.toThrow(hangs);
      await expect(backups.make(join(folder, 'by hand'))).rejects.toThrow(hangs);
      expect((await backups.make(join(root, 'meanwhile'))).bytes).toBeGreaterThan(0);
      expect(backups.isBusy).toBe(true);
    } finally {
      const writer = await open(silent, 'w');
      rmSync(silent);
      await writer.close();
      vi.useRealTimers();
    }
    await until('the disk answers', async () => !backups.isBusy);
    await backups.scheduled(folder);
    expect(alerts()).toEqual([]);
  });

  it('is left by a thread that hangs once the hour is over', async () => {
    const silent = pipe(join(root, CONFIG));
    vi.useFakeTimers({ toFake: ['setTimeout'], shouldAdvanceTime: true });
    try {
      const hangs = () => readdirSync(root).some((name) => existsSync(join(root, name, 'vault', 'wallet.json')));
      const made = expect(backups.make(join(root, 'by hand'))).rejects.toBeInstanceOf(Unavailable);
      await afterAnHour('the vault is copied', hangs);
      await made;
      await expect(backups.make(join(root, 'by hand'))).rejects.toThrow(`A backup to ${root} hangs`);
    } finally {
      await (await open(silent, 'w')).close();
      vi.useRealTimers();
    }
    await until('the disk answers', async () => !backups.isBusy);
  });

  it('on a disk that hangs keeps no timetable from stopping, which is no failure', async () => {
    const silent = pipe(join(folder, 'countinghouse-20260101-000000.backup'));
    let passed = 0;
    const timetable = new Timetable(app, { passed: () => passed });
    await backups.start(timetable);
    try {
      bench.at += DAY;
      passed += 11_000;
      timetable.tick();
      await until('the older ones are read', async () => isMade);
      await timetable.stop();
      expect(alerts()).toEqual([]);
    } finally {
      await (await open(silent, 'w')).close();
      await timetable.stop();
    }
  });

  it('is marked when another one is configured', async () => {
    const another = join(root, 'another');
    await expect(prepareFolder(app, another)).rejects.toMatchObject({ code: 'backup.folder' });
    mkdirSync(another);
    await prepareFolder(app, another);
    expect(readdirSync(another)).toEqual([MARKER]);
  });

  it('that is a file is refused', async () => {
    writeFileSync(join(root, 'file'), '');
    await expect(prepareFolder(app, join(root, 'file'))).rejects.toMatchObject({ code: 'backup.folder' });
  });
});
