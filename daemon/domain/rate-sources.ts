/** The names of the live price sources, by what they quote. */
export const COIN_SOURCES = [
  'kraken',
  'coinbase',
  'bitstamp',
  'coingecko',
  'binance',
  'bitfinex',
  'gemini',
  'kucoin',
] as const;
export const FIAT_SOURCES = ['coinbase-fiat', 'er-api', 'currency-api', 'frankfurter', 'floatrates'] as const;
