/** Worth in the currency of the business, at today's rates. */
import { useCall } from '../data.tsx';
import { type Business, useBusiness } from '../frame/business.tsx';
import { useLanguage } from '../i18n.ts';
import { exampleOf } from './currencies.ts';
import { fiat, scaled } from './format.ts';
import { type Money, moneyOf, perDollar } from './worth.ts';

const READ_EVERY_MS = 60_000;
/** Of a business that chose none. */
const USUAL = 'USD';
/** Of the items of such a business, whatever rates there are now. */
export const TILL_CURRENCY = 'EUR';

export const ownCurrency = (business: Business | null): string => business?.brand.currency ?? USUAL;

/** The currency of the business that is shown; while none is read, of one that chose none. */
export const useCurrency = (): string => ownCurrency(useBusiness());

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

export type { Money } from './worth.ts';

export function useMoney(): Money {
  const language = useLanguage();
  const currency = useCurrency();
  const network = useBusiness()?.network;
  const { data, error } = useCall('rates.list', {}, { every: READ_EVERY_MS });
  const read = { listed: data, isRead: data !== undefined || error !== null };
  return moneyOf(read, { network, currency }, language);
}
