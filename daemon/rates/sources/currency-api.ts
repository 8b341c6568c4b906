/** Currency-api: daily, lower-case codes, published as static files. https://github.com/fawazahmed0/exchange-api */
import { at, type Source, timeOf } from '../source.ts';
import { FIAT_CODES } from './fiat-codes.ts';

export const currencyApi: Source = {
  name: 'currency-api',
  kind: 'fiat',
  base: 'https://latest.currency-api.pages.dev',
  path: '/v1/currencies/usd.min.json',
  read(json) {
    const asOf = timeOf(at(json, 'date'));
    return FIAT_CODES.map((code) => ({ code, price: at(json, 'usd', code.toLowerCase()), asOf }));
  },
};
