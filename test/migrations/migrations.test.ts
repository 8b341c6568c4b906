/** Data directories of every release so far, and of this one, are opened by this one and go on working. */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { restoreBackup } from '../../daemon/app/backup/restore.ts';
import { backUpBeforeUpgrade, endUpgrade } from '../../daemon/app/backup/upgrade.ts';
import { verifyBackup } from '../../daemon/app/backup/verify.ts';
import { MIGRATIONS, migrate } from '../../daemon/store/migrations.ts';
import { Store } from '../../daemon/store/store.ts';
import { openByWords } from '../../daemon/wallet/backup-key.ts';
import { cheapWallet } from '../support/wallet.ts';
import { type Fixture, makeFixture, restore, Service } from './fixture.ts';

/**
 * The SHA-256 of each released migration's statements, joined by newlines. A release adds lines for what it went out with;
 * no line ever changes, and nor does its migration: what is to be different is a new one.
 */
const RELEASED: readonly [name: string, sha256: string][] = [
  ['0001-first', 'eb6950bedd53b7fbc04a2b76859e349047a515be305b312185bbfd800a1e6bba'],
  ['0002-withdrawals', 'd3a2450f9acedc304c38f10b3bc93af2027ced769064af9552981cdf66bf307b'],
  ['0003-branding', 'd2cb0fe7495b41e2ff8e2763b204be37a72df71e6b6a3e2625deb6ed34a84183'],
  ['0004-appliance', '6ac7e4b1555c63a58baa6e9172c61bf80bbe370041455bb19f85dce5d7b760ae'],
  ['0005-clients', 'c06b63fad770e391e579370786153ad1fbc9ea154661461d80f9cfdb278995e0'],
  ['0006-restored', '3f013df33a442ba8f6f7bc626ba40326228c57eccf3a395634612c2e3b1c6f56'],
];

describe('a migration that was released is never edited', () => {
  it.each(RELEASED)('%s', (name, sha256) => {
    const statements = MIGRATIONS.find((migration) => migration[0] === name)?.[1] ?? [];
    expect(createHash('sha256').update(statements.join('\n')).digest('hex')).toBe(sha256);
  });

  it('and every file of one is registered, in the order of their numbers', () => {
    const files = readdirSync(join(import.meta.dirname, '../../daemon/store/migrations'));
    expect(MIGRATIONS.map(([name]) => name)).toEqual(files.map((file) => file.replace(/\.ts$/, '')).sort());
  });
});

const WORDS = `${'abandon '.repeat(11)}about`;

const releases = readdirSync(import.meta.dirname).filter((file) => file.endsWith('.json'));
const read = (file: string): Fixture => JSON.parse(readFileSync(join(import.meta.dirname, file), 'utf8')) as Fixture;

describe.each<[string, () => Fixture | Promise<Fixture>]>([
  ...releases.map((file): [string, () => Fixture] => [file.replace(/\.json$/, ''), () => read(file)]),
  ['this release', makeFixture],
])('a data directory of %s', (_, make) => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'countinghouse-migrated-'));
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  it('says what it said, ends what it began, and takes new payments', async () => {
    const fixture = await make();
    restore(fixture, dataDir);
    const service = await Service.start(dataDir, fixture);
    try {
      expect(Object.keys(fixture.answers).length).toBeGreaterThan(3);
      for (const [path, answer] of Object.entries(fixture.answers)) {
        // the port may be another one
        const expected = { ...(answer as object) };
        if ('invoice_url' in expected) expected.invoice_url = expect.stringContaining('/pay/');
        expect(await service.call('GET', path)).toMatchObject(expected);
      }
      // what was unconfirmed when the release stopped confirms in this one
      await service.sell('LTC', 3);
      const invoices = Object.keys(fixture.answers).filter((path) => path.startsWith('/invoice/'));
      const statuses = await Promise.all(invoices.map((path) => service.call<{ status: string }>('GET', path)));
      expect(statuses.map(({ status }) => status)).toEqual(['paid', 'paid', 'unpaid']);
    } finally {
      await service.stop();
    }
  });
});

