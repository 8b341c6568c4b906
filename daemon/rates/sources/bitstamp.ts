/** Bitstamp: last trade of every pair in one list. https://www.bitstamp.net/api/#tag/Tickers */
import { at, listOf, type Source, timeOf } from '../source.ts';

const CODES = new Map(['BTC', 'BCH', 'LTC', 'ETH', 'USDT', 'PAXG'].map((code) => [`${code}/USD`, code]));

export const bitstamp: Source = {
  name: 'bitstamp',
  kind: 'coin',
  base: 'https://www.bitstamp.net',
  path: '/api/v2/ticker/',
  read(json) {
    return listOf(json).flatMap((item) => {
      const pair = at(item, 'pair');
      const code = typeof pair === 'string' ? CODES.get(pair) : undefined;
      return code ? [{ code, price: at(item, 'last'), asOf: timeOf(at(item, 'timestamp')) }] : [];
    });
  },
};
