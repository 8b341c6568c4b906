/** The accounts in the files and codes of other wallets. The files are written here, in the forms that the wallets document. */

import { sha256 } from '@noble/hashes/sha2.js';
import { createBase58check, hex } from '@scure/base';
import { HDKey } from '@scure/bip32';
import { describe, expect, it } from 'vitest';
import { descriptorChecksum } from '../../../daemon/wallet/watch-only.ts';
import { accountsIn } from '../../../renderer/screens/first-run/account-export.ts';

const MAINNET = { public: 0x0488b21e, private: 0x0488ade4 };
const root = HDKey.fromMasterSeed(new Uint8Array(32).fill(9), MAINNET);
const base58check = createBase58check(sha256);
const withVersion = (key: string, version: string): string => {
  const bytes = base58check.decode(key);
  bytes.set(hex.decode(version));
  return base58check.encode(bytes);
};
const ZPUB = '04b24746';
const YPUB = '049d7cb2';
const xpub = (path: string): string => root.derive(path).publicExtendedKey;
const described = (begin: string, path: string, end: string, steps = '/<0;1>/*'): string => {
  const body = `${begin}[73c5da0a/${path}]${xpub(`m/${path.replaceAll('h', "'")}`)}${steps}${end}`;
  return `${body}#${descriptorChecksum(body)}`;
};
const NATIVE = described('wpkh(', '84h/0h/0h', ')');
const NESTED = described('sh(wpkh(', '49h/0h/0h', '))');
const SECOND = described('wpkh(', '84h/0h/1h', ')');

/** As the generic JSON export of a Coldcard, whose master key and keys of several signers are no accounts here. */
const COLDCARD = JSON.stringify({
  chain: 'BTC',
  xfp: '73C5DA0A',
  xpub: root.publicExtendedKey,
  account: 0,
  bip49: {
    name: 'p2sh-p2wpkh',
    deriv: "m/49'/0'/0'",
    xpub: xpub("m/49'/0'/0'"),
    _pub: withVersion(xpub("m/49'/0'/0'"), YPUB),
    desc: NESTED,
  },
  bip84: {
    name: 'p2wpkh',
    deriv: "m/84'/0'/0'",
    xpub: xpub("m/84'/0'/0'"),
    _pub: withVersion(xpub("m/84'/0'/0'"), ZPUB),
    desc: NATIVE,
  },
  bip48_2: {
    name: 'p2wsh',
    deriv: "m/48'/0'/0'/2'",
    xpub: xpub("m/48'/0'/0'/2'"),
    _pub: withVersion(xpub("m/48'/0'/0'/2'"), '02aa7ed3'),
  },
});
/** As listdescriptors of Bitcoin Core: both branches of one account, and of another. */
const CORE = JSON.stringify({
  descriptors: [
    { desc: described('wpkh(', '84h/0h/0h', ')', '/0/*'), internal: false },
    { desc: described('wpkh(', '84h/0h/0h', ')', '/1/*'), internal: true },
    { desc: SECOND, internal: false },
  ],
});
const ELECTRUM = {
  keystore: {
    type: 'bip32',
    xpub: withVersion(xpub("m/84'/0'/0'"), ZPUB),
    derivation: "m/84'/0'/0'",
    xprv: null as string | null,
  },
  transactions: { spent: ['ab'.repeat(32)] },
};
const XMR = {
  address: '46NFLGmf5meFAG6dzzptiwH7J4Cwmrg54P2SL9YGCLRhi3pCUUgYNNDYJoMw87hRHx9246gfgt81NW5wtZ1enDLE25WGS6p',
  viewKey: '5088cdacb99f3585c184a78fccf44cf369d3564f2bac767d65689458326b530e',
  spendKey: '232dc2a8258040226082d9a43ece719be2e3a9be08d64cc3fa2a8f3d12903a0b',
};

const bitcoin = (text: string) => accountsIn(text, 'BTC', 'mainnet').map(({ typed, path }) => [typed.text, path]);
const monero = (text: string) => accountsIn(text, 'XMR', 'mainnet').map(({ typed }) => [typed.text, typed.viewKey]);

describe('the accounts in what another wallet wrote', () => {
  it.each([
    ['a descriptor alone', `${NATIVE}\n`, [[NATIVE, '84h/0h/0h']]],
    [
      'the accounts of a Coldcard, each once, with its path',
      COLDCARD,
      [
        [NESTED, '49h/0h/0h'],
        [NATIVE, '84h/0h/0h'],
      ],
    ],
    [
      'the receiving branches of Bitcoin Core',
      CORE,
      [
        [described('wpkh(', '84h/0h/0h', ')', '/0/*'), '84h/0h/0h'],
        [SECOND, '84h/0h/1h'],
      ],
    ],
    ['a key of Electrum, among hashes', JSON.stringify(ELECTRUM), [[ELECTRUM.keystore.xpub, null]]],
    [
      'a summary in words',
      `# Summary of a wallet, with all that it has\nm/84'/0'/0' => ${ELECTRUM.keystore.xpub}\n`,
      [[ELECTRUM.keystore.xpub, null]],
    ],
    [
      'an xpub that does not say its addresses',
      `{"ExtPubKey": "${xpub("m/84'/0'/0'")}"}`,
      [[xpub("m/84'/0'/0'"), null]],
    ],
    ['a single word that is none, to be told why', 'nonsense', [['nonsense', null]]],
    [
      'a wrong character, to be told why',
      JSON.stringify({ desc: NATIVE.replace(/.$/, 'z') }),
      [[NATIVE.replace(/.$/, 'z'), null]],
    ],
    ['nothing in a text without one', 'a text of several words', []],
    ['nothing in JSON without one', '{"deep": {"er": [1, null, "no key"]}}', []],
    [
      'a private key alone, to be refused',
      JSON.stringify({ a: NATIVE, b: root.privateExtendedKey }),
      [[root.privateExtendedKey, null]],
    ],
    [
      'the words of a wallet alone, to be refused',
      `${NATIVE}\n${'abandon '.repeat(11)}about\n`,
      [[`${'abandon '.repeat(11)}about`, null]],
    ],
  ])('%s', (_, text, offers) => {
    expect(bitcoin(text)).toEqual(offers);
  });

  it.each([
    [
      'the address and its view key',
      JSON.stringify({ primaryAddress: XMR.address, privateViewKey: XMR.viewKey }),
      [[XMR.address, XMR.viewKey]],
    ],
    [
      'a URI of a view-only wallet',
      `monero_wallet:${XMR.address}?view_key=${XMR.viewKey}&height=3000000`,
      [[XMR.address, XMR.viewKey]],
    ],
    ['an address alone', `monero:${XMR.address}`, [[XMR.address, '']]],
    ['the spend key alone, to be refused', JSON.stringify({ ...XMR }), [[XMR.address, XMR.spendKey]]],
    ['nothing without an address', XMR.viewKey, []],
  ])('of Monero: %s', (_, text, offers) => {
    expect(monero(text)).toEqual(offers);
  });

  it('of an account chain: the extended key', () => {
    const key = xpub("m/44'/60'/0'");
    expect(accountsIn(JSON.stringify({ eth: { xpub: key } }), 'ETH', 'mainnet')).toEqual([
      { typed: { chain: 'ETH', text: key, viewKey: '', form: null }, path: null },
    ]);
  });
});
