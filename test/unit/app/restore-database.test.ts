/** A copy of the database alone in place of a backup: it is taken over, or refused with the reason. */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type GivenWallet, restoreDatabase } from '../../../daemon/app/backup/restore-database.ts';
import { STAMP_SETTING } from '../../../daemon/app/recovery/clock.ts';
import { quarantineOf } from '../../../daemon/app/recovery/quarantine.ts';
import { deriveAddress } from '../../../daemon/chains/derive.ts';
import { Store } from '../../../daemon/store/store.ts';
import { accountKey } from '../../../daemon/wallet/accounts.ts';
import { openByVault, openByWords } from '../../../daemon/wallet/backup-key.ts';
import { seedOf } from '../../../daemon/wallet/mnemonic.ts';
import { walletFingerprint } from '../../../daemon/wallet/wallet.ts';
import { cheapWallet } from '../../support/wallet.ts';

const PASSPHRASE = 'a passphrase of the test';
const WORDS = `${'abandon '.repeat(11)}about`;
const OTHER = `${'zoo '.repeat(11)}wrong`;
const STAMPED = Date.parse('2026-05-04T03:02:01Z');

let root: string;
let file: string;
let into: string;
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'countinghouse-database-'));
  const first = join(root, 'first');
  mkdirSync(first);
  await cheapWallet(join(first, 'vault'), { words: WORDS, passphrase: PASSPHRASE });
  const key = accountKey(await seedOf(WORDS, ''), 'LTC', 'regtest', 0);
  const store = await Store.open(first);
  await store.close();
  file = join(root, 'replica.db');
  copyFileSync(join(first, 'countinghouse.db'), file);
  change((db) => {
    db.prepare(
      `INSERT INTO business (id, uuid, name, network, time_zone, account_no, created_at)
        VALUES (1, 'u', 'Shop', 'regtest', 'UTC', 0, 0)`,
    ).run();
    db.prepare(
      `INSERT INTO account (id, business_id, chain_key, key, next_index) VALUES (1, 1, 'regtest:LTC', ?, 1)`,
    ).run(JSON.stringify(key));
    const { address, script } = deriveAddress('LTC', 'regtest', key, 0, 0);
    db.prepare(
      `INSERT INTO target (account_id, chain_key, branch, idx, script, address) VALUES (1, 'regtest:LTC', 0, 0, ?, ?)`,
    ).run(script, address);
    db.prepare(`INSERT INTO setting (key, value, updated_at) VALUES (?, ?, 0)`).run(
      STAMP_SETTING,
      JSON.stringify({ id: 'x', count: 7, at: STAMPED, journal: null }),
    );
  });
  into = join(root, 'second');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function change(work: (db: Database.Database) => void): void {
  const db = new Database(file);
  work(db);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
}

/** But for the lock, which stays. */
const filesThere = (): string[] =>
  existsSync(into)
    ? readdirSync(into)
        .filter((name) => name !== 'lock')
        .toSorted()
    : [];
const copyOfVault = (): GivenWallet => ({ folder: join(root, 'first', 'vault') });

async function taken(wallet: GivenWallet = copyOfVault(), from = file): Promise<unknown> {
  const opened =
    'folder' in wallet
      ? await openByVault(join(root, 'first', 'vault'), PASSPHRASE)
      : await openByWords(wallet.words, wallet.mnemonicPassphrase);
  try {
    return await restoreDatabase(from, wallet, opened, into, Date.now(), 60).catch((error: unknown) => error);
  } finally {
    opened.close();
  }
}

it('is taken over with a copy of the wallet, quarantined, and the file is as it was', async () => {
  const before = readFileSync(file);
  expect(await taken()).toEqual({ made_at: new Date(STAMPED).toISOString(), invoices: 0, accounts: 1, unproved: [] });
  expect(readFileSync(file).equals(before)).toBe(true);
  expect(readdirSync(root).toSorted()).toEqual(['first', 'replica.db', 'second']);
  expect(filesThere()).toEqual(['countinghouse.db', 'vault']);
  const store = await Store.open(into);
  expect(quarantineOf(store)).toMatchObject({ backup_made_at: new Date(STAMPED).toISOString() });
  await store.close();
  const opened = await openByVault(join(into, 'vault'), PASSPHRASE);
  expect(opened.secret.fingerprint).toBe(await walletFingerprint(join(root, 'first', 'vault')));
  opened.close();
});

it('leaves its files to their owner, whatever the modes of the copies, and changes none of these through a link', async () => {
  const vault = join(root, 'first', 'vault');
  const journal = join(vault, 'signer-journal.jsonl');
  const elsewhere = join(root, 'journal');
  renameSync(journal, elsewhere);
  symlinkSync(elsewhere, journal);
  chmodSync(vault, 0o755);
  for (const name of readdirSync(vault)) chmodSync(join(vault, name), 0o444);
  chmodSync(file, 0o444);
  const before = readFileSync(elsewhere);
  expect(await taken()).toMatchObject({ accounts: 1 });
  const modes = [
    'vault',
    ...readdirSync(join(into, 'vault')).map((name) => join('vault', name)),
    'countinghouse.db',
  ].map((name) => [name, (lstatSync(join(into, name)).mode & 0o777).toString(8)]);
  expect(modes).toEqual(modes.map(([name]) => [name, name === 'vault' ? '700' : '600']));
  expect(readFileSync(elsewhere).equals(before)).toBe(true);
  expect(lstatSync(join(into, 'vault', 'signer-journal.jsonl')).isFile()).toBe(true);
});

