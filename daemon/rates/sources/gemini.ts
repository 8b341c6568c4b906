/** Gemini: the price of every pair in one list. https://docs.gemini.com/rest/market-data#list-prices */
import { at, listOf, type Source } from '../source.ts';

/** Whole pair names: "PAXGUSD" also ends in "GUSD", Gemini's own dollar. */
const CODES = new Map(['BTC', 'BCH', 'LTC', 'ETH', 'PAXG'].map((code) => [`${code}USD`, code]));

export const gemini: Source = {
  name: 'gemini',
  kind: 'coin',
  base: 'https://api.gemini.com',
  path: '/v1/pricefeed',
  read(json) {
    return listOf(json).flatMap((item) => {
      const pair = at(item, 'pair');
      const code = typeof pair === 'string' ? CODES.get(pair) : undefined;
      return code ? [{ code, price: at(item, 'price') }] : [];
    });
  },
};
