/** ExchangeRate-API's open endpoint; one request an hour is welcome. https://www.exchangerate-api.com/docs/free */
import { at, expectText, type Source, timeOf } from '../source.ts';
import { FIAT_CODES } from './fiat-codes.ts';

export const erApi: Source = {
  name: 'er-api',
  kind: 'fiat',
  base: 'https://open.er-api.com',
  path: '/v6/latest/USD',
  read(json) {
    expectText(at(json, 'result'), 'success', 'the result');
    expectText(at(json, 'base_code'), 'USD', 'the base currency');
    const asOf = timeOf(at(json, 'time_last_update_unix'));
    return FIAT_CODES.map((code) => ({ code, price: at(json, 'rates', code), asOf }));
  },
};
