/** The currencies that a fiat source is asked for: all that can price an invoice, except the dollar. */
import { FIAT } from '../../domain/currencies.ts';

export const FIAT_CODES: readonly string[] = Object.keys(FIAT).filter((code) => code !== 'USD');
