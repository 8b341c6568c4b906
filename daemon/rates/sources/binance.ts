/**
 * Binance: last price in USDT, used only after a correction by the price of USDT in dollars. This host serves market
 * data alone and is reachable from everywhere. A pair whose trading is halted is left out of the answer, or its last price would pass for a
 * present one.
 * https://developers.binance.com/docs/binance-spot-api-docs/rest-api/market-data-endpoints#symbol-price-ticker
 */
import { Refused } from '../http.ts';
import { at, listOf, type Source } from '../source.ts';

const COINS = ['BTC', 'BCH', 'LTC', 'ETH', 'BNB', 'PAXG'];
const CODES = new Map(COINS.map((code) => [`${code}USDT`, code]));

const pathOf = (codes: readonly string[]): string =>
  `/api/v3/ticker/price?symbols=${encodeURIComponent(JSON.stringify(codes.map((code) => `${code}USDT`)))}&symbolStatus=TRADING`;

export const binance: Source = {
  name: 'binance',
  kind: 'coin',
  base: 'https://data-api.binance.vision',
  path: pathOf(COINS),
  choice: { codes: COINS, path: pathOf },
  read(json) {
    const list = listOf(json);
    if (list.length === 0) throw new Refused('no usable price in the answer: none of the pairs is traded now');
    return list.flatMap((item) => {
      const symbol = at(item, 'symbol');
      const code = typeof symbol === 'string' ? CODES.get(symbol) : undefined;
      return code ? [{ code, price: at(item, 'price'), quotedIn: 'USDT' as const }] : [];
    });
  },
};
