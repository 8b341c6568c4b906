/**
 * A backup made while the service runs brings everything back on another machine, quarantined; and the drill finds what
 * would be missing.
 */
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needUnoccupied, restoreBackup } from '../../daemon/app/backup/restore.ts';
import { verifyBackup } from '../../daemon/app/backup/verify.ts';
import { operatorClient } from '../../daemon/contract/client.ts';
import { CHAINS } from '../../daemon/domain/assets.ts';
import { textOf } from '../../daemon/domain/messages.ts';
import { createLog } from '../../daemon/log.ts';
import { type Daemon, startDaemon } from '../../daemon/main.ts';
import { storeFacts } from '../../daemon/store/snapshot.ts';
import { openByVault, openByWords } from '../../daemon/wallet/backup-key.ts';
import { deriveAccounts } from '../../daemon/wallet/wallet.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { cheapWallet } from '../support/wallet.ts';
import { cli } from '../unit/cli-kit.ts';

/** Instead of 10,000, which take a minute to derive for every chain. */
const JUMP = 25;
const PASSPHRASE = 'a passphrase of the test';
const WORDS = `${'abandon '.repeat(11)}about`;

let service: TestDaemon;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countinghouse-backup-'));
  // a node that nobody runs: accounts on a real network, addresses of it are derived all the same
  service = await startTestDaemon('[networks.regtest.LTC]\ncore_rpc = "http://u:p@127.0.0.1:9"\n');
  const vault = join(service.dataDir, 'vault');
  await cheapWallet(vault, { words: WORDS, passphrase: PASSPHRASE });
  await operatorClient(service.dataDir)('business.add', {
    name: 'Regtest shop',
    network: 'regtest',
    account_no: 0,
    accounts: await deriveAccounts(vault, PASSPHRASE, 'regtest', 0, CHAINS),
    key: { name: 'shop', scopes: ['invoices'] },
  });
  await sell('LTC');
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

type Made = { id: string; status: string; payment: { address: string } };
const get = async (id: string): Promise<Made> => (await service.call<Made>('GET', `/invoice/${id}`)).body;

/** An invoice of 25 USD that is paid. */
async function sell(crypto: string): Promise<Made> {
  const { body } = await service.call<{ id: string }>('POST', '/invoice', {
    amount: 25,
    crypto,
    webhook_url: 'https://shop.invalid/paid',
  });
  await service.call('POST', `/invoice/rp/${body.id}`, {});
  await service.call('POST', '/sandbox/pay', { invoice_id: body.id });
  await service.call('POST', '/sandbox/mine', { crypto, blocks: 3 });
  return until('it is paid', async () => {
    const invoice = await get(body.id);
    return invoice.status === 'paid' && invoice;
  });
}

const backUp = (name: string) => operatorClient(service.dataDir)('backup.make', { file: join(folder, name) });

/** Runs what was restored, with the first service's key. */
async function withRestored(name: string, work: (daemon: Daemon, dataDir: string) => Promise<void>): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'countinghouse-restored-'));
  const words = await openByWords(WORDS);
  try {
    await restoreBackup(join(folder, name), words, dataDir, service.now(), JUMP);
    const daemon = await startDaemon({
      dataDir,
      now: service.now,
      jump: JUMP,
      log: createLog({ level: 'silent', format: 'json' }),
    });
    try {
      await work(daemon, dataDir);
    } finally {
      await daemon.stop();
    }
  } finally {
    words.close();
    await rm(dataDir, { recursive: true, force: true });
  }
}

