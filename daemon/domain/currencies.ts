/**
 * The fiat currencies that can price an invoice: those of ISO 4217 in use as money (no funds, metals or test codes)
 * that at least two fiat sources quote.
 */

/** ISO 4217 gives two or more decimals; an amount of an invoice has at most two. */
const TWO_DECIMALS = `
  AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC
  CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR
  JMD JOD KES KGS KHR KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN
  NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP
  STN SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH USD UYU UZS VES WST XCD XCG YER ZAR ZMW
`;

/** ISO 4217 gives no decimals. */
const NO_DECIMALS = 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF';

const codes = (text: string): string[] => text.trim().split(/\s+/);

/** Decimals of an invoice's amount, by currency. */
export const FIAT: Readonly<Record<string, number>> = Object.fromEntries(
  [
    ...codes(TWO_DECIMALS).map((code) => [code, 2] as const),
    ...codes(NO_DECIMALS).map((code) => [code, 0] as const),
  ].sort(([a], [b]) => (a < b ? -1 : 1)),
);

/**
 * The decimals with which an amount must be written that is not whole, for `Intl.NumberFormat`: some currencies are
 * usually written without, and 12.40 forint are not 12.
 */
export function inFull(amount: string, currency: string): { minimumFractionDigits?: number } {
  const decimals = FIAT[currency] ?? 0;
  const part = (amount.split('.')[1] ?? '').slice(0, decimals);
  return /[1-9]/.test(part) ? { minimumFractionDigits: decimals } : {};
}
