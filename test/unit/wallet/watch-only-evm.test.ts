import { sha256 } from '@noble/hashes/sha2.js';
import { createBase58check, hex } from '@scure/base';
import { HDKey } from '@scure/bip32';
import { describe, expect, it } from 'vitest';
import { deriveAddress } from '../../../daemon/chains/derive.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { EVM_CHAINS } from '../../../daemon/domain/evm.ts';
import { ownAddress } from '../../../daemon/wallet/own-address.ts';
import { readEvmWatchOnly } from '../../../daemon/wallet/watch-only-evm.ts';

/** "test test test test test test test test test test test junk", whose first addresses are those of every development node. */
const SEED =
  '9dfc3c64c2f8bede1533b6a79f8570e5943e0b8fd1cf77107adf7b72cef42185d564a3aee24cab43f80e3c4538087d70fc824eabbad596a23c97b6ee8322ccc0';
const ADDRESSES = [
  '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
];
const root = HDKey.fromMasterSeed(hex.decode(SEED));
const at = (path: string): HDKey => root.derive(path);
const XPUB = at("m/44'/60'/0'").publicExtendedKey;

const base58check = createBase58check(sha256);
const withVersion = (key: string, version: string): string => {
  const bytes = base58check.decode(key);
  bytes.set(hex.decode(version));
  return base58check.encode(bytes);
};
const TPUB = withVersion(XPUB, '043587cf');

/** The code of a rejection, whose text has nothing of the key. */
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

describe('the first addresses of an account of another wallet', () => {
  it.each(EVM_CHAINS)('on %s are those that every wallet has, with their checksum', (chain) => {
    const key = readEvmWatchOnly(` ${XPUB}\n`, chain, 'mainnet');
    expect(key.watch).toEqual({ form: null, origin: null });
    expect([0, 1, 2].map((index) => ownAddress(key, chain, 'mainnet', index))).toEqual(ADDRESSES);
    expect([0, 1, 2].map((index) => deriveAddress(chain, 'mainnet', key, 0, index).address)).toEqual(ADDRESSES);
  });

  it.each([
    [`[73c5da0a/44'/60'/0']${XPUB}`, '44h/60h/0h'],
    [`[73C5DA0A/44h/60h/0h]${XPUB}/0/*`, '44h/60h/0h'],
    [`[73c5da0a]${XPUB}/<0;1>/*`, ''],
  ])('of a key with its origin are the same: %s', (text, path) => {
    const key = readEvmWatchOnly(text, 'ETH', 'mainnet');
    expect(key.watch.origin).toEqual({ fingerprint: '73c5da0a', path });
    expect(ownAddress(key, 'ETH', 'mainnet', 0)).toBe(ADDRESSES[0]);
  });

  it('on a test network are taken of both kinds of key, as wallets have one for all networks there', () => {
    for (const text of [XPUB, TPUB, `[73c5da0a/44h/1h/0h]${TPUB}`])
      expect(ownAddress(readEvmWatchOnly(text, 'ETH', 'testnet'), 'ETH', 'testnet', 2)).toBe(ADDRESSES[2]);
  });
});

describe('refused with a reason of its own', () => {
  const XPRV = at("m/44'/60'/0'").privateExtendedKey;
  it.each([
    ['a private key', XPRV, 'account.private'],
    ['a private key with an origin', `[73c5da0a/44h/60h/0h]${XPRV}`, 'account.private'],
    ['a private key in hex', `0x${hex.encode(at("m/44'/60'/0'/0/0").privateKey!)}`, 'account.private'],
    ['words', `${'test '.repeat(11)}junk`, 'account.private'],
    ['a typing error', `${XPUB.slice(0, 50)}${XPUB[50] === '2' ? '3' : '2'}${XPUB.slice(51)}`, 'account.checksum'],
    ['a key of a test network', TPUB, 'account.network'],
    ['the path of BTC', `[73c5da0a/44h/0h/0h]${XPUB}`, 'account.network'],
    ['the path of a test network', `[73c5da0a/44h/1h/0h]${XPUB}`, 'account.network'],
    ['a key of LTC', withVersion(XPUB, '019da462'), 'account.network'],
    ['a ypub', withVersion(XPUB, '049d7cb2'), 'account.script'],
    ['a zpub', withVersion(XPUB, '04b24746'), 'account.script'],
    ['a vpub', withVersion(XPUB, '045f1cf6'), 'account.script'],
    ['the master key', at('m').publicExtendedKey, 'account.depth'],
    ["the key of the coin, m/44'/60'", at("m/44'/60'").publicExtendedKey, 'account.depth'],
    ['the receiving branch', at("m/44'/60'/0'/0").publicExtendedKey, 'account.depth'],
    ['an address', at("m/44'/60'/0'/0/0").publicExtendedKey, 'account.depth'],
    ["a place that is no account's", at('m/44/60/0').publicExtendedKey, 'account.depth'],
    ['a path of another purpose', `[73c5da0a/84h/60h/0h]${XPUB}`, 'account.depth'],
    ['a path of a branch', `[73c5da0a/44h/60h/0h/0]${XPUB}`, 'account.depth'],
    ['the path of another account', `[73c5da0a/44h/60h/1h]${XPUB}`, 'account.key'],
    ['a key of several signers', withVersion(XPUB, '02aa7ed3'), 'account.key'],
    ['a descriptor', `pkh(${XPUB}/0/*)`, 'account.key'],
    ['change', `${XPUB}/1/*`, 'account.key'],
    ['an address in hex', ADDRESSES[0]!, 'account.key'],
    ['nothing', ' ', 'account.key'],
    ['a long text', 'x'.repeat(10_000), 'account.key'],
  ])('%s', (_, text, code) => {
    for (const chain of EVM_CHAINS) expect(codeOf(() => readEvmWatchOnly(text, chain, 'mainnet'))).toBe(code);
  });

  it('every change of one character of a key', () => {
    for (let index = 0; index < XPUB.length; index++) {
      const changed = `${XPUB.slice(0, index)}${XPUB[index] === '2' ? '3' : '2'}${XPUB.slice(index + 1)}`;
      expect(
        codeOf(() => readEvmWatchOnly(changed, 'ETH', 'mainnet')),
        changed,
      ).not.toBe('accepted');
    }
  });
});
