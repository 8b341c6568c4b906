/** What one chain, its coin and its accounts have and others do not. */
import { expect, it } from 'vitest';
import { type AssetId, assetOf, type ChainId, findAsset, isToken, nativeAsset } from '../../../daemon/domain/assets.ts';
import {
  BLOCK_TIME_AHEAD_MAX_MS,
  chainKey,
  chainOf,
  isWatchOnly,
  networkOf,
  shownTransaction,
} from '../../../daemon/domain/chain.ts';
import { chainIdOf, evmScript, isEvm, kinOf } from '../../../daemon/domain/evm.ts';
import { isNonceKey, nonceKey, nonceOf } from '../../../daemon/domain/spend.ts';
import { isMovedElsewhere } from '../../../daemon/domain/watch-only.ts';

it.each<[ChainId, AssetId, boolean, ChainId | null, boolean]>([
  ['BTC', 'BTC', false, null, false],
  ['LTC', 'LTC', false, null, false],
  ['BCH', 'BCH', false, null, true],
  ['XMR', 'XMR', false, null, true],
  ['ETH', 'ETH', true, 'BSC', true],
  ['BSC', 'BNB', true, 'ETH', true],
])('%s has %s as its coin', (chain, coin, hasAccounts, kin, isElsewhere) => {
  expect(nativeAsset(chain)).toMatchObject({ symbol: coin, chain });
  expect(isToken(coin)).toBe(false);
  expect([isEvm(chain), kinOf(chain), isMovedElsewhere(chain)]).toEqual([hasAccounts, kin, isElsewhere]);
});

it.each<[AssetId, ChainId]>([
  ['USDT_ERC20', 'ETH'],
  ['XAUT', 'ETH'],
  ['PAXG', 'ETH'],
  ['USDT_BEP20', 'BSC'],
])('%s is a token of %s', (token, chain) => {
  expect([isToken(token), assetOf(token).chain, findAsset(token)]).toEqual([true, chain, assetOf(token)]);
});

it('no asset has another symbol', () => {
  expect([findAsset('btc'), findAsset('')]).toEqual([undefined, undefined]);
  expect(() => assetOf('DOGE' as AssetId)).toThrow('no asset DOGE');
});

it.each([
  ['mainnet', 'ETH', 1],
  ['mainnet', 'BSC', 56],
  ['testnet', 'ETH', 11_155_111],
  ['testnet', 'BSC', 97],
] as const)('%s of %s is signed for %i', (network, chain, id) => expect(chainIdOf(network, chain)).toBe(id));

it('a key names its network and its chain', () => {
  const key = chainKey('testnet', 'BSC');
  expect([key, networkOf(key), chainOf(key)]).toEqual(['testnet:BSC', 'testnet', 'BSC']);
});

it('an address has 20 bytes of hex', () => {
  expect([...evmScript(`0x00${'fF'.repeat(18)}0a`)]).toEqual([0, ...new Array(18).fill(255), 10]);
});

it.each([
  [nonceKey('0xAb', 12n), { address: '0xAb', nonce: 12n }],
  [nonceKey('0xAb', 0), { address: '0xAb', nonce: 0n }],
  ['nonce:0xAb:', null],
  ['nonce:0xAb:1x', null],
  ['nonce::1', null],
  ['nonce:a:b:1', null],
  [`${'ab'.repeat(32)}:0`, null],
  [`x${nonceKey('0xAb', 1)}`, null],
])('%s is the nonce %o', (key, nonce) => {
  expect(nonceOf(key)).toEqual(nonce);
  if (nonce) expect(isNonceKey(key)).toBe(true);
});

it('a coin is no nonce', () => expect(isNonceKey(`${'ab'.repeat(32)}:0`)).toBe(false));

it.each([
  [{ txid: 't', via_txid: null, block_hash: 'b' }, { tx_id: 't' }],
  [{ txid: 't', via_txid: null, block_hash: null }, { tx_id: 't' }],
  [
    { txid: 'b', via_txid: 'v', block_hash: 'b' },
    { tx_id: 'v', internal: true },
  ],
  [
    { txid: 'b', via_txid: null, block_hash: 'b' },
    { tx_id: 'b', internal: true },
  ],
])('%o is shown as %o', (row, shown) => expect(shownTransaction(row)).toEqual(shown));

it('an account is watched only where its keys are elsewhere', () => {
  const key = { xpub: '', branch: 0 } as never;
  const watch = { form: null, origin: null };
  expect([isWatchOnly(key), isWatchOnly({ ...(key as object), watch } as never)]).toEqual([false, true]);
});

it('the time of a block is up to two hours ahead', () => expect(BLOCK_TIME_AHEAD_MAX_MS).toBe(7_200_000));
