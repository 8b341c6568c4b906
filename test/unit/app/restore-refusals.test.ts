/** What `restore` says when its file or its folder is not one that it can use. */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { makeBackup } from '../../../daemon/app/backup/make.ts';
import { backupHeader, restoreBackup } from '../../../daemon/app/backup/restore.ts';
import type { ChainId } from '../../../daemon/domain/assets.ts';
import type { AccountKey } from '../../../daemon/domain/chain.ts';
import { takeLock } from '../../../daemon/store/lock.ts';
import { Store } from '../../../daemon/store/store.ts';
import { accountKey } from '../../../daemon/wallet/accounts.ts';
import { openByVault } from '../../../daemon/wallet/backup-key.ts';
import { seedOf } from '../../../daemon/wallet/mnemonic.ts';
import { ownAddress } from '../../../daemon/wallet/own-address.ts';
import * as recorded from '../../../daemon/wallet/signer/journal.ts';
import { primaryAddress } from '../../../daemon/wallet/view-only.ts';
import { cheapWallet } from '../../support/wallet.ts';

const PASSPHRASE = 'of the test';
const WORDS = `${'abandon '.repeat(11)}about`;
const OTHER = `${'zoo '.repeat(11)}wrong`;

let root: string;
let file: string;
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'countinghouse-refusals-'));
  const dataDir = join(root, 'first');
  mkdirSync(dataDir);
  await cheapWallet(join(dataDir, 'vault'), { words: WORDS, passphrase: PASSPHRASE });
  const store = await Store.open(dataDir);
  file = join(root, 'a.backup');
  await makeBackup({ dataDir, file, release: 'test', now: Date.now() });
  await store.close();
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(root, { recursive: true, force: true });
});

async function restored(into: string, taken?: { others: boolean }): Promise<unknown> {
  const opened = await openByVault(join(root, 'first', 'vault'), PASSPHRASE);
  try {
    return await restoreBackup(file, opened, into, Date.now(), 60, taken).catch((error: unknown) => error);
  } finally {
    opened.close();
  }
}

it('a folder in place of the backup', async () => {
  await expect(backupHeader(root)).rejects.toMatchObject({
    code: 'backup.missing',
    message: `${root} is a folder: name the file of the backup in it`,
  });
});

it('a data directory that is a file, or lies below one', async () => {
  writeFileSync(join(root, 'taken'), '');
  for (const [into, why] of [
    [join(root, 'taken'), 'it is a file'],
    [join(root, 'taken', 'below'), 'it lies below a file'],
  ] as const) {
    expect(await restored(into)).toMatchObject({ code: 'data_dir', message: expect.stringContaining(why) });
  }
});

/** A backup of the data with these accounts of one business, one for each chain. */
async function backedUpWith(accounts: Readonly<Record<string, AccountKey>>): Promise<void> {
  const dataDir = join(root, 'first');
  const db = new Database(join(dataDir, 'countinghouse.db'));
  db.prepare(
    `INSERT INTO business (id, uuid, name, network, time_zone, account_no, created_at)
       VALUES (1, 'u', 'Shop', 'regtest', 'UTC', 0, 0)`,
  ).run();
  const insert = db.prepare(`INSERT INTO account (business_id, chain_key, key, next_index) VALUES (1, ?, ?, 0)`);
  for (const [chain, key] of Object.entries(accounts)) insert.run(`regtest:${chain}`, JSON.stringify(key));
  db.close();
  file = join(root, 'with-accounts.backup');
  await makeBackup({ dataDir, file, release: 'test', now: Date.now() });
}
const keyOf = async (words: string, chain: ChainId): Promise<AccountKey> =>
  accountKey(await seedOf(words, ''), chain, 'regtest', 0);

it('an account of somebody else, which whoever had the service wrote into it', async () => {
  const into = join(root, 'second');
  await backedUpWith({ BTC: await keyOf(WORDS, 'BTC'), LTC: await keyOf(OTHER, 'LTC') });
  expect(await restored(into)).toMatchObject({
    code: 'backup.words',
    message: expect.stringContaining('regtest:LTC account 0: the words give another account'),
  });
  expect(readdirSync(into)).toEqual(['lock']);
  // of words that the service had before, says the operator
  expect(await restored(into, { others: true })).toMatchObject({
    unproved: ['regtest:LTC account 0: the words give another account'],
  });
});

it('an open invoice that shows the address of somebody else, in any family', async () => {
  const keys = { LTC: await keyOf(WORDS, 'LTC'), ETH: await keyOf(WORDS, 'ETH'), XMR: await keyOf(WORDS, 'XMR') };
  const chains = Object.keys(keys) as (keyof typeof keys)[];
  await backedUpWith(keys);
  const theirs = { LTC: await keyOf(OTHER, 'LTC'), ETH: await keyOf(OTHER, 'ETH'), XMR: await keyOf(OTHER, 'XMR') };
  for (const chain of chains) {
    for (const [of, isOwn] of [
      [keys, true],
      [theirs, false],
    ] as const) {
      await backedUpShowing(chain, ownAddress(of[chain], chain, 'regtest', 0));
      const result = await restored(join(root, `${chain}-${isOwn}`));
      if (isOwn) expect(result).toMatchObject({ unproved: [] });
      else {
        const own = ownAddress(keys[chain], chain, 'regtest', 0);
        expect(result).toMatchObject({
          code: 'backup.words',
          message: expect.stringMatching(
            new RegExp(`^invoice shown shows .*, and its account gives ${own}\\. A thief`),
          ),
        });
      }
    }
  }
});

