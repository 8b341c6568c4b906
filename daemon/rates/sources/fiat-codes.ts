/** The currencies that a fiat source is asked for: all that price an invoice, but the dollar itself. */
import { FIAT } from '../../domain/currencies.ts';

export const FIAT_CODES: readonly string[] = Object.keys(FIAT).filter((code) => code !== 'USD');
