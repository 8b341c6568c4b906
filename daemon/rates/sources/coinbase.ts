/**
 * Coinbase: one answer has the value of a dollar in every coin and currency, as decimal strings.
 * https://docs.cdp.coinbase.com/coinbase-app/track-apis/exchange-rates
 */
import type { Json } from '../decimal.ts';
import { at, expectText, type RawQuote, type Source } from '../source.ts';
import { FIAT_CODES } from './fiat-codes.ts';

/** Only coins that trade against dollars on Coinbase itself. */
const COINS = ['BTC', 'BCH', 'LTC', 'ETH', 'BNB', 'USDT', 'PAXG'];

const base = 'https://api.coinbase.com';
const path = '/v2/exchange-rates?currency=USD';

function quotes(json: Json, codes: readonly string[], inverse: boolean): RawQuote[] {
  expectText(at(json, 'data', 'currency'), 'USD', 'the base currency');
  return codes.map((code) => ({ code, price: at(json, 'data', 'rates', code), inverse }));
}

export const coinbase: Source = {
  name: 'coinbase',
  kind: 'coin',
  base,
  path,
  read: (json) => quotes(json, COINS, true),
};

export const coinbaseFiat: Source = {
  name: 'coinbase-fiat',
  kind: 'fiat',
  base,
  path,
  read: (json) => quotes(json, FIAT_CODES, false),
};
