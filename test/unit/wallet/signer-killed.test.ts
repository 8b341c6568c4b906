/** One signer a folder: who holds it, who takes it over, and a service that is killed while its signer signs. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeBackup } from '../../../daemon/app/backup/make.ts';
import { restoreBackup } from '../../../daemon/app/backup/restore.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';
import { Store } from '../../../daemon/store/store.ts';
import { openByWords } from '../../../daemon/wallet/backup-key.ts';
import { SignerClient } from '../../../daemon/wallet/signer/client.ts';
import { HOLDER_FILE, JOURNAL_FILE } from '../../../daemon/wallet/signer/files.ts';
import { holdFolder } from '../../../daemon/wallet/signer/holder.ts';
import { SEAL_UNLOCK } from '../../../daemon/wallet/signer/port.ts';
import { seal } from '../../../daemon/wallet/signer/seal.ts';
import { encodeOrder } from '../../../daemon/wallet/signer/wire.ts';
import { bundled } from '../../support/bundles.ts';
import { REPEAT, sampleOf } from '../../support/sample.ts';
import { cheapWallet } from '../../support/wallet.ts';
import { codeOf, PASSPHRASE, payment, useEpochOf, WORDS, walletFolder } from './signer-kit.ts';

/** When it is killed: one of so many moments in a run. */
const ONE_OF = 7;
const MOMENTS_MS = sampleOf(
  Array.from({ length: 21 }, (_, n) => 10 + n * 7),
  ONE_OF,
);
const KILLS = MOMENTS_MS.length;
const BACKLOG = 90;

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'signer-killed-'));
});
afterAll(() => rm(root, { recursive: true }));

const clientOf = (folder: string, log: (message: string) => void = () => {}): SignerClient =>
  new SignerClient({
    folder,
    autoLockMinutes: 0,
    source: () => ({ kind: 'prompt' }),
    log,
    sandbox: { sign: () => Promise.reject(new Error('no sandbox here')) },
  });

const unlock = async (signer: SignerClient) =>
  signer.unlock(await seal(await signer.sealKey(), SEAL_UNLOCK, PASSPHRASE));

/** Runs a service (`killed-service.ts`) that is killed so many milliseconds after it handed the orders to its signer. */
async function killedService(folder: string, ms: number, orders: readonly unknown[]): Promise<void> {
  const program = await bundled('test/unit/wallet/killed-service.ts');
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'ignore', 'ignore'] });
  child.stdin.end(JSON.stringify([folder, PASSPHRASE, ms, ...orders]));
  await once(child, 'exit');
}

const journalOf = (folder: string): Promise<string> => readFile(join(folder, JOURNAL_FILE), 'utf8');

describe.skipIf(process.platform === 'win32')('a service killed while its signer signs', () => {
  it(`leaves a wallet that signs, ${KILLS} of ${KILLS} times`, { timeout: KILLS * 20_000 }, async () => {
    const { folder, remove } = await walletFolder();
    const outcomes: string[] = [];
    let cut = 0;
    for (const [n, ms] of MOMENTS_MS.entries()) {
      // what was signed before is not written again
      const orders = Array.from({ length: BACKLOG }, (_, at) => payment('LTC', [`left-${n}-${at}`]));
      const before = (await journalOf(folder)).split('\n').length;
      await killedService(folder, ms, orders.map(encodeOrder));
      const signer = clientOf(folder);
      const outcome = await unlock(signer)
        .then(() => signer.sign(payment('LTC', [`after-${n}`])))
        .then(() => signer.sign(orders[0]!))
        .then(() => codeOf(signer.sign(payment('LTC', [`after-${n}`]))))
        .catch((error: Error) => error.message);
      outcomes.push(outcome);
      const written = (await journalOf(folder)).split('\n').length - before - 2;
      if (written < BACKLOG) cut += 1;
      await signer.close();
    }
    expect(outcomes, REPEAT).toEqual(Array.from({ length: KILLS }, () => 'signer.conflict'));
    // it was killed in the middle of its work, or there was nothing to see
    expect(cut).toBeGreaterThan(KILLS / 2);
    await remove();
  });

  it('leaves no signer that writes on without it', async () => {
    const { folder, remove } = await walletFolder();
    const orders = Array.from({ length: 90 }, (_, n) => encodeOrder(payment('LTC', [`many-${n}`])));
    await killedService(folder, 60, orders);
    const hold = await holdFolder(folder);
    const journal = await journalOf(folder);
    expect(journal.split('\n').length).toBeLessThan(90);
    await hold.release();
    const signer = clientOf(folder);
    await unlock(signer);
    expect(await journalOf(folder)).toBe(journal);
    await signer.close();
    await remove();
  });
});

