/**
 * KuCoin: prices of chosen coins in dollars. Its price of USDT is not used: an exchange that trades in USDT is no
 * independent source for it. https://www.kucoin.com/docs-new/rest/spot-trading/market-data/get-fiat-price
 */
import { at, expectText, type Source } from '../source.ts';

const COINS = ['BTC', 'BCH', 'LTC', 'XMR', 'ETH', 'BNB', 'XAUT', 'PAXG'];

export const kucoin: Source = {
  name: 'kucoin',
  kind: 'coin',
  base: 'https://api.kucoin.com',
  path: `/api/v1/prices?base=USD&currencies=${COINS.join(',')}`,
  read(json) {
    expectText(at(json, 'code'), '200000', 'the result code');
    return COINS.map((code) => ({ code, price: at(json, 'data', code) }));
  },
};