/** Inserts a row whose other columns are empty. */
function insert(
  db: Database.Database,
  table: string,
  row: Readonly<Record<string, string | number | Uint8Array>>,
): void {
  const columns = db.pragma(`table_info(${table})`) as { name: string; type: string; notnull: number; pk: number }[];
  const empty = columns
    .filter(({ notnull, pk }) => notnull === 1 && pk === 0)
    .map(({ name, type }) => [name, type === 'INTEGER' ? 0 : type === 'BLOB' ? Buffer.alloc(0) : '']);
  const all = { ...Object.fromEntries(empty), ...row };
  const names = Object.keys(all);
  db.prepare(`INSERT INTO ${table} (${names}) VALUES (${names.map((name) => `@${name}`)})`).run(all);
}

/** A backup of the data after a change of it. */
async function backedUpAs(name: string, change: (db: Database.Database) => void): Promise<void> {
  const dataDir = join(root, 'first');
  const db = new Database(join(dataDir, 'countinghouse.db'));
  change(db);
  db.close();
  file = join(root, `${name}.backup`);
  await makeBackup({ dataDir, file, release: 'test', now: Date.now() });
}

/** A backup of the data with one open invoice, whose payer sees `address` for the first address of the account. */
async function backedUpShowing(chain: ChainId, address: string): Promise<void> {
  const dataDir = join(root, 'first');
  const db = new Database(join(dataDir, 'countinghouse.db'));
  for (const table of ['payment', 'target', 'invoice']) db.exec(`DELETE FROM ${table}`);
  const account = db.prepare('SELECT id FROM account WHERE chain_key = ?').pluck().get(`regtest:${chain}`) as number;
  db.exec('UPDATE account SET next_index = 0');
  db.prepare('UPDATE account SET next_index = 1 WHERE id = ?').run(account);
  insert(db, 'invoice', { id: 1, slug: 'shown', business_id: 1, status: 'unpaid' });
  insert(db, 'target', { id: 1, account_id: account, chain_key: `regtest:${chain}`, idx: 0, address });
  insert(db, 'payment', { invoice_id: 1, chain_key: `regtest:${chain}`, target_id: 1, address, status: 'pending' });
  db.close();
  file = join(root, `${chain}-${address}.backup`);
  await makeBackup({ dataDir, file, release: 'test', now: Date.now() });
}

it('an address of somebody else that a coin which the payer left before goes back to', async () => {
  const own = await keyOf(WORDS, 'ETH');
  await backedUpWith({ LTC: await keyOf(WORDS, 'LTC'), ETH: own });
  await backedUpShowing('LTC', ownAddress(await keyOf(WORDS, 'LTC'), 'LTC', 'regtest', 0));
  const theirs = ownAddress(await keyOf(OTHER, 'ETH'), 'ETH', 'regtest', 0);
  await backedUpAs('left', (db) => {
    const account = db.prepare(`SELECT id FROM account WHERE chain_key = 'regtest:ETH'`).pluck().get() as number;
    db.prepare('UPDATE account SET next_index = 1 WHERE id = ?').run(account);
    const place = { chain_key: 'regtest:ETH', address: theirs };
    insert(db, 'target', { id: 2, account_id: account, idx: 0, invoice_id: 1, ...place });
    // as of an invoice that was decided
    insert(db, 'former_target', { invoice_id: 1, target_id: 2, asset: 'ETH', open: 0, ...place });
  });
  expect(await restored(join(root, 'second'))).toMatchObject({
    code: 'backup.words',
    message: expect.stringContaining(`invoice shown shows ${theirs}`),
  });
});

it('an address of somebody else that would be given out next, in a range that is called skipped already', async () => {
  const other = await keyOf(OTHER, 'LTC');
  await backedUpWith({ LTC: await keyOf(WORDS, 'LTC') });
  await backedUpAs('ready', (db) => {
    const account = db.prepare('SELECT id FROM account').pluck().get() as number;
    db.prepare('UPDATE account SET next_index = 2').run();
    for (const idx of [0, 1]) {
      const theirs = ownAddress(other, 'LTC', 'regtest', idx);
      insert(db, 'target', {
        account_id: account,
        chain_key: 'regtest:LTC',
        idx,
        address: theirs,
        script: Buffer.from([idx]),
      });
    }
    db.prepare('UPDATE target SET invoice_id = NULL').run();
    insert(db, 'skipped', { account_id: account, branch: 0, from_index: 0, to_index: 60, reached: 0 });
  });
  expect(await restored(join(root, 'second'))).toMatchObject({
    code: 'backup.words',
    message: expect.stringContaining(`regtest:LTC account 0 would give out ${ownAddress(other, 'LTC', 'regtest', 0)}`),
  });
});

