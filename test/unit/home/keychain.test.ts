/** The keychain of the computer at home: while its question stays open, and where it has nothing to forget. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { isRemembered, mayBeRemembered, walletFolderIn } from '../../../daemon/home/place.ts';
import type { SignerClient } from '../../../daemon/wallet/signer/client.ts';
import { serveOperator } from '../../../daemon/wallet/signer/service.ts';
import { sealPair } from '../../../daemon/wallet/signer/unseal.ts';

const [writeKeychain, forgetKeychain] = [vi.fn(async () => {}), vi.fn(async () => true)];
vi.mock('../../../daemon/wallet/signer/keychain.ts', () => ({ writeKeychain, forgetKeychain }));
const { remember } = await import('../../../daemon/home/keychain.ts');
const { changing, forget } = await import('../../../daemon/cli/keychain.ts');
const { Rejected } = await import('../../../daemon/domain/errors.ts');

const entry = { fingerprint: '73c5da0a', server: 'shop' };
const status = {
  state: 'unlocked',
  fingerprint: entry.fingerprint,
  lockAt: null,
  retryAfterSeconds: 0,
  wordsUnproved: false,
};
const lock = vi.fn(async () => ({ ...status, state: 'locked' }));
const unlock = vi.fn(async () => status);
const signer = { sealKey: async () => sealPair().publicKey, unlock, lock };

let folder: string;
let served: { close(): void };
const place = () => ({ server: 'shop', folder });
const session = () => ({ server: 'shop', dataDir: folder, print: () => {} }) as never;

beforeEach(async () => {
  vi.clearAllMocks();
  folder = await mkdtemp(join(tmpdir(), 'keychain-'));
  await mkdir(walletFolderIn(folder), { mode: 0o700 });
  served = await serveOperator(walletFolderIn(folder), signer as unknown as SignerClient);
});
afterEach(async () => {
  served.close();
  await rm(folder, { recursive: true });
});

/** A passphrase is being remembered, and the question of the keychain is open. */
async function whileAsked(): Promise<{ done: Promise<void>; answer: () => void }> {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  writeKeychain.mockImplementationOnce(() => {
    ask();
    return answered;
  });
  const done = remember(place(), 'of the test');
  await asked;
  return { done, answer };
}

it('opens the wallet from now on when its question is answered, and is taken out also where that is not known', async () => {
  const { done: remembering, answer } = await whileAsked();
  // as a process finds it that begins after this one was ended
  expect(isRemembered(folder)).toBe(false);
  expect(mayBeRemembered(folder)).toBe(true);
  await forget(session());
  expect(forgetKeychain.mock.calls).toEqual([[entry]]);
  lock.mockClear();
  answer();
  await expect(remembering).rejects.toThrow('was forgotten meanwhile');
  // what its answer put there is taken out again, and the wallet stays locked
  expect(forgetKeychain.mock.calls).toEqual([[entry], [entry]]);
  expect([isRemembered(folder), mayBeRemembered(folder), lock.mock.calls]).toEqual([false, false, []]);
});

it('keeps what another question put there meanwhile', async () => {
  const { done: first, answer } = await whileAsked();
  await remember(place(), 'of the test');
  answer();
  await first;
  expect([isRemembered(folder), forgetKeychain.mock.calls]).toEqual([true, []]);
});

it('does not keep the old passphrase when its question is answered after a change', async () => {
  const { done, answer } = await whileAsked();
  await changing(session(), 'fresh', async () => status as never);
  expect([mayBeRemembered(folder), forgetKeychain.mock.calls]).toEqual([false, [[entry]]]);
  answer();
  await expect(done).rejects.toThrow('was forgotten meanwhile');
  expect([mayBeRemembered(folder), forgetKeychain.mock.calls]).toEqual([false, [[entry], [entry]]]);
});

it('takes out an old passphrase that was put over the new one', async () => {
  await remember(place(), 'of the test');
  const { done, answer } = await whileAsked();
  await changing(session(), 'fresh', async () => status as never);
  expect([isRemembered(folder), writeKeychain.mock.calls.at(-1)]).toEqual([true, [entry, 'fresh']]);
  unlock.mockRejectedValueOnce(new Rejected('vault.passphrase', 'The passphrase is wrong'));
  answer();
  await expect(done).rejects.toThrow('was changed meanwhile');
  expect([mayBeRemembered(folder), forgetKeychain.mock.calls]).toEqual([false, [[entry]]]);
});

it('is remembered once the passphrase is there', async () => {
  await remember(place(), 'of the test');
  expect([isRemembered(folder), lock.mock.calls.length]).toEqual([true, 1]);
  await forget(session());
  expect([isRemembered(folder), lock.mock.calls.length]).toEqual([false, 2]);
});

it('locks the wallet also where it has nothing to forget', async () => {
  await forget(session());
  expect([forgetKeychain.mock.calls.length, lock.mock.calls.length]).toEqual([0, 1]);
});
