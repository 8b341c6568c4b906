/** Bitfinex: last trade against USD, arrays by position. https://docs.bitfinex.com/reference/rest-public-tickers */
import { at, listOf, type Source } from '../source.ts';

/** Bitfinex's names: UST is Tether, BCHN is Bitcoin Cash. A colon follows a symbol of more than three letters. */
const CODES = new Map([
  ['tBTCUSD', 'BTC'],
  ['tBCHN:USD', 'BCH'],
  ['tLTCUSD', 'LTC'],
  ['tXMRUSD', 'XMR'],
  ['tETHUSD', 'ETH'],
  ['tUSTUSD', 'USDT'],
  ['tXAUT:USD', 'XAUT'],
]);

const SYMBOL = 0;
const LAST_PRICE = 7;

export const bitfinex: Source = {
  name: 'bitfinex',
  kind: 'coin',
  base: 'https://api-pub.bitfinex.com',
  path: `/v2/tickers?symbols=${[...CODES.keys()].map(encodeURIComponent).join(',')}`,
  read(json) {
    return listOf(json).flatMap((item) => {
      const symbol = at(item, SYMBOL);
      const code = typeof symbol === 'string' ? CODES.get(symbol) : undefined;
      return code ? [{ code, price: at(item, LAST_PRICE) }] : [];
    });
  },
};
