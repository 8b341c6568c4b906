/**
 * The fiat currencies that price an invoice: those of ISO 4217 that are in use as money (no funds, metals or codes of
 * testing) and that at least two of the sources of fiat rates quote.
 */

/** With cents, or with more: an invoice's amount has two digits after the point at the most. */
const TWO_DECIMALS = `
  AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC
  CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR
  JMD JOD KES KGS KHR KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN
  NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP
  STN SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH USD UYU UZS VES WST XCD XCG YER ZAR ZMW
`;

/** Without: their minor unit is 0 in ISO 4217. */
const NO_DECIMALS = 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF';

const codes = (text: string): string[] => text.trim().split(/\s+/);

/** The digits after the point that an invoice's amount may have, by currency. */
export const FIAT: Readonly<Record<string, number>> = Object.fromEntries(
  [
    ...codes(TWO_DECIMALS).map((code) => [code, 2] as const),
    ...codes(NO_DECIMALS).map((code) => [code, 0] as const),
  ].sort(([a], [b]) => (a < b ? -1 : 1)),
);
