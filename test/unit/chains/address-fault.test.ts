/** The words that say why an address cannot be paid. */
import { expect, it } from 'vitest';
import { addressFault } from '../../../daemon/chains/address-fault.ts';
import { EvmAdapter } from '../../../daemon/chains/evm/adapter.ts';
import * as evm from '../../../daemon/chains/evm/address.ts';
import * as utxo from '../../../daemon/chains/utxo/address.ts';
import { assetOf, type ChainId, type Network } from '../../../daemon/domain/assets.ts';
import * as xmr from '../../../daemon/monero/address.ts';
import { FactBook } from '../../adapters/fact-book.ts';

const CHECKSUM = 'its checksum is wrong, so a character was mistyped, or its end is missing';
const NONE = 'it is no address of this network';
const SEGWIT = 'bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq';
const LEGACY = '1BoatSLRHtKNngkdXEeobR76b53LETtpyT';
const CASH = 'bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a';
const MONERO = '44AFFq5kSiGBoZ4NMDwYtN18obc8AemS33DBLWs3H7otXft3XjrpDtQGv7SqSsaBYBb98uNbr2VBBEt7f2wfn3RVGQBEP3A';
const VITALIK = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';

function faultOf(text: string, chain: ChainId, network: Network = 'mainnet'): string | null {
  const isValidAddress = (one: string): boolean => {
    if (chain === 'XMR') return xmr.isValidAddress(one, network);
    return chain === 'ETH' || chain === 'BSC' ? evm.isValidAddress(one) : utxo.isValidAddress(one, chain, network);
  };
  return addressFault({ chain, network, isValidAddress } as Parameters<typeof addressFault>[0], text);
}
/** With another last character. */
const mistyped = (text: string): string => text.slice(0, -1) + (text.endsWith('q') ? 'p' : 'q');

it.each<[text: string, chain: ChainId, fault: string | null]>([
  [SEGWIT, 'BTC', null],
  [mistyped(SEGWIT), 'BTC', CHECKSUM],
  [SEGWIT.slice(0, -2), 'BTC', CHECKSUM],
  [mistyped(LEGACY), 'BTC', CHECKSUM],
  [SEGWIT, 'LTC', 'it is an address of Bitcoin on mainnet'],
  [LEGACY, 'BCH', 'it is an address of Bitcoin on mainnet'],
  ['tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx', 'BTC', 'it is an address on testnet, not on mainnet'],
  ['ltcmweb1qqv8hnnt6vl4qd0x9t2jt2zqdt', 'LTC', 'it is an address of MWEB, which cannot be paid from here'],
  [CASH, 'BCH', null],
  [CASH, 'BTC', 'it is an address of Bitcoin Cash on mainnet'],
  [mistyped(CASH), 'BCH', CHECKSUM],
  [MONERO, 'XMR', null],
  [mistyped(MONERO), 'XMR', CHECKSUM],
  [MONERO, 'ETH', 'it is an address of Monero on mainnet'],
  [VITALIK, 'ETH', null],
  [VITALIK.replace('d8dA', 'D8dA'), 'ETH', CHECKSUM],
  [VITALIK, 'BTC', 'it is an address of Ethereum and BNB Smart Chain'],
  ['x', 'BTC', NONE],
  ['', 'XMR', NONE],
  ['1'.repeat(100_000), 'BTC', NONE],
  [VITALIK.slice(0, -1), 'ETH', NONE],
])('says of %.50s for %s: %s', (text, chain, fault) => {
  expect(faultOf(text, chain)).toBe(fault);
});

it('refuses the places on account chains where money is lost: tokens’ own contracts, and addresses without a key', async () => {
  const adapter = new EvmAdapter({
    chain: 'ETH',
    network: 'mainnet',
    urls: ['http://127.0.0.1:9'],
    contracts: {},
    list: new FactBook(),
    needsAgreement: () => false,
    alert: () => {},
    log: () => {},
    wantsFinality: false,
  });
  const { contract = '' } = assetOf('USDT_ERC20');
  expect(addressFault(adapter, contract)).toBe(
    'it is the contract of USDT_ERC20 itself, where the money would be lost',
  );
  expect(addressFault(adapter, contract.toLowerCase())).toMatch(/^it is the contract of USDT_ERC20/);
  for (const place of ['0', '1', 'ffff']) {
    expect(addressFault(adapter, `0x${place.padStart(40, '0')}`)).toMatch(/^nobody has its key/);
  }
  expect(addressFault(adapter, `0x${'10000'.padStart(40, '0')}`)).toBeNull();
  expect(addressFault(adapter, VITALIK)).toBeNull();
  await adapter.close();
});
