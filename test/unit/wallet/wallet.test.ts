/** The door to the merchant's wallet, and the sandbox's wallet. */
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHAINS } from '../../../daemon/domain/assets.ts';
import { accountKey } from '../../../daemon/wallet/accounts.ts';
import { parseWords, seedOf } from '../../../daemon/wallet/mnemonic.ts';
import { ensureSandboxWallet, SANDBOX_KEY_FILE, SANDBOX_VAULT_FILE } from '../../../daemon/wallet/sandbox.ts';
import { createWallet, deriveAccounts, hasWallet, walletFingerprint } from '../../../daemon/wallet/wallet.ts';

const PASSPHRASE = 'correct horse battery';
const ABANDON = `${'abandon '.repeat(11)}about`;

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'wallet-'));
});
afterAll(() => rm(root, { recursive: true }));

describe('a new wallet', () => {
  it('gives its words once, and what is derived later is theirs', async () => {
    const folder = join(root, 'new', 'deep');
    expect(await hasWallet(folder)).toBe(false);
    await expect(walletFingerprint(folder)).rejects.toMatchObject({ code: 'vault.missing' });

    const { words, fingerprint } = await createWallet(folder, { passphrase: PASSPHRASE });
    expect(words?.length).toBe(24);
    expect(await hasWallet(folder)).toBe(true);
    expect(await walletFingerprint(folder)).toBe(fingerprint);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);

    const seed = await seedOf(await parseWords(words!.join(' ')), '');
    const accounts = await deriveAccounts(folder, PASSPHRASE, 'testnet', 2, ['BTC', 'XMR']);
    expect(accounts).toEqual({
      BTC: accountKey(seed, 'BTC', 'testnet', 2),
      XMR: accountKey(seed, 'XMR', 'testnet', 2),
    });
  });
});

describe('an imported wallet', () => {
  it('keeps its words to itself and derives with its BIP-39 passphrase', async () => {
    const folder = join(root, 'imported');
    const made = await createWallet(folder, {
      words: ` ${ABANDON} `,
      mnemonicPassphrase: 'TREZOR',
      passphrase: PASSPHRASE,
    });
    const seed = await seedOf(ABANDON, 'TREZOR');
    expect(made).toEqual({ fingerprint: await walletFingerprint(folder) });
    expect(await deriveAccounts(folder, PASSPHRASE, 'mainnet', 0, CHAINS)).toEqual(
      Object.fromEntries(CHAINS.map((chain) => [chain, accountKey(seed, chain, 'mainnet', 0)])),
    );
  });

  it('has the known fingerprint, and is refused where a wallet is', async () => {
    const folder = join(root, 'known');
    expect(await createWallet(folder, { words: ABANDON, passphrase: PASSPHRASE })).toEqual({ fingerprint: '73c5da0a' });
    await expect(createWallet(folder, { passphrase: PASSPHRASE })).rejects.toMatchObject({ code: 'vault.exists' });
    await expect(deriveAccounts(folder, 'not the passphrase', 'mainnet', 0, ['BTC'])).rejects.toMatchObject({
      code: 'vault.passphrase',
    });
    await expect(deriveAccounts(folder, PASSPHRASE, 'sandbox', 0, ['BTC'])).rejects.toMatchObject({
      code: 'wallet.sandbox',
    });
  });

  it('is not made of bad words or behind a weak passphrase', async () => {
    const folder = join(root, 'bad');
    const bad = { words: 'abandon '.repeat(12), passphrase: PASSPHRASE };
    await expect(createWallet(folder, bad)).rejects.toMatchObject({ code: 'mnemonic.checksum' });
    await expect(createWallet(folder, { passphrase: 'short' })).rejects.toMatchObject({
      code: 'vault.weak_passphrase',
    });
    expect(await hasWallet(folder)).toBe(false);
  });
});

describe('the sandbox wallet', () => {
  const accountsOf = async (folder: string) => {
    const wallet = await ensureSandboxWallet(folder);
    return CHAINS.map((chain) => wallet.account(chain, 1));
  };

  it('is made once, stays, and is the owner’s alone', async () => {
    const folder = join(root, 'sandbox');
    const first = await accountsOf(folder);
    expect(await accountsOf(folder)).toEqual(first);
    expect(await accountsOf(join(root, 'another'))).not.toEqual(first);
    const names = (await readdir(folder)).toSorted();
    expect(names).toEqual([SANDBOX_VAULT_FILE, SANDBOX_KEY_FILE].toSorted());
    for (const name of names) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(join(folder, SANDBOX_VAULT_FILE), 'utf8'))).toMatchObject({
      header: { kdf: { name: 'none' } },
    });
  });

  it('is one wallet for two starts at once', async () => {
    const folder = join(root, 'twice');
    const [first, second] = await Promise.all([accountsOf(folder), accountsOf(folder)]);
    expect(second).toEqual(first);
  });

  it('is completed when only its key was written before a crash', async () => {
    const folder = join(root, 'half');
    await accountsOf(folder);
    const key = await readFile(join(folder, SANDBOX_KEY_FILE));
    await rm(join(folder, SANDBOX_VAULT_FILE));
    await accountsOf(folder);
    expect(await readFile(join(folder, SANDBOX_KEY_FILE))).toEqual(key);
  });

  it('says so when its key is lost', async () => {
    const folder = join(root, 'lost');
    await accountsOf(folder);
    await rm(join(folder, SANDBOX_KEY_FILE));
    await expect(ensureSandboxWallet(folder)).rejects.toMatchObject({ code: 'vault.corrupted' });
  });

  it('gives no account below 0', async () => {
    const wallet = await ensureSandboxWallet(join(root, 'sandbox'));
    expect(() => wallet.account('BTC', -1)).toThrow();
  });
});
