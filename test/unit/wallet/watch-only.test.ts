import { sha256 } from '@noble/hashes/sha2.js';
import { createBase58check, hex } from '@scure/base';
import { HDKey } from '@scure/bip32';
import { describe, expect, it } from 'vitest';
import { deriveAddress } from '../../../daemon/chains/derive.ts';
import type { Network } from '../../../daemon/domain/assets.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { ownAddress } from '../../../daemon/wallet/own-address.ts';
import { descriptorChecksum, descriptorOf, FORMS, readWatchOnly } from '../../../daemon/wallet/watch-only.ts';

/** The account keys of "abandon … about" in BIP-49 (testnet), BIP-84 and BIP-86, with the addresses that these documents give. */
const UPUB =
  'upub5EFU65HtV5TeiSHmZZm7FUffBGy8UKeqp7vw43jYbvZPpoVsgU93oac7Wk3u6moKegAEWtGNF8DehrnHtv21XXEMYRUocHqguyjknFHYfgY';
const ZPUB =
  'zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs';
const XPUB_86 =
  'xpub6BgBgsespWvERF3LHQu6CnqdvfEvtMcQjYrcRzx53QJjSxarj2afYWcLteoGVky7D3UKDP9QyrLprQ3VCECoY49yfdDEHGCtMMj92pReUsQ';
const XPRV =
  'xprv9s21ZrQH143K3GJpoapnV8SFfukcVBSfeCficPSGfubmSFDxo1kuHnLisriDvSnRRuL2Qrg5ggqHKNVpxR86QEC8w35uxmGoggxtQTPvfUu';

const base58check = createBase58check(sha256);
/** A key with other version bytes. */
const withVersion = (key: string, version: string): string => {
  const bytes = base58check.decode(key);
  bytes.set(hex.decode(version));
  return base58check.encode(bytes);
};
const XPUB_84 = withVersion(ZPUB, '0488b21e');
const described = (body: string): string => `${body}#${descriptorChecksum(body)}`;

/** The code of a rejection, and whether its text has nothing of the key. */
function codeOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    expect(error.message).not.toMatch(/[a-zA-Z0-9]{50}/);
    return error.code;
  }
  return 'accepted';
}

const addresses = (text: string, network: Network, form: Parameters<typeof readWatchOnly>[3] = null) => {
  const key = readWatchOnly(text, 'BTC', network, form);
  const made = [0, 1].map((index) => deriveAddress('BTC', network, key, 0, index).address);
  // the code of the computer at home is another one
  expect([0, 1].map((index) => ownAddress(key, 'BTC', network, index))).toEqual(made);
  return made;
};

describe('the first addresses', () => {
  it.each([
    [
      ZPUB,
      'mainnet',
      null,
      ['bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu', 'bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g'],
    ],
    [
      XPUB_84,
      'mainnet',
      'p2wpkh',
      ['bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu', 'bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g'],
    ],
    [
      XPUB_86,
      'mainnet',
      'p2tr',
      [
        'bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr',
        'bc1p4qhjn9zdvkux4e44uhx8tc55attvtyu358kutcqkudyccelu0was9fqzwh',
      ],
    ],
  ] as const)('%s on %s as %s are those of its BIP', (key, network, form, expected) => {
    expect(addresses(key, network, form)).toEqual(expected);
  });

  it('of BIP-49', () => {
    expect(addresses(UPUB, 'testnet')[0]).toBe('2Mww8dCYPUpKHofjgcXcBCEGmniw9CoaiD2');
  });

  it('of BIP-44, which are those of the wallet for BCH', () => {
    const key = readWatchOnly(XPUB_84, 'BCH', 'mainnet');
    const { watch: _, ...own } = key;
    expect(deriveAddress('BCH', 'mainnet', key, 1, 7)).toEqual(deriveAddress('BCH', 'mainnet', own, 1, 7));
    expect(key.watch.form).toBe('p2pkh');
  });

  it.each((['BTC', 'LTC', 'BCH'] as const).flatMap((chain) => FORMS[chain].map((form) => [chain, form] as const)))(
    'of %s as %s are the same by both ways of deriving',
    (chain, form) => {
      for (const network of ['mainnet', 'regtest'] as const) {
        const key = readWatchOnly(
          network === 'mainnet' ? XPUB_84 : withVersion(ZPUB, '043587cf'),
          chain,
          network,
          form,
        );
        for (const index of [0, 5, 2 ** 31 - 1])
          expect(ownAddress(key, chain, network, index)).toBe(deriveAddress(chain, network, key, 0, index).address);
      }
    },
  );
});

