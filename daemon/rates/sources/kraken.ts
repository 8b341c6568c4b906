/** Kraken: last trade (`c[0]`) against USD. https://docs.kraken.com/api-reference/market-data/get-ticker-information */
import { Refused, SourceFailure } from '../http.ts';
import { at, type Source } from '../source.ts';

/** Requested by the short name; older pairs answer under the long one. */
const PAIRS: [code: string, pair: string, legacy?: string][] = [
  ['BTC', 'XBTUSD', 'XXBTZUSD'],
  ['BCH', 'BCHUSD'],
  ['LTC', 'LTCUSD', 'XLTCZUSD'],
  ['XMR', 'XMRUSD', 'XXMRZUSD'],
  ['ETH', 'ETHUSD', 'XETHZUSD'],
  ['BNB', 'BNBUSD'],
  ['USDT', 'USDTUSD', 'USDTZUSD'],
  ['PAXG', 'PAXGUSD'],
];

const CODES = PAIRS.map(([code]) => code);
const UNKNOWN_PAIR = 'EQuery:Unknown asset pair';

const pathOf = (codes: readonly string[]): string =>
  `/0/public/Ticker?pair=${PAIRS.flatMap(([code, pair]) => (codes.includes(code) ? [pair] : [])).join(',')}`;

export const kraken: Source = {
  name: 'kraken',
  kind: 'coin',
  base: 'https://api.kraken.com',
  path: pathOf(CODES),
  choice: { codes: CODES, path: pathOf },
  read(json) {
    const errors = at(json, 'error');
    if (Array.isArray(errors) && errors.includes(UNKNOWN_PAIR))
      throw new Refused('the exchange reports an error: an unknown pair');
    if (!Array.isArray(errors) || errors.length > 0) throw new SourceFailure('the exchange reports an error');
    return PAIRS.map(([code, pair, legacy]) => ({
      code,
      price: at(json, 'result', pair, 'c', 0) ?? at(json, 'result', legacy ?? pair, 'c', 0),
    }));
  },
};