describe('an upgrade', () => {
  it('makes a backup of the database as it was, from which the release before can be gone back to', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'countinghouse-upgrade-'));
    try {
      const fixture = read('0.1.0.json');
      restore(fixture, dataDir);
      await cheapWallet(join(dataDir, 'vault'), { words: WORDS, passphrase: 'of the test' });
      await (await Service.start(dataDir, fixture)).stop();
      const [name, ...others] = readdirSync(join(dataDir, 'upgrades'));
      expect(others).toEqual([]);
      const words = await openByWords(WORDS);
      const report = await verifyBackup(join(dataDir, 'upgrades', name!), words, null);
      words.close();
      expect(report.problems).toEqual([]);
      expect(report.manifest.facts.counts).toMatchObject({ businesses: 1, invoices: 3 });
      // it is one of an earlier release, which this one restores too
      const opened = await openByWords(WORDS);
      const target = join(dataDir, 'restored');
      await restoreBackup(join(dataDir, 'upgrades', name!), opened, target, fixture.takenAt, 10);
      opened.close();
      await (await Store.open(target)).close();
      // a start that upgrades nothing makes none
      await (await Service.start(dataDir, fixture)).stop();
      expect(readdirSync(join(dataDir, 'upgrades'))).toEqual([name]);
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  });

  it('that is interrupted again and again keeps the backup from before its first migration, and those of two others', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'countinghouse-upgrade-'));
    const folder = join(dataDir, 'upgrades');
    const backups = (): string[] => readdirSync(folder).filter((name) => name.endsWith('.backup'));
    try {
      const fixture = read('0.1.0.json');
      restore(fixture, dataDir);
      await cheapWallet(join(dataDir, 'vault'), { words: WORDS, passphrase: 'of the test' });
      mkdirSync(folder);
      // made in this order: names do not sort like times
      const earlier = ['0.8.0-20240101', '0.9.0-20250101', '0.10.0-20260101'].map(
        (at) => `before-${at}-000000000.backup`,
      );
      for (const name of earlier) writeFileSync(join(folder, name), '');
      const now = Date.parse('2026-06-01');
      for (let n = 0; n < 5; n++) {
        const applied = RELEASED.length + n;
        await backUpBeforeUpgrade(dataDir, { release: '0.11.0', now: now + n, applied });
        const db = new Database(join(dataDir, 'countinghouse.db'));
        migrate(db, MIGRATIONS.slice(0, applied + 1));
        db.close();
      }
      const first = 'before-0.11.0-20260601-000000000.backup';
      expect(backups().sort()).toEqual([...earlier.slice(1), first].sort());
      await endUpgrade(dataDir);
      await backUpBeforeUpgrade(dataDir, { release: '0.12.0', now: now + 10, applied: 30 });
      expect(backups().sort()).toEqual([earlier[2], first, 'before-0.12.0-20260601-000000010.backup'].sort());
      // one that changed nothing yet is made again: the older release may have run since
      await backUpBeforeUpgrade(dataDir, { release: '0.12.0', now: now + 20, applied: 30 });
      expect(backups()).toContain('before-0.12.0-20260601-000000020.backup');
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  });

  it('that cannot be backed up changes nothing', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'countinghouse-upgrade-'));
    try {
      const fixture = read('0.1.0.json');
      restore(fixture, dataDir);
      await cheapWallet(join(dataDir, 'vault'), { words: WORDS, passphrase: 'of the test' });
      writeFileSync(join(dataDir, 'upgrades'), 'in the way');
      await expect(Service.start(dataDir, fixture)).rejects.toMatchObject({ code: 'upgrade.backup' });
      const db = new Database(join(dataDir, 'countinghouse.db'), { readonly: true });
      const applied = db.prepare('SELECT name FROM kysely_migration ORDER BY name').pluck().all();
      db.close();
      expect(applied).toEqual(RELEASED.map(([released]) => released));
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});