describe('output descriptors', () => {
  it('have the checksum of BIP-380', () => {
    expect(descriptorChecksum('raw(deadbeef)')).toBe('89f8spxm');
  });

  it.each([
    [`wpkh([73c5da0a/84'/0'/0']${XPUB_84}/<0;1>/*)`, 'p2wpkh', '84h/0h/0h'],
    [`wpkh([73C5DA0A/84h/0H/0h]${XPUB_84}/0/*)`, 'p2wpkh', '84h/0h/0h'],
    [`tr([73c5da0a/86h/0h/0h]${XPUB_86})`, 'p2tr', '86h/0h/0h'],
    [`sh(wpkh([73c5da0a/49h/0h/0h]${XPUB_84}/<0;1>/*))`, 'p2sh-p2wpkh', '49h/0h/0h'],
    [`pkh([73c5da0a]${XPUB_84}/<0;1>/*)`, 'p2pkh', ''],
  ])('%s', (body, form, path) => {
    const expected = { form, origin: { fingerprint: '73c5da0a', path } };
    expect(readWatchOnly(body, 'BTC', 'mainnet').watch).toEqual(expected);
    const key = readWatchOnly(` ${described(body)}\n`, 'BTC', 'mainnet');
    expect(key.watch).toEqual(expected);
    expect(readWatchOnly(descriptorOf(key, 'mainnet'), 'BTC', 'mainnet')).toEqual(key);
  });

  it('without an origin are read, too', () => {
    const key = readWatchOnly(`wpkh(${XPUB_84}/<0;1>/*)`, 'BTC', 'mainnet');
    expect(key.watch).toEqual({ form: 'p2wpkh', origin: null });
    expect(readWatchOnly(descriptorOf(key, 'mainnet'), 'BTC', 'mainnet')).toEqual(key);
  });
});

describe('refused with a reason of its own', () => {
  const XPRV_CHANGED = `${XPRV.slice(0, -1)}v`;
  const ONE_CHANGED = ZPUB.replace('AijBE', 'AijBF');
  const body = `wpkh([73c5da0a/84h/0h/0h]${XPUB_84}/<0;1>/*)`;
  it.each([
    ['a private key', XPRV, 'account.private'],
    ['a private key with a wrong checksum', XPRV_CHANGED, 'account.private'],
    ['a private key in a descriptor', `wpkh(${XPRV}/84h/0h/0h/0/*)`, 'account.private'],
    ['a private key in WIF', 'L1aW4aubDFB7yfras2S1mN3bqg9nwySY8nkoLmJebSLD5BWv3ENZ', 'account.private'],
    ['a private key in hex', '0c28fca386c7a227600b2fe50b7cae11ec86d3bf1fbe471be89827e19d72aa1d', 'account.private'],
    ['words', `${'abandon '.repeat(11)}about`, 'account.private'],
    ['a typing error', ONE_CHANGED, 'account.checksum'],
    ['a typing error in a descriptor', described(body).replace('73c5da0a', '73c5da0b'), 'account.checksum'],
    ['a checksum of another descriptor', `${body}#89f8spxm`, 'account.checksum'],
    ['a key of a test network', UPUB, 'account.network'],
    ['a key of LTC', withVersion(ZPUB, '019da462'), 'account.network'],
    ['the path of LTC', `wpkh([73c5da0a/84h/2h/0h]${XPUB_84}/<0;1>/*)`, 'account.network'],
    ['a key that says no form', XPUB_84, 'account.script'],
    ['the path of another form', `wpkh([73c5da0a/86h/0h/0h]${XPUB_84}/<0;1>/*)`, 'account.script'],
    ['a key of another form than its descriptor', `tr(${ZPUB}/<0;1>/*)`, 'account.script'],
    ['a key of several signers', withVersion(ZPUB, '02aa7ed3'), 'account.key'],
    ['a descriptor of several signers', `wsh(multi(1,${XPUB_84}/0/*))`, 'account.key'],
    ['change', `wpkh(${XPUB_84}/1/*)`, 'account.key'],
    ['a hardened path', `wpkh(${XPUB_84}/0/*h)`, 'account.key'],
    ['two keys', `tr(${XPUB_84}/0/*,pk(${XPUB_86}/0/*))`, 'account.key'],
    ['a point off the curve', offCurve(), 'account.key'],
    ['an address', 'bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu', 'account.key'],
    ['nothing', '  ', 'account.key'],
    ['a long text', 'x'.repeat(10_000), 'account.key'],
  ])('%s', (_, text, code) => {
    expect(codeOf(() => readWatchOnly(text, 'BTC', 'mainnet'))).toBe(code);
  });

  it('a form that its chain does not have, or that the key contradicts', () => {
    expect(codeOf(() => readWatchOnly(XPUB_84, 'LTC', 'mainnet', 'p2tr'))).toBe('account.script');
    expect(codeOf(() => readWatchOnly(XPUB_84, 'BCH', 'mainnet', 'p2wpkh'))).toBe('account.script');
    expect(codeOf(() => readWatchOnly(ZPUB, 'BTC', 'mainnet', 'p2pkh'))).toBe('account.script');
    expect(codeOf(() => readWatchOnly(ZPUB, 'BCH', 'mainnet'))).toBe('account.network');
  });

  it('every change of one character of a key', () => {
    for (let at = 0; at < ZPUB.length; at++) {
      const changed = `${ZPUB.slice(0, at)}${ZPUB[at] === '2' ? '3' : '2'}${ZPUB.slice(at + 1)}`;
      expect(
        codeOf(() => readWatchOnly(changed, 'BTC', 'mainnet')),
        changed,
      ).not.toBe('accepted');
    }
  });
});

function offCurve(): string {
  const bytes = base58check.decode(ZPUB);
  for (let byte = 0; ; byte++) {
    bytes.fill(byte, 46);
    try {
      new HDKey({ publicKey: bytes.slice(45), chainCode: bytes.slice(13, 45) });
    } catch {
      return base58check.encode(bytes);
    }
  }
}