describe('the folder of a wallet', () => {
  const held = async () => {
    const folder = await mkdtemp(join(root, 'held-'));
    const file = join(folder, HOLDER_FILE);
    const name = (more: object) => writeFile(file, JSON.stringify({ host: '', beats: 0, name: 'n', ...more }));
    return { folder, file, name };
  };
  const inodeOf = async (file: string): Promise<string> => String((await stat(file, { bigint: true })).ino);
  const takes = async (folder: string, waitMs: number): Promise<number> => {
    const begun = performance.now();
    await (await holdFolder(folder, waitMs)).release();
    return performance.now() - begun;
  };

  it('is held by one process, several times, and let go with the last', async () => {
    const { folder, file } = await held();
    const [one, two] = await Promise.all([holdFolder(folder), holdFolder(folder)]);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await one.beat();
    await one.release();
    expect(await two.isOurs()).toBe(true);
    await two.release();
    await expect(stat(file)).rejects.toThrow('ENOENT');
  });

  it('is left free by one whose name the disk did not take, and that one goes on', async () => {
    const folder = await mkdtemp(join(root, 'full-'));
    const holder = JSON.stringify(new URL('../../../daemon/wallet/signer/holder.ts', import.meta.url));
    const program = `const { holdFolder } = await import(${holder});
      const { code } = await holdFolder(process.argv[1]).catch((error) => error);
      // what was left open would end the process here
      gc();
      await new Promise((resolve) => setTimeout(resolve));
      console.log(code);`;
    const command = 'ulimit -f 0; exec "$0" --expose-gc --input-type=module -e "$1" "$2" | cat';
    const { stdout } = await promisify(execFile)('bash', ['-c', command, process.execPath, program, folder]);
    expect([stdout, await readdir(folder)]).toEqual(['EFBIG\n', []]);
  });

  it('is taken over at once from a process that ended, and from the folder that it is a copy of', async () => {
    const { hostname } = await import('node:os');
    const { folder, file, name } = await held();
    const child = spawn(process.execPath, ['-e', ''], { stdio: 'ignore' });
    await once(child, 'exit');
    await writeFile(file, '');
    await name({ pid: child.pid, host: hostname(), inode: await inodeOf(file) });
    expect(await takes(folder, 60_000)).toBeLessThan(5_000);
    await name({ pid: process.ppid, host: hostname(), inode: '1' });
    expect(await takes(folder, 60_000)).toBeLessThan(5_000);
  });

  it('is left to a process that lives and says so, and taken over from one that says nothing', async () => {
    const { hostname } = await import('node:os');
    const { folder, file, name } = await held();
    await writeFile(file, '');
    const living = { pid: process.ppid, host: hostname(), inode: await inodeOf(file) };
    await name(living);
    let beats = 0;
    const life = setInterval(() => void name({ ...living, beats: ++beats }), 20);
    await expect(holdFolder(folder, 300)).rejects.toThrow(Unavailable);
    await expect(holdFolder(folder, 300)).rejects.toThrow(`Another process (${process.ppid}) works on the wallet`);
    clearInterval(life);
    expect(await takes(folder, 300)).toBeGreaterThan(290);
  });

  it('is no more of whom another process took it from', async () => {
    const { folder, file, name } = await held();
    const hold = await holdFolder(folder);
    await name({ pid: process.ppid, inode: await inodeOf(file) });
    expect(await hold.isOurs()).toBe(false);
    await hold.release();
    // the other one's
    expect((await stat(file)).size).toBeGreaterThan(0);
  });

  it('is copied while a signer holds it without a word of the signer, by a backup, too', async () => {
    const dataDir = await mkdtemp(join(root, 'data-'));
    const vault = join(dataDir, 'vault');
    await cheapWallet(vault, { words: WORDS, passphrase: PASSPHRASE });
    await (await Store.open(dataDir)).close();
    await useEpochOf(vault);
    const signer = clientOf(vault);
    await unlock(signer);
    await signer.sign(payment('LTC', ['held']));
    const file = join(root, 'held.backup');
    await makeBackup({ dataDir, file, release: 'test', now: Date.now() });
    const opened = await openByWords(WORDS);
    const restored = join(root, 'restored');
    await restoreBackup(file, opened, restored, Date.now());
    opened.close();
    await expect(stat(join(restored, 'vault', HOLDER_FILE))).rejects.toThrow('ENOENT');
    // a copy of the whole folder opens beside the one that is held
    await cp(vault, join(root, 'copy'), { recursive: true });
    const beside = clientOf(join(root, 'copy'));
    const begun = performance.now();
    await unlock(beside);
    expect(performance.now() - begun).toBeLessThan(9_000);
    await beside.close();
    await signer.close();
  });
});
