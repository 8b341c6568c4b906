/** VAT rates: hundredths of a percent for the service, percent for people. */
import type { Language } from '../../i18n.ts';

const PERCENT = 100;
const RATE = /^(\d{1,2})(?:[.,](\d{1,2}))?$/;

/** Null for an empty text, undefined for one that is no rate below 100 %. */
export function rateOf(percent: string): number | null | undefined {
  if (percent.trim() === '') return null;
  const [, whole, part = ''] = RATE.exec(percent.trim()) ?? [];
  return whole === undefined ? undefined : Number(whole) * PERCENT + Number(part.padEnd(2, '0'));
}

export const percentOf = (rate: number | null, language: Language): string =>
  rate === null ? '–' : `${(rate / PERCENT).toLocaleString(language)} %`;
