/** The 25 words of Monero: shown to their owner, imported in place of the key that the wallet's own words give. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Call } from '../../../daemon/contract/operator.ts';
import type { AccountKey } from '../../../daemon/domain/chain.ts';
import { addressAt } from '../../../daemon/monero/address.ts';
import { scalarBytes } from '../../../daemon/monero/curve.ts';
import { sealedCustody } from '../../../daemon/operator/keyholder.ts';
import { moneroSecretOf } from '../../../daemon/wallet/accounts.ts';
import { openByVault, openByWords } from '../../../daemon/wallet/backup-key.ts';
import { dropMoneroWords, importMoneroWords, moneroWordsIn } from '../../../daemon/wallet/monero-words.ts';
import { SignerClient } from '../../../daemon/wallet/signer/client.ts';
import type { Sealed } from '../../../daemon/wallet/signer/port.ts';
import { spendKeyOf } from '../../../daemon/wallet/signer/xmr/library.ts';
import { changeVaultLock } from '../../../daemon/wallet/vault.ts';
import { deriveAccounts } from '../../../daemon/wallet/wallet.ts';
import { codeOf, hex, PASSPHRASE, SEED, WORDS, walletFolder } from './signer-kit.ts';

/** Of "abandon … about" by Ledger's convention, as its own wallet shows them. */
const LEDGER =
  'tavern judge beyond bifocals deepest mural onward dummy eagle diode gained vacation rally cause firm idled jerseys moat ' +
  'vigilant upload bobsled jobs cunning doing jobs';
/** Of its account 7. */
const SEVENTH =
  'mice fonts gnome jobs roped apex template tufts dazed tsunami volcano knowledge upload wagtail gemstone kernels hover boldly ' +
  'aunt cider bounced tyrant last losing bounced';
/** A spend key, the words that the library gives for it, and the address that monero-wallet-rpc does. */
const FOREIGN_KEY = '232dc2a8258040226082d9a43ece719be2e3a9be08d64cc3fa2a8f3d12903a0b';
const FOREIGN =
  'nitrogen kisses boxes soapy cedar family people rounded hiding annoyed juggled arbitrary ritual optical gypsy owed vivid ' +
  'reef vinegar nineteen suddenly highway owls possible hiding';
const FOREIGN_ADDRESS =
  '46NFLGmf5meFAG6dzzptiwH7J4Cwmrg54P2SL9YGCLRhi3pCUUgYNNDYJoMw87hRHx9246gfgt81NW5wtZ1enDLE25WGS6p';

let wallet: Awaited<ReturnType<typeof walletFolder>>;
beforeAll(async () => {
  wallet = await walletFolder();
});
afterAll(() => wallet.remove());

const addressOf = (account: AccountKey): string => addressAt(account, 1, 0, 'mainnet').address;
const derived = async (accountNo: number, passphrase = PASSPHRASE): Promise<string> =>
  addressOf((await deriveAccounts(wallet.folder, passphrase, 'mainnet', accountNo, ['XMR'])).XMR);

