/** FloatRates: twice a day, keyed by lower-case codes. https://www.floatrates.com/json-feeds.html */
import { at, type Source, timeOf } from '../source.ts';
import { FIAT_CODES } from './fiat-codes.ts';

export const floatrates: Source = {
  name: 'floatrates',
  kind: 'fiat',
  base: 'https://www.floatrates.com',
  path: '/daily/usd.json',
  read(json) {
    return FIAT_CODES.flatMap((code) => {
      const row = at(json, code.toLowerCase());
      if (at(row, 'code') !== code) return [];
      return [{ code, price: at(row, 'rate'), asOf: timeOf(at(row, 'date')) }];
    });
  },
};
