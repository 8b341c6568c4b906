/** Worth in the currency that this browser shows: dollars, euros or pounds, at today's rates. */
import { useState } from 'react';
import type { Result } from '../bridge.ts';
import { useCall } from '../data.tsx';
import { useBusiness } from '../frame/business.tsx';
import { useLanguage } from '../i18n.ts';
import { cut, fiat, isZero, scaled, unscaled } from './format.ts';

export const CURRENCIES = ['USD', 'EUR', 'GBP'] as const;
export type Currency = (typeof CURRENCIES)[number];

const STORED = 'countinghouse-currency';
const CENTS = 2;
const FIAT_DECIMALS = 8;
const ONE = 10n ** 18n;
const READ_EVERY_MS = 60_000;

/** The currency that was chosen in this browser, else that of most who speak its language. */
export function useCurrency(): [Currency, (currency: Currency) => void] {
  const usual = useLanguage() === 'de' ? 'EUR' : 'USD';
  const [chosen, set] = useState<Currency | null>(() => {
    const stored = localStorage.getItem(STORED) as Currency;
    return CURRENCIES.includes(stored) ? stored : null;
  });
  const store = (wanted: Currency): void => {
    localStorage.setItem(STORED, wanted);
    set(wanted);
  };
  return [chosen ?? usual, store];
}

/** A currency's units for a dollar, cut to eight decimals; null: the service has no rate. */
export function perDollar(rates: Result<'rates.list'>['rates'], currency: Currency): string | null {
  if (currency === 'USD') return '1';
  const key = currency.toLowerCase() as 'eur' | 'gbp';
  const known = rates.find((one) => one.usd !== null && one[key] !== null && !isZero(one.usd));
  return known ? cut(unscaled((scaled(known[key]!) * ONE) / scaled(known.usd!)), FIAT_DECIMALS) : null;
}

export type Money = {
  currency: Currency;
  /** Cut to cents; null if no rate is known. */
  worth(crypto: string, amount: string): string | null;
  fromUsd(usd: string): string | null;
  /** A sum of dollars as text in the currency, or in dollars where no rate is known. */
  textOfUsd(usd: string): string;
};

export function useMoney(): Money {
  const language = useLanguage();
  const [currency] = useCurrency();
  const business = useBusiness();
  const { data } = useCall('rates.list', {}, { every: READ_EVERY_MS });
  const rates = data?.rates.filter(({ network }) => network === business?.network) ?? [];
  const key = currency.toLowerCase() as 'usd' | 'eur' | 'gbp';
  const times = (amount: string, rate: bigint): string => cut(unscaled((scaled(amount) * rate) / ONE), CENTS);
  const fromUsd = (usd: string): string | null => {
    const rate = perDollar(rates, currency);
    return rate === null ? null : times(usd, scaled(rate));
  };
  return {
    currency,
    worth: (crypto, amount) => {
      const rate = rates.find((one) => one.crypto === crypto)?.[key] ?? null;
      return rate === null ? null : times(amount, scaled(rate));
    },
    fromUsd,
    textOfUsd: (usd) => {
      const own = fromUsd(usd);
      return own === null ? fiat(usd, 'USD', language) : fiat(own, currency, language);
    },
  };
}