it("are Ledger's for the account that follows from the words, shown sealed to whoever has the passphrase", async () => {
  expect(WORDS).toBe(`${'abandon '.repeat(11)}about`);
  const common = { autoLockMinutes: 0, source: () => ({ kind: 'prompt' as const }), log: () => {} };
  const sandbox = { sign: () => Promise.reject(new Error('no sandbox here')) };
  const client = new SignerClient({ ...common, folder: wallet.folder, sandbox });
  const boxes: Sealed[] = [];
  /** All that the service sees of it. */
  let carried = '';
  const call = async (method: string, { sealed }: { sealed: Sealed }) => {
    if (method === 'wallet.sealKey') return { seal_key: await client.sealKey() };
    const result = await client.custody(sealed);
    carried += JSON.stringify([sealed, result]);
    if (result.words) boxes.push(result.words);
    return result;
  };
  const custody = sealedCustody(call as unknown as Call);
  const ask = async (passphrase: string, accountNo = 0) =>
    (await custody.moneroWords(passphrase, 'mainnet', accountNo)).join(' ');
  try {
    expect(await ask(PASSPHRASE)).toBe(LEDGER);
    expect(Buffer.from(boxes[0]!.box, 'base64').includes('tavern')).toBe(false);
    expect(await codeOf(ask('another passphrase'))).toBe('vault.passphrase');
    expect(await client.status()).toMatchObject({ state: 'locked' });
    // a browser imports others in the same way, and takes that back
    expect(await codeOf(custody.importMonero(PASSPHRASE, 'mainnet', 7, 'jobs '.repeat(24)))).toBe('mnemonic.length');
    const shown = async () => (await custody.accounts(PASSPHRASE, 'mainnet', 7)).accounts.XMR;
    const before = await shown();
    await custody.importMonero(PASSPHRASE, 'mainnet', 7, FOREIGN.toUpperCase());
    expect(await ask(PASSPHRASE, 7)).toBe(FOREIGN);
    expect(await shown()).toEqual((await deriveAccounts(wallet.folder, PASSPHRASE, 'mainnet', 7, ['XMR'])).XMR);
    await custody.dropMonero(PASSPHRASE, 'mainnet', 7);
    expect(await shown()).toEqual(before);
    expect(await ask(PASSPHRASE, 7)).toBe(SEVENTH);
    expect(carried.toLowerCase()).not.toContain(FOREIGN.split(' ').slice(0, 2).join(' '));
  } finally {
    await client.close();
  }
});

it('are refused unless they are 25 with the right checksum, and no message repeats them', async () => {
  const words = LEDGER.split(' ');
  const cases: [code: string, text: string][] = [
    ['mnemonic.length', words.slice(0, 24).join(' ')],
    ['mnemonic.length', `${LEDGER} jobs`],
    ['mnemonic.checksum', [...words.slice(0, 24), 'abbey'].join(' ')],
    ['mnemonic.checksum', ['zzzzzz', ...words.slice(1)].join(' ')],
    ['mnemonic.checksum', [words[1], words[0], ...words.slice(2)].join(' ')],
    ['mnemonic.length', ''],
    ['mnemonic.length', 'jobs '.repeat(1_000)],
  ];
  for (const [code, text] of cases) {
    const error = await spendKeyOf(text).catch((thrown) => thrown);
    expect(error).toMatchObject({ code });
    for (const word of ['jobs', 'tavern', 'zzzzzz']) expect(error.message).not.toContain(word);
  }
  const { spend } = moneroSecretOf(SEED, 'mainnet', 0);
  expect(await spendKeyOf(`  ${LEDGER.toUpperCase()}\n`)).toBe(hex(scalarBytes(spend)));
});

it('become the key of a new account, which the vault alone has, and its words are shown again', async () => {
  const before = await derived(1);
  await importMoneroWords(wallet.folder, PASSPHRASE, { network: 'mainnet', accountNo: 1, words: FOREIGN });
  expect(await derived(1)).toBe(FOREIGN_ADDRESS);
  expect(await moneroWordsIn(wallet.folder, PASSPHRASE, 'mainnet', 1)).toBe(FOREIGN);
  const again = { network: 'mainnet', accountNo: 1, words: LEDGER } as const;
  expect(await codeOf(importMoneroWords(wallet.folder, PASSPHRASE, again))).toBe('vault.exists');
  expect(await readFile(join(wallet.folder, 'wallet.json'), 'utf8')).not.toContain(FOREIGN_KEY);

  // the words of the wallet do not give it, its vault does
  const [byWords, byVault] = [await openByWords(WORDS), await openByVault(wallet.folder, PASSPHRASE)];
  expect(addressOf(byWords.account('XMR', 'mainnet', 1))).toBe(before);
  expect(addressOf(byVault.account('XMR', 'mainnet', 1))).toBe(FOREIGN_ADDRESS);
  byWords.close();
  byVault.close();

  await changeVaultLock(join(wallet.folder, 'wallet.json'), PASSPHRASE, 'a newer passphrase');
  expect(await derived(1, 'a newer passphrase')).toBe(FOREIGN_ADDRESS);
  await dropMoneroWords(wallet.folder, 'a newer passphrase', 'mainnet', 1);
  expect(await derived(1, 'a newer passphrase')).toBe(before);
});
