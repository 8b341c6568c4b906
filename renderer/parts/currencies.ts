/** The currency of a business, guessed from the region that a browser names. */

/** Of regions whose currency is not the euro or the dollar, by ISO 3166 and ISO 4217. */
const BY_REGION: Readonly<Record<string, string>> = {
  AE: 'AED',
  AR: 'ARS',
  AU: 'AUD',
  BR: 'BRL',
  CA: 'CAD',
  CH: 'CHF',
  CL: 'CLP',
  CN: 'CNY',
  CO: 'COP',
  CZ: 'CZK',
  DK: 'DKK',
  GB: 'GBP',
  GE: 'GEL',
  HK: 'HKD',
  HU: 'HUF',
  ID: 'IDR',
  IL: 'ILS',
  IN: 'INR',
  JP: 'JPY',
  KR: 'KRW',
  LI: 'CHF',
  MX: 'MXN',
  MY: 'MYR',
  NO: 'NOK',
  NZ: 'NZD',
  PE: 'PEN',
  PH: 'PHP',
  PL: 'PLN',
  RO: 'RON',
  RU: 'RUB',
  SE: 'SEK',
  SG: 'SGD',
  TH: 'THB',
  TR: 'TRY',
  TW: 'TWD',
  UA: 'UAH',
  VN: 'VND',
  ZA: 'ZAR',
};
const EURO = new Set('AT BE BG CY DE EE ES FI FR GR HR IE IT LT LU LV MT NL PT SI SK'.split(' '));
const ELSEWHERE = 'USD';

/** `language`: a BCP 47 tag such as de-CH; the usual region of the language where it names none. */
export function currencyOf(language: string): string {
  try {
    const region = new Intl.Locale(language).maximize().region ?? '';
    return EURO.has(region) ? 'EUR' : (BY_REGION[region] ?? ELSEWHERE);
  } catch {
    return ELSEWHERE;
  }
}

const LEADING = 10n;
/** The example's price where a dollar is about one unit. */
const EXAMPLE = 25n;
const ONE = 10n ** 18n;
const ALIKE_MAX = 4n;

/** A round amount worth about 25 dollars. `perDollar`: in 1e-18 units of the currency; null: unknown. */
export function exampleOf(perDollar: bigint | null): string {
  if (perDollar === null || perDollar < ALIKE_MAX * ONE) return `${EXAMPLE}`;
  const whole = (EXAMPLE * perDollar) / ONE;
  const size = LEADING ** BigInt(`${whole}`.length - 1);
  return `${((whole + size - 1n) / size) * size}`;
}
