/** A backup of a server whose words are at home: restored there by a pass that is made at home, and by nothing that the server had. */
import {
  cpSync,
  createReadStream,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeBackup } from '../../../daemon/app/backup/make.ts';
import { passOf } from '../../../daemon/app/backup/pass.ts';
import { restoreBackup } from '../../../daemon/app/backup/restore.ts';
import type { AccountKey } from '../../../daemon/domain/chain.ts';
import { keepAccount } from '../../../daemon/home/accounts.ts';
import { Store } from '../../../daemon/store/store.ts';
import { accountKey } from '../../../daemon/wallet/accounts.ts';
import { openByVault } from '../../../daemon/wallet/backup-key.ts';
import { hashOf, passText, readPass } from '../../../daemon/wallet/backup-pass.ts';
import { seedOf } from '../../../daemon/wallet/mnemonic.ts';
import { fileKeyOf } from '../../../daemon/wallet/sealed-file.ts';
import { cheapWallet } from '../../support/wallet.ts';
import { cli } from '../cli-kit.ts';
import { codeOf } from '../wallet/signer-kit.ts';

const PASSPHRASE = 'kept at home';
const WORDS = `${'abandon '.repeat(11)}about`;
const OTHER_WALLETS = 'legal winner thank year wave sausage worth useful legal winner thank yellow';
const THIEFS = `${'zoo '.repeat(11)}wrong`;
const KEY_FILE = 'backup-key-73c5da0a.json';

let root: string;
let home: string;
let server: string;
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'countinghouse-pass-test-'));
  home = join(root, 'home', 'servers', 'shop');
  server = join(root, 'server');
  mkdirSync(home, { recursive: true });
  mkdirSync(join(server, 'vault'), { recursive: true });
  await cheapWallet(join(home, 'vault'), { words: WORDS, passphrase: PASSPHRASE });
  writeFileSync(join(root, 'passphrase'), PASSPHRASE);
  cpSync(join(home, 'vault', KEY_FILE), join(server, 'vault', KEY_FILE));
  const store = await Store.open(server);
  await store.close();
  await account(WORDS);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Makes the account of these words that of the server's business. */
const account = async (words: string) => storeAccount(accountKey(await seedOf(words, ''), 'LTC', 'regtest', 0));

async function storeAccount(key: AccountKey): Promise<void> {
  const db = new Database(join(server, 'countinghouse.db'));
  db.exec(`INSERT OR IGNORE INTO business (id, uuid, name, network, time_zone, account_no, created_at)
             VALUES (1, 'u', 'Shop', 'regtest', 'UTC', 0, 0)`);
  db.exec('DELETE FROM account');
  db.prepare(`INSERT INTO account (business_id, chain_key, key, next_index) VALUES (1, 'regtest:LTC', ?, 0)`).run(
    JSON.stringify(key),
  );
  db.close();
}

async function backedUp(name: string): Promise<string> {
  const file = join(root, name);
  await makeBackup({ dataDir: server, file, release: 'test', now: Date.now() });
  return file;
}

async function passed(file: string) {
  const words = await openByVault(join(home, 'vault'), PASSPHRASE);
  try {
    return await passOf(file, words);
  } finally {
    words.close();
  }
}

const restored = (file: string, pass: string, into: string) =>
  restoreBackup(file, readPass(pass), join(root, into), Date.now(), 60);

