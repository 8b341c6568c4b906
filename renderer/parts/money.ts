/** Worth in the currency that this browser shows: dollars, euros or pounds, at today's rates. */
import { useState } from 'react';
import { useCall } from '../data.tsx';
import { useBusiness } from '../frame/business.tsx';
import { cut, scaled, unscaled } from './format.ts';

export const CURRENCIES = ['USD', 'EUR', 'GBP'] as const;
export type Currency = (typeof CURRENCIES)[number];

const STORED = 'countinghouse-currency';
const CENTS = 2;
const ONE = 10n ** 18n;
const READ_EVERY_MS = 60_000;

export function useCurrency(): [Currency, (currency: Currency) => void] {
  const [currency, set] = useState<Currency>(() => {
    const stored = localStorage.getItem(STORED) as Currency;
    return CURRENCIES.includes(stored) ? stored : 'USD';
  });
  const store = (wanted: Currency): void => {
    localStorage.setItem(STORED, wanted);
    set(wanted);
  };
  return [currency, store];
}

export type Money = {
  currency: Currency;
  /** Cut to cents; null if no rate is known. */
  worth(crypto: string, amount: string): string | null;
  fromUsd(usd: string): string | null;
};

export function useMoney(): Money {
  const [currency] = useCurrency();
  const business = useBusiness();
  const { data } = useCall('rates.list', {}, { every: READ_EVERY_MS });
  const rates = data?.rates.filter(({ network }) => network === business?.network) ?? [];
  const key = currency.toLowerCase() as 'usd' | 'eur' | 'gbp';
  const times = (amount: string, rate: bigint): string => cut(unscaled((scaled(amount) * rate) / ONE), CENTS);
  const perDollar = (): bigint | null => {
    if (currency === 'USD') return ONE;
    const known = rates.find((one) => one.usd !== null && one[key] !== null);
    return known ? (scaled(known[key]!) * ONE) / scaled(known.usd!) : null;
  };
  return {
    currency,
    worth: (crypto, amount) => {
      const rate = rates.find((one) => one.crypto === crypto)?.[key] ?? null;
      return rate === null ? null : times(amount, scaled(rate));
    },
    fromUsd: (usd) => {
      const rate = perDollar();
      return rate === null ? null : times(usd, rate);
    },
  };
}
