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

/** How a price source wants to be named where its prices are shown: its own words, and where they lead. */
export type Credit = { text: string; url: string };

/**
 * The sources whose terms ask for it. The others ask for nothing, or publish no terms of their public prices.
 * https://brand.coingecko.com/resources/attribution-guide and https://www.exchangerate-api.com/docs/free
 */
export const CREDITS: Readonly<Partial<Record<string, Credit>>> = {
  coingecko: { text: 'Price data by CoinGecko', url: 'https://www.coingecko.com' },
  'er-api': { text: 'Rates By Exchange Rate API', url: 'https://www.exchangerate-api.com' },
};