describe('the pass of a backup', () => {
  it('brings the server back without a word, into quarantine', async () => {
    const file = await backedUp('a.backup');
    const { report, pass } = await passed(file);
    expect(report.problems).toEqual([]);
    const made = await restored(file, pass!, 'second');
    expect(made).toMatchObject({ manifest: { fingerprint: '73c5da0a' }, unproved: [] });
    expect(readdirSync(join(root, 'second')).sort()).toEqual(['countinghouse.db', 'lock', 'vault']);
    expect(readdirSync(join(root, 'second', 'vault'))).toEqual([KEY_FILE]);
    const db = new Database(join(root, 'second', 'countinghouse.db'), { readonly: true });
    expect(db.prepare('SELECT name FROM business').pluck().all()).toEqual(['Shop']);
    expect(db.prepare("SELECT COUNT(*) FROM setting WHERE key = 'quarantine'").pluck().get()).toBe(1);
    db.close();
  });

  it('opens no other backup of the same wallet, and no altered one', async () => {
    const [file, later] = [await backedUp('a.backup'), await backedUp('later.backup')];
    const { pass } = await passed(file);
    expect(await codeOf(restored(later, pass!, 'second'))).toBe('backup.pass');
    const altered = readFileSync(file);
    altered[altered.length - 1]! ^= 1;
    writeFileSync(file, altered);
    expect(await codeOf(restored(file, pass!, 'second'))).toBe('backup.pass');
    // whoever made a file knows its key: with the hash of another one it opens nothing
    const { fileKey } = readPass(pass!);
    const { hash } = readPass((await passed(later)).pass!);
    expect(await codeOf(restored(later, passText({ fileKey, hash }), 'second'))).toBe('backup.damaged');
    expect(readdirSync(join(root, 'second'))).toEqual(['lock']);
  });

  it('is not made for a backup into which whoever had the server wrote an account of his own', async () => {
    await account(THIEFS);
    const { report, pass } = await passed(await backedUp('a.backup'));
    expect(pass).toBeNull();
    expect(report.problems).toEqual(['regtest:LTC account 0: the words give another account']);
  });

  it('is not made for a backup that would change by itself what the service stores', async () => {
    const db = new Database(join(server, 'countinghouse.db'));
    db.exec(`CREATE TRIGGER theirs AFTER INSERT ON payment BEGIN UPDATE payment SET address = 'x'; END`);
    db.close();
    const { report, pass } = await passed(await backedUp('a.backup'));
    expect(pass).toBeNull();
    expect(report.problems).toEqual(['the database has the trigger theirs, which no release makes']);
  });

  it('is neither made nor taken for a backup with a wallet in it', async () => {
    cpSync(join(home, 'vault'), join(server, 'vault'), { recursive: true });
    const file = await backedUp('with-wallet.backup');
    expect(await codeOf(passed(file))).toBe('backup.pass');
    const words = await openByVault(join(home, 'vault'), PASSPHRASE);
    const fileKey = await fileKeyOf(createReadStream(file), words.secret);
    words.close();
    const pass = passText({ fileKey, hash: await hashOf(file) });
    expect(await codeOf(restored(file, pass, 'second'))).toBe('backup.pass');
    expect(readdirSync(join(root, 'second'))).toEqual(['lock']);
  });

  it('is told from a text with a wrong character, or that is none', async () => {
    const { pass } = await passed(await backedUp('a.backup'));
    expect(passText(readPass(` ${pass}\n`))).toBe(pass);
    const at = pass!.length - 20;
    const wrong = `${pass!.slice(0, at)}${pass![at] === 'A' ? 'B' : 'A'}${pass!.slice(at + 1)}`;
    for (const text of [wrong, pass!.slice(0, -1), `${pass}A`, '', 'CH-BACKUP-1-', WORDS]) {
      expect(() => readPass(text)).toThrow('a character of it is wrong or missing');
    }
  });
});

describe('on the command line', () => {
  const passphrase = () => ['--passphrase-file', join(root, 'passphrase')];
  const atHome = (...argv: string[]) => cli(join(root, 'home'), ['--server', 'shop', 'backup', 'pass', ...argv]);

  it('is made at home alone, and asked for on the server in place of the words', async () => {
    const file = await backedUp('a.backup');
    expect(await cli(server, ['backup', 'pass', file, ...passphrase()])).toMatchObject({
      code: 2,
      err: expect.stringContaining('countinghouse --server NAME backup pass FILE'),
    });
    const made = await atHome(file, ...passphrase());
    expect(made).toMatchObject({ code: 0, err: expect.stringContaining('This backup brings everything back.') });
    expect(made.out).toMatch(/^CH-BACKUP-1-[\w-]{68}\n$/);
    const into = ['--data-dir', join(root, 'second'), '--yes', 'restore', file, '--pass-file', '-'];
    const typed = await cli(server, into, [[/The pass of the backup: /, made.out]]);
    expect(typed).toMatchObject({ code: 0, out: expect.stringContaining('--server NAME restore confirm') });
    expect(`${typed.out}${typed.err}`).not.toContain(made.out.slice(0, 30));
    expect(readdirSync(join(root, 'second', 'vault'))).toEqual([KEY_FILE]);
  });

  it('compares an account of another wallet with what was kept of it at home', async () => {
    const watch = { form: 'p2wpkh' as const, origin: null };
    const own = { ...accountKey(await seedOf(OTHER_WALLETS, ''), 'LTC', 'regtest', 0), watch } as AccountKey;
    const theirs = { ...accountKey(await seedOf(THIEFS, ''), 'LTC', 'regtest', 0), watch } as AccountKey;
    await storeAccount(own);
    const unknown = await atHome('--json', await backedUp('unknown.backup'), ...passphrase());
    expect(JSON.parse(unknown.out)).toMatchObject({ problems: [], watch_only: [expect.stringContaining('wpkh(')] });
    await keepAccount(home, 'regtest', 0, { LTC: own });
    const known = await atHome('--json', await backedUp('known.backup'), ...passphrase());
    expect(JSON.parse(known.out)).toMatchObject({ problems: [], watch_only: [], pass: expect.any(String) });
    await storeAccount(theirs);
    const altered = await atHome('--json', await backedUp('altered.backup'), ...passphrase());
    expect(altered.code).toBe(1);
    expect(JSON.parse(altered.out)).toMatchObject({
      pass: null,
      problems: [expect.stringContaining('this computer has kept another account')],
    });
  });

  it('says what is wrong with a backup, and gives it none', async () => {
    await account(THIEFS);
    const { code, out, err } = await atHome(await backedUp('a.backup'), ...passphrase());
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain('PROBLEM: regtest:LTC account 0: the words give another account');
    expect(err).toContain('gets no pass');
  });
});