const at = async (daemon: Daemon, method: string, path: string, body?: unknown) => {
  const response = await fetch(`${daemon.url}/api/v1/merchant${path}`, {
    method,
    headers: { 'mb-api-key': service.apiKey, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};

describe('a backup', () => {
  it('is one file that holds nothing readable, made by the running service', async () => {
    const made = await backUp('plain.backup');
    expect(made).toMatchObject({ fingerprint: '73c5da0a', gap: 1_000 });
    const bytes = await readFile(join(folder, 'plain.backup'));
    expect(bytes.length).toBe(made.bytes);
    for (const secret of ['Regtest shop', 'SQLite format 3', 'scrypt', service.apiKey]) {
      expect(bytes.includes(secret)).toBe(false);
    }
    expect(await readdir(folder)).toEqual(['plain.backup']);
    expect((await readdir(service.dataDir)).filter((name) => name.startsWith('work-of-'))).toEqual([]);
  });

  it.skipIf(spawnSync('age', ['--version']).error !== undefined)(
    'is opened by age and tar alone, with the key that the words give',
    async () => {
      const vault = join(service.dataDir, 'vault');
      const files = await readdir(vault);
      // one that is being written: it may be gone before it is read
      const unfinished = join(vault, 'signer-journal.head.0123456789ab.tmp');
      await writeFile(unfinished, '');
      await backUp('foreign.backup');
      await rm(unfinished);
      const [words, key] = [join(folder, 'words.txt'), join(folder, 'identity.txt')];
      await writeFile(words, WORDS);
      const { out } = await cli(service.dataDir, ['backup', 'identity', '--words-file', words]);
      expect(out).toMatch(/^# .*73c5da0a.*\nAGE-SECRET-KEY-1[0-9A-Z]{58}\n$/);
      await writeFile(key, out);
      const unpacked = await mkdtemp(join(folder, 'unpacked-'));
      const age = spawnSync('age', ['--decrypt', '--identity', key, join(folder, 'foreign.backup')], {
        maxBuffer: 2 ** 30,
      });
      expect(age.stderr.toString()).toBe('');
      const tar = spawnSync('tar', ['-x', '-C', unpacked], { input: zstdDecompressSync(age.stdout) });
      expect([tar.status, tar.stderr.toString()]).toEqual([0, '']);
      expect((await readdir(unpacked)).sort()).toEqual(
        expect.arrayContaining(['countinghouse.db', 'manifest.json', 'vault']),
      );
      expect(await readdir(join(unpacked, 'vault'))).toEqual(files);
      const db = new Database(join(unpacked, 'countinghouse.db'), { readonly: true });
      expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
      db.close();
      await rm(words);
      await rm(key);
      await rm(unpacked, { recursive: true });
      await rm(join(folder, 'foreign.backup'));
    },
  );

  it('never replaces a file, and says where it cannot write', async () => {
    await backUp('once.backup');
    await expect(backUp('once.backup')).rejects.toMatchObject({ code: 'backup.exists' });
    const call = operatorClient(service.dataDir);
    await expect(call('backup.make', { file: join(folder, 'no', 'such', 'folder.backup') })).rejects.toMatchObject({
      code: 'backup.folder',
    });
    await expect(call('backup.make', { file: 'relative.backup' })).rejects.toMatchObject({ code: 'backup.folder' });
    // a path that cannot even be looked at, like one in the folder of another user
    const below = join(service.dataDir, 'countinghouse.db', 'shop.backup');
    await expect(call('backup.make', { file: below })).rejects.toMatchObject({
      code: 'backup.folder',
      message: `${below} cannot be written: it lies below a file (ENOTDIR)`,
    });
  });

  it('opens with the words or the passphrase, and with no others', async () => {
    await backUp('keys.backup');
    const file = join(folder, 'keys.backup');
    const live = storeFacts(join(service.dataDir, 'countinghouse.db'));
    for (const words of [await openByWords(WORDS), await openByVault(join(service.dataDir, 'vault'), PASSPHRASE)]) {
      const report = await verifyBackup(file, words, live);
      expect(report.problems).toEqual([]);
      expect(report.newer).toEqual([]);
      expect(report.addresses).toBeGreaterThan(100);
      expect(report.manifest.facts.counts).toMatchObject({ businesses: 2, invoices: 1, payments: 1, credits: 1 });
      words.close();
    }
    const others = await openByWords(`${'zoo '.repeat(11)}wrong`);
    await expect(verifyBackup(file, others, live)).rejects.toMatchObject({ code: 'backup.words' });
    const bip39 = await openByWords(WORDS, 'TREZOR');
    await expect(verifyBackup(file, bip39, live)).rejects.toMatchObject({ code: 'backup.words' });
  });

  it('is found out by the drill when it is damaged, older than it says, or of an altered service', async () => {
    const words = await openByWords(WORDS);
    await backUp('drill.backup');
    const file = join(folder, 'drill.backup');
    const bytes = await readFile(file);
    bytes[Math.floor(bytes.length / 2)]! ^= 1;
    await writeFile(join(folder, 'bad.backup'), bytes);
    await expect(verifyBackup(join(folder, 'bad.backup'), words, null)).rejects.toMatchObject({
      code: 'backup.damaged',
    });
    // another service's database: its indices lie behind the backup's
    const live = join(folder, 'live.db');
    const copy = new Database(join(service.dataDir, 'countinghouse.db'), { readonly: true });
    copy.prepare('VACUUM INTO ?').run(live);
    copy.close();
    const altered = new Database(live);
    altered.exec("UPDATE account SET next_index = 3 WHERE chain_key = 'regtest:LTC'");
    altered.close();
    const { problems } = await verifyBackup(file, words, storeFacts(live));
    expect(problems).toEqual([expect.stringMatching(/^regtest:LTC account 0: this machine is at address 3/)]);
  });
});

describe('scheduled backups', () => {
  it('go into their folder, which is marked, and open with the words', async () => {
    const target = await mkdtemp(join(folder, 'scheduled-'));
    const other = await startTestDaemon(`[backup]\nfolder = "${target}"\nschedule = "* * * * *"\nkeep = 2\n`);
    try {
      await cheapWallet(join(other.dataDir, 'vault'), { words: WORDS, passphrase: PASSPHRASE });
      other.advance(60_000);
      const file = await until('one was made', async () =>
        (await readdir(target)).find((name) => /^countinghouse-20\d{6}-\d{6}\.backup$/.test(name)),
      );
      expect(await readdir(target)).toContain('countinghouse-backups.txt');
      const words = await openByWords(WORDS);
      expect((await verifyBackup(join(target, file), words, null)).problems).toEqual([]);
    } finally {
      await other.stop();
    }
  });

  it('into a folder that does not exist stop nothing, and an alert says what to do', async () => {
    const other = await startTestDaemon(`[backup]\nfolder = "${join(folder, 'no-such-stick')}"\n`);
    try {
      const found = await until('an alert', async () => {
        const { alerts } = await operatorClient(other.dataDir)('alert.list', {});
        return alerts.find(({ kind }) => kind === 'backup.failed');
      });
      expect(textOf(found.message)).toContain('mount its disk');
    } finally {
      await other.stop();
    }
  });
});

describe('a restored service', () => {
  it('has everything, does nothing by itself, jumps ahead, and takes over when the operator says so', async () => {
    const sold = await sell('BTC');
    await backUp('whole.backup');
    const later = await sell('BTC');
    await withRestored('whole.backup', async (daemon, dataDir) => {
      expect((await at(daemon, 'GET', `/invoice/${sold.id}`)).body).toMatchObject({ id: sold.id, status: 'paid' });
      // sold after the backup was made
      expect((await at(daemon, 'GET', `/invoice/${later.id}`)).status).toBe(404);
      const made = await at(daemon, 'POST', '/invoice', { amount: 25, crypto: 'BTC' });
      expect(made.status).toBe(201);
      const refused = await at(daemon, 'POST', `/invoice/rp/${made.body.id}`, {});
      expect(refused).toMatchObject({ status: 503, body: { message: expect.stringContaining('operator') } });

      const call = operatorClient(dataDir);
      // the regtest node is away: what was paid meanwhile is not known yet
      await until('the addresses jumped', async () => {
        const refusal = await call('restore.confirm', { keep_keys: 'all' }).catch((error: Error) => error);
        expect(refusal).toMatchObject({ code: 'restore.not_ready' });
        return /regtest:LTC/.test((refusal as Error).message);
      });
      expect(await call('restore.status', {})).toMatchObject({ quarantined: true, ready: false });
      const db = new Database(join(dataDir, 'countinghouse.db'), { readonly: true });
      const skipped = db.prepare('SELECT invoice_id FROM target WHERE address = ?').pluck();
      expect(skipped.get(later.payment.address)).toBe(0);
      expect(db.prepare("SELECT COUNT(*) FROM webhook WHERE state = 'waiting'").pluck().get()).toBe(0);
      db.close();
    });
  });

  it('is refused over another service, and a cut off one leaves nothing to start', async () => {
    const words = await openByWords(WORDS);
    await backUp('refused.backup');
    const file = join(folder, 'refused.backup');
    await expect(restoreBackup(file, words, service.dataDir, 0)).rejects.toMatchObject({
      code: 'restore.not_empty',
    });
    const empty = await mkdtemp(join(folder, 'empty-'));
    const half = join(folder, 'half.backup');
    await writeFile(half, (await readFile(file)).subarray(0, -2_000));
    await expect(restoreBackup(half, words, empty, 0)).rejects.toMatchObject({ code: 'backup.damaged' });
    expect(await readdir(empty)).toEqual(['lock']);
  });

  it.each([
    ['this release', 'work-of-restore-abcdef.moving'],
    ['an earlier release', 'restore-abcdef.moving'],
  ])(
    'is restored again when the first attempt, of %s, was killed between its vault and its database',
    async (_, folderName) => {
      const words = await openByWords(WORDS);
      await backUp(`again-${folderName}.backup`);
      const file = join(folder, `again-${folderName}.backup`);
      const dataDir = await mkdtemp(join(folder, 'killed-'));
      await restoreBackup(file, words, dataDir, 0, JUMP);
      // as it was a moment before: the database is the last to be moved
      const work = join(dataDir, folderName);
      await mkdir(work);
      await rename(join(dataDir, 'countinghouse.db'), join(work, 'countinghouse.db'));
      expect((await readdir(dataDir)).sort()).toEqual(['countinghouse.toml', 'lock', 'vault', folderName].sort());
      await needUnoccupied(dataDir);
      await restoreBackup(file, words, dataDir, 0, JUMP);
      expect((await readdir(dataDir)).sort()).toEqual(['countinghouse.db', 'countinghouse.toml', 'lock', 'vault']);
      await expect(needUnoccupied(dataDir)).rejects.toMatchObject({ code: 'restore.not_empty' });
      // a wallet that no restore has put there is nobody's to take away, nor one that was used since a restore was done
      await rm(join(dataDir, 'countinghouse.db'));
      await mkdir(work);
      await expect(restoreBackup(file, words, dataDir, 0, JUMP)).rejects.toMatchObject({
        code: 'restore.not_empty',
      });
      words.close();
    },
  );
});
