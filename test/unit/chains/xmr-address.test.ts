/** Monero addresses against Ledger's published keys, monero-wallet-rpc 0.18, and the Monero project's donation address. */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { base58xmr } from '@scure/base';
import { describe, expect, it } from 'vitest';
import type { Network } from '../../../daemon/domain/assets.ts';
import type { AccountKey } from '../../../daemon/domain/chain.ts';
import { isValidAddress, scriptOf, subaddress } from '../../../daemon/monero/address.ts';

/** Ledger's Monero test vector for "abandon … about". */
const LEDGER: AccountKey = {
  kind: 'monero',
  privateViewKey: '0f3fe25d0c6d4c94dde0c0bcc214b233e9c72927f813728b0f01f28f9d5e1201',
  publicSpendKey: 'dae41d6b13568fdd71ec3d20c2f614c65fe819f36ca5da8d24df3bd89b2bad9d',
};
const MAIN = '49vDbkSo7eve3J41sBdjvjaBUyz8qHohsQcGtRf63qEUTMBvmA45fpp5pSacMdSg7A3b71RejLzB8EkGbfjp5PELVF2N4Zn';
const STAGE = '5A8FgbMkmG2e3J41sBdjvjaBUyz8qHohsQcGtRf63qEUTMBvmA45fpp5pSacMdSg7A3b71RejLzB8EkGbfjp5PELVHCRUaE';

/** What monero-wallet-rpc gives for a watch-only wallet of those keys. */
const ADDRESSES: [Network, number, number, string][] = [
  ['mainnet', 0, 0, MAIN],
  ['mainnet', 0, 1, '8AB7PQPtducdkghYFN2prK3rZ7zPeL9f2REEdqE4WXYbSZr3797Aqti5xAjRsVy4jTdcwMW11GWejQtqk2kNXxj2QZxJwPZ'],
  ['mainnet', 0, 2, '8696JpJ6Yvw8VtJqpQ7V8gNLBdgwLK5xYLQPfE7DpzdQGo4gKPWMJSubTt8rvvTrWagePa2q1P3k3TvRkGiHZGGUL1cuAwo'],
  ['mainnet', 0, 40, '83CxTX4Ngfpc6aF7j9YfgUFyzDRC3ZGHLMbQy58mn3kxFoCfvvrZFjRFWgDSHmBYfZTN4Ldybmyz7cq92EkwjjzBDuptXLJ'],
  ['mainnet', 1, 0, '8BwfMo73i9GeqjRg6vctzrL7vTuG3Ap6JDaT8cqWrLTJGsHuJP2aSq4NFutnw8giH7goWTFSbg5ny3Rukad8cBQeEv9KMst'],
  ['mainnet', 2, 3, '89U896Zb7Aac7FgsWpmmV6cq1QGh775rqKXCwmaaBdxdg78rK7v1szHMVWEBPCTcsgJWHVNRguwfaJ2qysVmLLTEBYQMBph'],
  ['regtest', 0, 1, '8AB7PQPtducdkghYFN2prK3rZ7zPeL9f2REEdqE4WXYbSZr3797Aqti5xAjRsVy4jTdcwMW11GWejQtqk2kNXxj2QZxJwPZ'],
  ['sandbox', 0, 0, STAGE],
  ['sandbox', 0, 1, '79y5JZUvzJWdkghYFN2prK3rZ7zPeL9f2REEdqE4WXYbSZr3797Aqti5xAjRsVy4jTdcwMW11GWejQtqk2kNXxj2QWJ9bkP'],
  ['testnet', 2, 3, '79G64FedTZUc7FgsWpmmV6cq1QGh775rqKXCwmaaBdxdg78rK7v1szHMVWEBPCTcsgJWHVNRguwfaJ2qysVmLLTEBaL5FYx'],
];

const MAIN_INTEGRATED =
  '4KctcZGHivSe3J41sBdjvjaBUyz8qHohsQcGtRf63qEUTMBvmA45fpp5pSacMdSg7A3b71RejLzB8EkGbfjp5PELipMfXPS2PSLU4C1ukC';
const STAGE_INTEGRATED =
  '5KpvhQBFNXYe3J41sBdjvjaBUyz8qHohsQcGtRf63qEUTMBvmA45fpp5pSacMdSg7A3b71RejLzB8EkGbfjp5PELipMfXPS2PSLU1RFdHm';

/** An address with any contents and a right checksum. */
const forge = (bytes: Uint8Array): string =>
  base58xmr.encode(Uint8Array.of(...bytes, ...keccak_256(bytes).subarray(0, 4)));