it('is taken over with the words, and a passphrase for this machine', async () => {
  const fresh = 'another passphrase of the test';
  expect(await taken({ words: WORDS, mnemonicPassphrase: '', passphrase: fresh })).toMatchObject({ accounts: 1 });
  const opened = await openByVault(join(into, 'vault'), fresh);
  expect(opened.secret.fingerprint).toBe(await walletFingerprint(join(root, 'first', 'vault')));
  opened.close();
});

it('takes the log beside the file as well', async () => {
  const db = new Database(file);
  db.pragma('journal_mode = WAL');
  db.prepare(`INSERT INTO setting (key, value, updated_at) VALUES ('late', '1', 0)`).run();
  copyFileSync(file, join(root, 'live.db'));
  copyFileSync(`${file}-wal`, join(root, 'live.db-wal'));
  db.close();
  expect(await taken(copyOfVault(), join(root, 'live.db'))).toMatchObject({ accounts: 1 });
  const copy = new Database(join(into, 'countinghouse.db'), { readonly: true });
  expect(copy.prepare(`SELECT value FROM setting WHERE key = 'late'`).pluck().get()).toBe('1');
  copy.close();
});

it('undoes a change that was under way when it was copied', async () => {
  const db = new Database(file);
  db.pragma('journal_mode = DELETE');
  const insert = db.prepare(`INSERT INTO setting (key, value, updated_at) VALUES (?, ?, 0)`);
  db.transaction(() => {
    for (let n = 1_000; n < 3_000; n++) insert.run(`early ${n}`, 'x'.repeat(1_000));
  })();
  db.pragma('cache_size = 10');
  db.exec(`BEGIN; UPDATE setting SET value = replace(value, 'x', 'y')`);
  copyFileSync(file, join(root, 'live.db'));
  copyFileSync(`${file}-journal`, join(root, 'live.db-journal'));
  db.exec('ROLLBACK');
  db.close();
  expect(await taken(copyOfVault(), join(root, 'live.db'))).toMatchObject({ accounts: 1 });
  const copy = new Database(join(into, 'countinghouse.db'), { readonly: true });
  expect(copy.prepare(`SELECT count(*) FROM setting WHERE value LIKE 'y%'`).pluck().get()).toBe(0);
  copy.close();
  expect(filesThere()).toEqual(['countinghouse.db', 'vault']);
});

it('is refused with the words of another wallet, and nothing is left', async () => {
  expect(await taken({ words: OTHER, mnemonicPassphrase: '', passphrase: PASSPHRASE })).toMatchObject({
    code: 'backup.words',
    message: expect.stringContaining('regtest:LTC account 0'),
  });
  expect(filesThere()).toEqual([]);
});

it.each<[what: string, code: string, text: RegExp, prepare: () => void]>([
  ['a missing file', 'backup.missing', /There is no file/, () => rmSync(file)],
  [
    'a folder',
    'backup.missing',
    /is a folder/,
    () => {
      rmSync(file);
      mkdirSync(file);
    },
  ],
  [
    'a file of something else',
    'backup.format',
    /no SQLite database/,
    () => writeFileSync(file, 'age-encryption.org/v1'),
  ],
  ['an empty file', 'backup.format', /no SQLite database/, () => writeFileSync(file, '')],
  [
    'a database of another program',
    'backup.format',
    /of another program/,
    () => {
      rmSync(file);
      change((db) => db.exec('CREATE TABLE a (b)'));
    },
  ],
  ['half a file', 'backup.damaged', /not sound/, () => truncateSync(file, 65_536)],
  [
    'a newer release',
    'store.newer',
    /newer/,
    () => change((db) => db.exec(`INSERT INTO kysely_migration (name, timestamp) VALUES ('9999-later', '')`)),
  ],
  [
    'a trigger, which could show payers another address',
    'backup.damaged',
    /the trigger theirs/,
    () =>
      change((db) =>
        db.exec(`CREATE TRIGGER theirs AFTER INSERT ON payment BEGIN UPDATE payment SET address = 'x'; END`),
      ),
  ],
  [
    'a trigger that calls itself another kind, which SQLite takes all the same',
    'backup.damaged',
    /the trigger theirs/,
    () =>
      change((db) => {
        db.exec(`CREATE TRIGGER theirs AFTER INSERT ON payment BEGIN UPDATE payment SET address = 'x'; END`);
        db.unsafeMode(true);
        db.pragma('writable_schema = ON');
        db.exec(`UPDATE sqlite_master SET type = 'TRIGGER' WHERE name = 'theirs'`);
      }),
  ],
  [
    'a wrong sum',
    'backup.damaged',
    /the balance says 5 LTC/,
    () => change((db) => db.exec(`INSERT INTO balance (account_id, asset, units) VALUES (1, 'LTC', '5')`)),
  ],
])('%s is refused', async (_, code, text, prepare) => {
  prepare();
  expect(await taken()).toMatchObject({ code, message: expect.stringMatching(text) });
  expect(filesThere()).toEqual([]);
});

it('a folder without a wallet is refused', async () => {
  const opened = await openByVault(join(root, 'first', 'vault'), PASSPHRASE);
  await expect(restoreDatabase(file, { folder: root }, opened, into, Date.now(), 60)).rejects.toMatchObject({
    code: 'vault.missing',
  });
  opened.close();
});

it('a data directory that has a service is refused', async () => {
  await taken();
  expect(await taken()).toMatchObject({ code: 'restore.not_empty' });
});
