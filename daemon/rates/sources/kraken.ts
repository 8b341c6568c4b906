/** Kraken: last trade (`c[0]`) against USD. https://docs.kraken.com/api-reference/market-data/get-ticker-information */
import { SourceFailure } from '../http.ts';
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

export const kraken: Source = {
  name: 'kraken',
  kind: 'coin',
  base: 'https://api.kraken.com',
  path: `/0/public/Ticker?pair=${PAIRS.map(([, pair]) => pair).join(',')}`,
  read(json) {
    const errors = at(json, 'error');
    if (!Array.isArray(errors) || errors.length > 0) throw new SourceFailure('the exchange reports an error');
    return PAIRS.map(([code, pair, legacy]) => ({
      code,
      price: at(json, 'result', pair, 'c', 0) ?? at(json, 'result', legacy ?? pair, 'c', 0),
    }));
  },
};
