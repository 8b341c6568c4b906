/** Worth in the currency of the business, at today's rates. */
import type { Result } from '../bridge.ts';
import { useCall } from '../data.tsx';
import { type Business, useBusiness } from '../frame/business.tsx';
import { useLanguage } from '../i18n.ts';
import { exampleOf } from './currencies.ts';
import { cut, fiat, scaled, unscaled } from './format.ts';

const CENTS = 2;
const ONE = 10n ** 18n;
const READ_EVERY_MS = 60_000;
/** Of a business that chose none. */
const USUAL = 'USD';

/** The currency of the business that is shown. */
export const useCurrency = (): string => useBusiness()?.brand.currency ?? USUAL;

/** A currency's units for a dollar; null: the service has no rate. */
export function perDollar(
  { currencies }: Result<'rates.list'>,
  network: string | undefined,
  currency: string,
): string | null {
  if (currency === 'USD') return '1';
  return currencies.find((one) => one.network === network && one.currency === currency)?.per_dollar ?? null;
}

/** `text`: as it is shown. */
export type Price = { amount: string; currency: string; text: string };

/** A price to try things with: a round amount of the business's currency, worth about 25 dollars. */
export function useExample(business: Business | undefined): Price {
  const rates = useCall('rates.list', {}).data;
  const language = useLanguage();
  const currency = business?.brand.currency ?? USUAL;
  const rate = rates ? perDollar(rates, business?.network, currency) : null;
  const amount = exampleOf(rate === null ? null : scaled(rate));
  return { amount, currency, text: fiat(amount, currency, language) };
}

export type Money = {
  currency: string;
  /** The service was asked for its rates. Before that no amount is without a rate. */
  isRead: boolean;
  /** Cut to cents; null if no rate is known. */
  worth(crypto: string, amount: string): string | null;
  fromUsd(usd: string): string | null;
  /** A sum of dollars as text in the currency, or in dollars where no rate is known. */
  textOfUsd(usd: string): string;
};

export function useMoney(): Money {
  const language = useLanguage();
  const currency = useCurrency();
  const business = useBusiness();
  const { data, error } = useCall('rates.list', {}, { every: READ_EVERY_MS });
  const rates = data?.rates.filter(({ network }) => network === business?.network) ?? [];
  const times = (amount: string, rate: bigint): string => cut(unscaled((scaled(amount) * rate) / ONE), CENTS);
  const fromUsd = (usd: string): string | null => {
    const rate = data ? perDollar(data, business?.network, currency) : null;
    return rate === null ? null : times(usd, scaled(rate));
  };
  return {
    currency,
    isRead: data !== undefined || error !== null,
    worth: (crypto, amount) => {
      const rate = rates.find((one) => one.crypto === crypto)?.usd ?? null;
      // cut to cents after both steps, not between them
      return rate === null ? null : fromUsd(unscaled((scaled(amount) * scaled(rate)) / ONE));
    },
    fromUsd,
    textOfUsd: (usd) => {
      const own = fromUsd(usd);
      return own === null ? fiat(usd, 'USD', language) : fiat(own, currency, language);
    },
  };
}
