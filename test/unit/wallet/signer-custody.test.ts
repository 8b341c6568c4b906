/** A wallet made, imported and shown by the signer's own process, for a client that has only the operator API. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Call } from '../../../daemon/contract/operator.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { sealedCustody, sealedKeyholder } from '../../../daemon/operator/keyholder.ts';
import { accountKey } from '../../../daemon/wallet/accounts.ts';
import { seedOf } from '../../../daemon/wallet/mnemonic.ts';
import { SignerClient } from '../../../daemon/wallet/signer/client.ts';
import { SEAL_UNLOCK, SEAL_WORDS } from '../../../daemon/wallet/signer/port.ts';
import { replyBox, seal } from '../../../daemon/wallet/signer/seal.ts';
import { codeOf, WORDS } from './signer-kit.ts';

const PASSPHRASE = 'four words in a row';

let root: string;
const clients: SignerClient[] = [];
/** All that the daemon sees of it: the calls and their answers, as text. */
let carried = '';
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'custody-'));
});
afterAll(async () => {
  for (const client of clients) await client.close();
  await rm(root, { recursive: true });
});

function wallet(name: string) {
  const folder = join(root, name);
  const signer = new SignerClient({
    folder,
    autoLockMinutes: 15,
    source: () => ({ kind: 'prompt' }),
    sandbox: { sign: () => Promise.reject(new Error('no sandbox here')) },
    log: () => {},
  });
  clients.push(signer);
  const answer = async (method: string, { sealed }: { sealed: Parameters<SignerClient['custody']>[0] }) => {
    if (method === 'wallet.sealKey') return { seal_key: await signer.sealKey() };
    return method === 'wallet.unlock' ? { wallet: await signer.unlock(sealed) } : signer.custody(sealed);
  };
  const call = (async (method: string, params: never) => {
    const result = await answer(method, params);
    carried += `${method} ${JSON.stringify(params)} ${JSON.stringify(result)}\n`;
    return result;
  }) as unknown as Call;
  return { folder, signer, custody: sealedCustody(call), keyholder: sealedKeyholder(call) };
}

it('makes words that only the client reads, marks them until they are proved, and derives their accounts', async () => {
  const { signer, custody, keyholder } = wallet('new');
  expect(await signer.status()).toMatchObject({ state: 'none', wordsUnproved: false });
  expect(await codeOf(custody.create('short', null))).toBe('vault.weak_passphrase');
  expect((await signer.status()).state).toBe('none');
  const words = (await custody.create(PASSPHRASE, null))!;
  expect(words.length).toBe(24);
  expect(await signer.status()).toMatchObject({ state: 'locked', wordsUnproved: true });
  const seed = await seedOf(words.join(' '), '');
  expect(await custody.accounts(PASSPHRASE, 'mainnet', 3)).toMatchObject({
    accounts: { BTC: accountKey(seed, 'BTC', 'mainnet', 3), XMR: accountKey(seed, 'XMR', 'mainnet', 3) },
    used: false,
  });
  // as after a closed window: the passphrase shows them again
  expect(await custody.words(PASSPHRASE)).toEqual(words);
  await custody.prove(PASSPHRASE);
  expect(await signer.status()).toMatchObject({ state: 'locked', wordsUnproved: false });
  expect(await keyholder.unlock(PASSPHRASE)).toMatchObject({ state: 'unlocked' });
  expect(await codeOf(custody.create(PASSPHRASE, null))).toBe('vault.exists');
  expect(await codeOf(custody.accounts(PASSPHRASE, 'sandbox', 0))).toBe('wallet.sandbox');
  const seen = words.filter((word, at) => carried.includes(`${word} ${words[at + 1] ?? ''}`));
  expect([seen, carried.includes(PASSPHRASE)]).toEqual([[], false]);
});

it('imports words, keeps them to itself, and counts wrong passphrases as an unlocking does', async () => {
  const { folder, signer, custody } = wallet('imported');
  expect(await codeOf(custody.create(PASSPHRASE, `${WORDS} about`))).toBe('mnemonic.length');
  expect(await codeOf(custody.create(PASSPHRASE, WORDS.replace('abandon', 'abandom')))).toBe('mnemonic.word');
  expect(await custody.create(PASSPHRASE, ` ${WORDS.toUpperCase()} `)).toBe(null);
  expect(await signer.status()).toMatchObject({ fingerprint: '73c5da0a', wordsUnproved: false });
  expect(await readFile(join(folder, 'wallet.json'), 'utf8')).not.toContain('abandon');
  expect(await custody.accounts(PASSPHRASE, 'mainnet', 1)).toMatchObject({ used: true });
  const tries: unknown[] = [];
  for (let n = 0; n < 4; n++) tries.push(await custody.words('not it').catch((error: Error) => error.name));
  // three are free
  expect(tries).toEqual(['Rejected', 'Rejected', 'Rejected', 'Unavailable']);
  expect((await signer.status()).retryAfterSeconds).toBeGreaterThan(0);
});

it('takes nothing that is sealed for another purpose, or to another box', async () => {
  const { signer } = wallet('purposes');
  const task = JSON.stringify({ do: 'create', passphrase: PASSPHRASE, words: null, reply: 'ab'.repeat(32) });
  const key = await signer.sealKey();
  expect(await codeOf(signer.custody(await seal(key, SEAL_UNLOCK, task)))).toBe('seal');
  expect((await signer.status()).state).toBe('none');
  const [one, other] = [await replyBox(), await replyBox()];
  const sealed = await seal(one.key, SEAL_WORDS, 'the words');
  expect(await one.open(SEAL_WORDS, sealed)).toBe('the words');
  await expect(one.open(SEAL_UNLOCK, sealed)).rejects.toThrow(Rejected);
  await expect(other.open(SEAL_WORDS, sealed)).rejects.toThrow(Rejected);
  await expect(one.open(SEAL_WORDS, { ...sealed, box: sealed.box.replace(/^./, 'x') })).rejects.toThrow(Rejected);
});
