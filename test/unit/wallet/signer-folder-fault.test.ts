/** A disk that refuses files of the wallet: the signer says why, and what waits is tried again once it is mended. */
import { mkdir, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Unavailable } from '../../../daemon/domain/errors.ts';
import { authorizing } from '../../../daemon/operator/keyholder.ts';
import { exists } from '../../../daemon/wallet/files.ts';
import { answerLine } from '../../../daemon/wallet/signer/answering.ts';
import { approvalKey, revocationMac } from '../../../daemon/wallet/signer/approval.ts';
import { SignerClient } from '../../../daemon/wallet/signer/client.ts';
import { ATTEMPTS_FILE, ENDED_FILE, HEAD_FILE, VAULT_FILE } from '../../../daemon/wallet/signer/files.ts';
import { epochOf, newEpoch } from '../../../daemon/wallet/signer/journal.ts';
import { SEAL_AUTHORIZE, SEAL_UNLOCK } from '../../../daemon/wallet/signer/port.ts';
import { seal } from '../../../daemon/wallet/signer/seal.ts';
import { PASSPHRASE, payment, SEED, useEpochOf, walletFolder } from './signer-kit.ts';

const OPTIONS = {
  autoLockMinutes: 0,
  source: () => ({ kind: 'prompt' as const }),
  log: () => {},
  sandbox: { sign: () => Promise.reject(new Error('no sandbox here')) },
};
let wallet: Awaited<ReturnType<typeof walletFolder>>;
let signer: SignerClient;
beforeEach(async () => {
  wallet = await walletFolder();
  signer = new SignerClient({ ...OPTIONS, folder: wallet.folder });
});
afterEach(async () => {
  await signer.close();
  await wallet.remove();
});

const unlock = async () => signer.unlock(await seal(await signer.sealKey(), SEAL_UNLOCK, PASSPHRASE));
const REFUSED = /^The folder of the wallet cannot be used: the system refuses it \((EISDIR|ENOTEMPTY)\)\. Mend that/;
const told = async (work: Promise<unknown>): Promise<string> => {
  const error = await work.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(Unavailable);
  return (error as Error).message;
};
/** While a folder is in the place of a file, whatever reads or replaces that is refused, whoever runs the test. */
async function withoutFile(name: string, work: () => Promise<void>): Promise<void> {
  const file = join(wallet.folder, name);
  await rename(file, `${file}.away`).catch(() => {});
  await mkdir(join(file, 'full'), { recursive: true });
  await work();
  await rm(file, { recursive: true });
  await rename(`${file}.away`, file).catch(() => {});
}

it('keeps a wallet locked that cannot count the try, and opens it afterwards', async () => {
  await withoutFile(ATTEMPTS_FILE, async () => expect(await told(unlock())).toMatch(REFUSED));
  expect(await unlock()).toMatchObject({ state: 'unlocked' });
});

it('has the status say so', async () => {
  await withoutFile(VAULT_FILE, async () => expect(await told(signer.status())).toMatch(REFUSED));
  expect(await signer.status()).toMatchObject({ state: 'locked' });
});

it('gives out no signature, and does afterwards', async () => {
  await unlock();
  await useEpochOf(wallet.folder);
  await withoutFile(HEAD_FILE, async () => expect(await told(signer.sign(payment('LTC', ['w-1'])))).toMatch(REFUSED));
  expect(await signer.sign(payment('LTC', ['w-1']))).toHaveProperty('txid');
});

it('signs nothing while the end of all approvals is not complete', async () => {
  await unlock();
  const mark = join(wallet.folder, ENDED_FILE);
  await mkdir(mark);
  const former = payment('LTC', ['w-0']);
  expect(await told(unlock())).toMatch(/^The folder of the wallet cannot be used/);
  await expect(signer.sign(former)).rejects.toThrow('approve it anew');
  await useEpochOf(wallet.folder);
  await expect(signer.sign(payment('LTC', ['w-1']))).rejects.toThrow(Unavailable);
  await rm(mark, { recursive: true });
  await unlock();
  expect(await signer.sign(payment('LTC', ['w-1']))).toHaveProperty('txid');
});

it('opens no box of before a revocation whose line the disk took, and not the rest', async () => {
  await unlock();
  const wanted = { approvals: [], change: null, grants: [] };
  const kept = await seal(await signer.sealKey(), SEAL_AUTHORIZE, authorizing(PASSPHRASE, wanted));
  const next = newEpoch();
  const mac = revocationMac(approvalKey(SEED), await epochOf(wallet.folder), next);
  // a leftover that cannot be removed ends the writing of the head
  const leftover = join(wallet.folder, `${HEAD_FILE}.${'0'.repeat(12)}.tmp`);
  await mkdir(leftover);
  expect(await told(signer.revokeApprovals(next, mac))).toMatch(/^The folder of the wallet cannot be used/);
  await rm(leftover, { recursive: true });
  expect(await epochOf(wallet.folder)).toBe(next);
  await expect(signer.authorize(kept)).rejects.toMatchObject({ code: 'seal' });
});

it('ends no approval of a locked wallet, and does afterwards', async () => {
  const mark = join(wallet.folder, ENDED_FILE);
  await symlink(join(wallet.folder, 'nowhere', 'mark'), mark);
  expect(await told(signer.endApprovals())).toMatch(/cannot be used: .* \(ENOENT\)\. Mend that/);
  await rm(mark);
  await signer.endApprovals();
  expect(await exists(mark)).toBe(true);
});

it('ends no approval where the folder cannot be looked into', async () => {
  const folder = join(wallet.folder, VAULT_FILE, 'below-a-file');
  const other = new SignerClient({ ...OPTIONS, folder });
  expect(await told(other.endApprovals())).toMatch(/cannot be used: it lies below a file \(ENOTDIR\)\. Mend that/);
  await other.close();
});

it.each([
  ['ENOSPC', 'write', 'the disk is full (ENOSPC)'],
  ['EROFS', 'open', 'the disk is mounted for reading only (EROFS)'],
  ['EIO', 'read', 'the disk fails (EIO)'],
  ['EACCES', 'open', 'its user may not use a file there (EACCES)'],
])('is told of %s in words', async (code, syscall, why) => {
  const refused = Object.assign(new Error('with a path'), { code, syscall });
  expect(await answerLine('{"id":1,"call":"status"}', () => Promise.reject(refused))).toMatchObject({
    end: 'unavailable',
    message: `The folder of the wallet cannot be used: ${why}. Mend that, and try again`,
  });
});
