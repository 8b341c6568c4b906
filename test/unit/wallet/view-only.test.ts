import { describe, expect, it } from 'vitest';
import { deriveAddress } from '../../../daemon/chains/derive.ts';
import type { Network } from '../../../daemon/domain/assets.ts';
import { isWatchOnly } from '../../../daemon/domain/chain.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { moneroAccount } from '../../../daemon/wallet/accounts.ts';
import { ownAddress } from '../../../daemon/wallet/own-address.ts';
import { primaryAddress, readViewOnly } from '../../../daemon/wallet/view-only.ts';

/** A wallet of monero-wallet-rpc, with the subaddresses and the integrated address that it made. */
const ADDRESS = '46NFLGmf5meFAG6dzzptiwH7J4Cwmrg54P2SL9YGCLRhi3pCUUgYNNDYJoMw87hRHx9246gfgt81NW5wtZ1enDLE25WGS6p';
const SPEND_KEY = '232dc2a8258040226082d9a43ece719be2e3a9be08d64cc3fa2a8f3d12903a0b';
const VIEW_KEY = '5088cdacb99f3585c184a78fccf44cf369d3564f2bac767d65689458326b530e';
const SUBADDRESSES = [
  '84XeLbpZsoHTf6NxmTxtVN9uBXjh7eic6ECb5wvbSVvQcBqtxVNMvwgFkdw4sDXcbz9VDjs2Txhr5bjscW7hG2x4Bw5Hoq1',
  '8A9t9RWTwmChETY7YkQospCEnzYVGY5c57zZkstSqGZw7Roh3aX858AL2ucK2HQ8PpapmuuqSbfKREKmi2cgGyXt5grk6rF',
] as const;
const INTEGRATED =
  '4G4vM5b9h3AFAG6dzzptiwH7J4Cwmrg54P2SL9YGCLRhi3pCUUgYNNDYJoMw87hRHx9246gfgt81NW5wtZ1enDLE2WMZAr69qxgU2haMTq';
/** The group's order, and the view key plus it: the same point, not canonical. */
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const hexOf = (value: bigint): string =>
  Buffer.from(value.toString(16).padStart(64, '0'), 'hex').reverse().toString('hex');
const viewScalar = BigInt(`0x${Buffer.from(VIEW_KEY, 'hex').reverse().toString('hex')}`);

/** The code of a rejection, and whether its text has nothing of a key or an address. */
function codeOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    expect(error.message).not.toMatch(/[a-zA-Z0-9]{30}/);
    return error.code;
  }
  return 'accepted';
}

describe('a view-only account', () => {
  it('has the addresses that the wallet with its keys makes', () => {
    const key = readViewOnly(` ${ADDRESS}\n`, `${VIEW_KEY.toUpperCase()} `, 'mainnet');
    expect(isWatchOnly(key)).toBe(true);
    expect([0, 1].map((index) => ownAddress(key, 'XMR', 'mainnet', index))).toEqual(SUBADDRESSES);
    expect([0, 1].map((index) => deriveAddress('XMR', 'mainnet', key, 0, index).address)).toEqual(SUBADDRESSES);
    expect(primaryAddress(key, 'mainnet')).toBe(ADDRESS);
  });

  it('is one of its network alone, and a regtest chain has the addresses of mainnet', () => {
    const test = moneroAccount({ spend: 5n, view: 7n });
    const address = primaryAddress(test, 'testnet');
    expect(readViewOnly(address, hexOf(7n), 'testnet')).toEqual({ ...test, watch: true });
    expect(readViewOnly(ADDRESS, VIEW_KEY, 'regtest').privateViewKey).toBe(VIEW_KEY);
    expect(codeOf(() => readViewOnly(address, hexOf(7n), 'mainnet'))).toBe('account.network');
  });
});

describe('a view-only account refuses', () => {
  it.each<[what: string, address: string, key: string, network: Network, code: string]>([
    ['another network', ADDRESS, VIEW_KEY, 'testnet', 'account.network'],
    ['a subaddress', SUBADDRESSES[0], VIEW_KEY, 'mainnet', 'account.subaddress'],
    ['an integrated address', INTEGRATED, VIEW_KEY, 'mainnet', 'account.integrated'],
    ['the private spend key', ADDRESS, SPEND_KEY, 'mainnet', 'account.private'],
    ['words for the key', ADDRESS, 'abbey '.repeat(25), 'mainnet', 'account.private'],
    ['words for the address', 'abbey '.repeat(25), VIEW_KEY, 'mainnet', 'account.private'],
    ['the private spend key for the address', SPEND_KEY.toUpperCase(), VIEW_KEY, 'mainnet', 'account.private'],
    ['the view key of another address', ADDRESS, hexOf(viewScalar + 1n), 'mainnet', 'account.view_key'],
    ['a view key above the order', ADDRESS, hexOf(viewScalar + ORDER), 'mainnet', 'account.view_key'],
    ['a view key of zeros', ADDRESS, '0'.repeat(64), 'mainnet', 'account.view_key'],
    ['half a view key', ADDRESS, VIEW_KEY.slice(32), 'mainnet', 'account.key'],
    ['nothing for a key', ADDRESS, '', 'mainnet', 'account.key'],
    ['an address of Bitcoin', 'bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu', VIEW_KEY, 'mainnet', 'account.key'],
    ['a long address', ADDRESS.repeat(1_000), VIEW_KEY, 'mainnet', 'account.key'],
    ['nothing for an address', '', VIEW_KEY, 'mainnet', 'account.key'],
  ])('%s', (_, address, key, network, code) => {
    expect(codeOf(() => readViewOnly(address, key, network))).toBe(code);
  });

  it('every change of one character of the address', () => {
    const codes = Array.from(ADDRESS, (old, at) => {
      const changed = `${ADDRESS.slice(0, at)}${old === '2' ? '3' : '2'}${ADDRESS.slice(at + 1)}`;
      return codeOf(() => readViewOnly(changed, VIEW_KEY, 'mainnet'));
    });
    expect(new Set(codes)).toEqual(new Set(['account.checksum']));
  });
});
