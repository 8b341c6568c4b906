/** The worth of amounts at today's rates. */
import type { Result } from '../bridge.ts';
import type { Language } from '../languages.ts';
import { cut, fiat, isZero, scaled, sum, unscaled } from './format.ts';

const CENTS = 2;
const ONE = 10n ** 18n;

/** A currency's units for a dollar; null: the service has no rate. */
export function perDollar(
  { currencies }: Result<'rates.list'>,
  network: string | undefined,
  currency: string,
): string | null {
  if (currency === 'USD') return '1';
  return currencies.find((one) => one.network === network && one.currency === currency)?.per_dollar ?? null;
}

export type Money = {
  /** In which worths are shown: that of the business, and dollars where the service has no rate of it, or does not tell it. */
  currency: string;
  /** The service was asked for its rates. Before that no amount is without a rate. */
  isRead: boolean;
  /** Cut to cents; null if no rate is known. */
  worth(crypto: string, amount: string): string | null;
  /** Null only before the rates are read. */
  fromUsd(usd: string): string | null;
  /** A sum of dollars as text. */
  textOfUsd(usd: string): string;
};

/** `isRead`: whether the service was asked; then `listed` is undefined if it did not answer. `currency`: of the business. */
export function moneyOf(
  { listed, isRead }: { listed: Result<'rates.list'> | undefined; isRead: boolean },
  business: { network: string | undefined; currency: string },
  language: Language,
): Money {
  const own = listed ? perDollar(listed, business.network, business.currency) : null;
  const rates = listed?.rates.filter(({ network }) => network === business.network) ?? [];
  const currency = isRead && own === null ? 'USD' : business.currency;
  const rateOfUsd = own === null ? (isRead ? ONE : null) : scaled(own);
  const fromUsd = (usd: string): string | null =>
    rateOfUsd === null ? null : cut(unscaled((scaled(usd) * rateOfUsd) / ONE), CENTS);
  return {
    currency,
    isRead,
    worth: (crypto, amount) => {
      const rate = rates.find((one) => one.crypto === crypto)?.usd ?? null;
      // cut to cents after both steps, not between them
      return rate === null ? null : fromUsd(unscaled((scaled(amount) * scaled(rate)) / ONE));
    },
    fromUsd,
    textOfUsd: (usd) => {
      const known = fromUsd(usd);
      return known === null ? fiat(usd, 'USD', language) : fiat(known, currency, language);
    },
  };
}

type Balance = { crypto: string; amount: string };

/** The worth of balances together. `total`: of those whose rates are known; null if none is. `whole`: all are. */
export function worthOf(balances: readonly Balance[], money: Money): { total: string | null; whole: boolean } {
  const each = balances
    .filter(({ amount }) => !isZero(amount))
    .map(({ crypto, amount }) => money.worth(crypto, amount));
  const known = each.filter((one) => one !== null);
  return { total: each.length > 0 && known.length === 0 ? null : sum(known), whole: known.length === each.length };
}