describe('Monero addresses', () => {
  it.each(ADDRESSES)('on %s (%d, %d) are the reference wallet’s', (network, major, minor, address) => {
    const target = subaddress(LEDGER, major, minor, network);
    expect(target.address).toBe(address);
    expect(target.script.length).toBe(65);
    expect(scriptOf(address, network)).toEqual(target.script);
  });

  it('derives the subaddress 70 of the Monero project’s general fund', () => {
    const address = '44AFFq5kSiGBoZ4NMDwYtN18obc8AemS33DBLWs3H7otXft3XjrpDtQGv7SqSsaBYBb98uNbr2VBBEt7f2wfn3RVGQBEP3A';
    const script = scriptOf(address, 'mainnet')!;
    const account: AccountKey = {
      kind: 'monero',
      privateViewKey: 'f359631075708155cc3d92a32b75a7d02a5dcf27756707b47a2b31b21c389501',
      publicSpendKey: Buffer.from(script.subarray(1, 33)).toString('hex'),
    };
    expect(subaddress(account, 0, 0, 'mainnet').address).toBe(address);
    expect(subaddress(account, 0, 70, 'mainnet').address).toBe(
      '888tNkZrPN6JsEgekjMnABU4TBzc2Dt29EPAvkRxbANsAnjyPbb3iQ1YBRk1UXcdRsiKc9dhwMVgN5S9cQUiyoogDavup3H',
    );
  });

  it('belong to their network', () => {
    const accepted = (address: string) =>
      (['mainnet', 'testnet', 'regtest', 'sandbox'] as const).filter((network) => isValidAddress(address, network));
    expect(accepted(MAIN)).toEqual(['mainnet', 'regtest']);
    expect(accepted(MAIN_INTEGRATED)).toEqual(['mainnet', 'regtest']);
    expect(accepted(STAGE)).toEqual(['testnet', 'sandbox']);
    expect(accepted(STAGE_INTEGRATED)).toEqual(['testnet', 'sandbox']);
    // The developers' testnet (monero-python's test address) is none of ours.
    const developers =
      '9wuKTHsxGiwEsMp2fYzJiVahyhU2aZi1oZ6R6fK5U64uRa1Pxi8diZh2S1GJFqYXRRhcbfzfWiPD819zKEZkXTMwP7hMs5N';
    expect(accepted(developers)).toEqual([]);
  });

  it('keep the payment id of an integrated address', () => {
    const script = Buffer.from(scriptOf(MAIN_INTEGRATED, 'mainnet')!);
    expect(script.subarray(65).toString('hex')).toBe('0123456789abcdef');
    expect(script.subarray(1, 65)).toEqual(Buffer.from(scriptOf(MAIN, 'mainnet')!).subarray(1));
  });

  it.each([
    ['standard', MAIN],
    ['sub', ADDRESSES[1]![3]],
    ['integrated', MAIN_INTEGRATED],
  ])('(%s) are refused when any one character is another', (_, address) => {
    const changed = [...address].map((c, i) => address.slice(0, i) + (c === '2' ? '3' : '2') + address.slice(i + 1));
    expect(isValidAddress(address, 'mainnet')).toBe(true);
    expect(changed.filter((text) => isValidAddress(text, 'mainnet'))).toEqual([]);
  });

  it('are refused when a block stands for more than its bytes', () => {
    // 11 characters of Base58 hold up to 2^64.4; what is above 2^64 - 1 is no block.
    expect(isValidAddress('z'.repeat(11) + MAIN.slice(11), 'mainnet')).toBe(false);
  });

  const script = scriptOf(MAIN, 'mainnet')!;
  const withKey = (offset: number, key: Buffer): Uint8Array => {
    const bytes = Uint8Array.from(script);
    bytes.set(key, offset);
    return bytes;
  };
  const offCurve = Buffer.from(`02${'00'.repeat(31)}`, 'hex');
  const notCanonical = Buffer.from(`ee${'ff'.repeat(30)}7f`, 'hex');

  it.each([
    ['nothing', ''],
    ['a cut address', MAIN.slice(0, -1)],
    ['a longer address', `${MAIN}1`],
    ['a space', `${MAIN} `],
    ['a wrong kind of length', forge(Uint8Array.of(19, ...script.subarray(1)))],
    ['an integrated length with a plain prefix', forge(Uint8Array.of(...script, ...new Uint8Array(8)))],
    ['a spend key off the curve', forge(withKey(1, offCurve))],
    ['a view key off the curve', forge(withKey(33, offCurve))],
    ['a key that is not canonical', forge(withKey(33, notCanonical))],
    ['far too long a text', '4'.repeat(10_000)],
  ])('are refused with %s', (_, text) => {
    expect(isValidAddress(text, 'mainnet')).toBe(false);
  });

  it('accept what differs from the refused ones only in the defect', () => {
    expect(isValidAddress(forge(script), 'mainnet')).toBe(true);
  });

  it.each([-1, 0.5, 2 ** 32])('have no index %d', (index) => {
    expect(() => subaddress(LEDGER, 0, index, 'mainnet')).toThrow('2^32 - 1');
    expect(() => subaddress(LEDGER, index, 0, 'mainnet')).toThrow('2^32 - 1');
  });
});
