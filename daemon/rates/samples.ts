/**
 * Rates that a sandbox business sees while no live ones are at hand, so that an integration can be tested without the
 * internet. No other network ever reads them.
 */

/** US dollars per coin, by price symbol. */
export const SAMPLE_USD: Readonly<Record<string, string>> = {
  BTC: '60000',
  BCH: '400',
  LTC: '80',
  XMR: '160',
  ETH: '3000',
  BNB: '600',
  USDT: '1',
  XAUT: '2500',
  PAXG: '2500',
};

/** Units of the currency per US dollar. */
export const SAMPLE_FIAT: Readonly<Record<string, string>> = {
  ARS: '1000',
  BRL: '5.5',
  CHF: '0.9',
  CLP: '950',
  CNY: '7.2',
  EUR: '0.92',
  GBP: '0.79',
  GEL: '2.7',
  HKD: '7.8',
  HUF: '360',
  IDR: '16000',
  ILS: '3.6',
  INR: '84',
  JPY: '150',
  KRW: '1380',
  MXN: '18.5',
  PHP: '57',
  RUB: '90',
};
