/** Frankfurter: central banks' rates, a row per currency. https://frankfurter.dev/ */
import { at, listOf, type Source, timeOf } from '../source.ts';
import { FIAT_CODES } from './fiat-codes.ts';

export const frankfurter: Source = {
  name: 'frankfurter',
  kind: 'fiat',
  base: 'https://api.frankfurter.dev',
  // without a list of currencies: one that it does not have would cost the answer
  path: '/v2/rates?base=USD',
  read(json) {
    return listOf(json).flatMap((row) => {
      const code = at(row, 'quote');
      if (at(row, 'base') !== 'USD' || typeof code !== 'string' || !FIAT_CODES.includes(code)) return [];
      return [{ code, price: at(row, 'rate'), asOf: timeOf(at(row, 'date')) }];
    });
  },
};
