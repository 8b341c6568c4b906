/** Frankfurter: central banks' rates, a row per currency. https://frankfurter.dev/ */
import { at, listOf, type Source, timeOf } from '../source.ts';
import { FIAT_CODES } from './fiat-codes.ts';

export const frankfurter: Source = {
  name: 'frankfurter',
  kind: 'fiat',
  base: 'https://api.frankfurter.dev',
  // no list of currencies: a single unknown one would make the whole request fail
  path: '/v2/rates?base=USD',
  read(json) {
    return listOf(json).flatMap((row) => {
      const code = at(row, 'quote');
      if (at(row, 'base') !== 'USD' || typeof code !== 'string' || !FIAT_CODES.includes(code)) return [];
      return [{ code, price: at(row, 'rate'), asOf: timeOf(at(row, 'date')) }];
    });
  },
};