it.each([
  [
    'trigger theirs',
    `CREATE TRIGGER theirs AFTER INSERT ON payment BEGIN UPDATE payment SET address = 'x'; END`,
    'DROP TRIGGER theirs',
  ],
  ['view theirs', 'CREATE VIEW theirs AS SELECT * FROM payment', 'DROP VIEW theirs'],
  ['table theirs', 'CREATE VIRTUAL TABLE theirs USING fts5 (address)', 'DROP TABLE theirs'],
  ['index theirs', 'CREATE UNIQUE INDEX theirs ON payment (chain_key)', 'DROP INDEX theirs'],
  [
    'table policy',
    `ALTER TABLE policy ADD COLUMN theirs TEXT AS ('x') VIRTUAL`,
    'ALTER TABLE policy DROP COLUMN theirs',
  ],
])('a database that changes by itself what the service stores: %s', async (name, made, dropped) => {
  await backedUpAs(name, (db) => db.exec(made));
  const into = join(root, 'with');
  expect(await restored(into)).toMatchObject({
    code: 'backup.damaged',
    message: expect.stringContaining(`the ${name}, which no release makes`),
  });
  expect(readdirSync(into)).toEqual(['lock']);
  const db = new Database(join(root, 'first', 'countinghouse.db'));
  db.exec(dropped);
  db.close();
});

it('takes the tables of a program that replicates the database', async () => {
  await backedUpAs('replicated', (db) => db.exec('CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)'));
  expect(await restored(join(root, 'second'))).toMatchObject({ manifest: { release: 'test' } });
});

it('tells of accounts that no words can prove', async () => {
  const watched = { ...(await keyOf(OTHER, 'LTC')), watch: { form: 'p2wpkh', origin: null } } as AccountKey;
  const monero = await keyOf(OTHER, 'XMR');
  await backedUpWith({ BTC: await keyOf(WORDS, 'BTC'), LTC: watched, XMR: monero });
  expect(await restored(join(root, 'second'))).toMatchObject({
    unproved: [
      expect.stringMatching(/^regtest:LTC account 0: wpkh\(/),
      `regtest:XMR account 0: ${primaryAddress(monero, 'regtest')}`,
    ],
  });
});

it('keeps the backup in the data directory, whatever it is called', async () => {
  const into = join(root, 'restore-backup');
  mkdirSync(into);
  renameSync(file, join(into, 'restore-backup'));
  file = join(into, 'restore-backup');
  expect(await restored(into)).toMatchObject({ manifest: { release: 'test' }, unproved: [] });
  expect(readdirSync(into).sort()).toEqual(['countinghouse.db', 'lock', 'restore-backup', 'vault']);
});

it('a log whose database is gone, which would be read into the restored one', async () => {
  const into = join(root, 'crashed');
  mkdirSync(into);
  writeFileSync(join(into, 'countinghouse.db-wal'), 'of a service that crashed');
  expect(await restored(into)).toMatchObject({
    code: 'restore.not_empty',
    message: expect.stringContaining('countinghouse.db-wal'),
  });
  expect(readdirSync(into)).toEqual(['countinghouse.db-wal']);
});

it('a data directory that a service runs on, and lets none start on it meanwhile', async () => {
  const into = join(root, 'second');
  mkdirSync(into);
  const lock = takeLock(into);
  expect(await restored(into)).toMatchObject({ code: 'store.locked' });
  lock.close();
  const { revokeIn } = recorded;
  let started: unknown;
  vi.spyOn(recorded, 'revokeIn').mockImplementationOnce(async (...of) => {
    started = await Store.open(into).catch((error: unknown) => error);
    return revokeIn(...of);
  });
  expect(await restored(into)).toMatchObject({ manifest: { release: 'test' } });
  expect(started).toMatchObject({ code: 'store.locked' });
  expect(statSync(join(into, 'lock')).mode & 0o777).toBe(0o600);
});

it('a disk that is full, or gone, while the files are written', async () => {
  const { EDQUOT } = constants.errno;
  for (const [code, errno, why] of [
    ['ENOSPC', -constants.errno.ENOSPC, 'the disk is full. Make room, or give another folder with --data-dir'],
    // as Node has it, which knows no such error
    [`Unknown system error -${EDQUOT}`, -EDQUOT, 'the disk is full. Make room, or give another folder with --data-dir'],
    ['ENOENT', -constants.errno.ENOENT, 'its disk or the folder above it is not there (ENOENT)'],
  ] as const) {
    const refuse = Object.assign(new Error(`${code}: raw`), { code, errno, syscall: 'write' });
    vi.spyOn(recorded, 'revokeIn').mockRejectedValueOnce(refuse);
    expect(await restored(join(root, `into-${code}`))).toMatchObject({
      code: 'data_dir',
      message: expect.stringContaining(why),
    });
  }
});
