/** The table of sources. To add one: a file in this folder and a row here. */
import type { Source } from '../source.ts';
import { binance } from './binance.ts';
import { bitfinex } from './bitfinex.ts';
import { bitstamp } from './bitstamp.ts';
import { coinbase, coinbaseFiat } from './coinbase.ts';
import { coingecko } from './coingecko.ts';
import { currencyApi } from './currency-api.ts';
import { erApi } from './er-api.ts';
import { floatrates } from './floatrates.ts';
import { frankfurter } from './frankfurter.ts';
import { gemini } from './gemini.ts';
import { kraken } from './kraken.ts';
import { kucoin } from './kucoin.ts';

export const SOURCES: readonly Source[] = [
  kraken,
  coinbase,
  bitstamp,
  coingecko,
  binance,
  bitfinex,
  gemini,
  kucoin,
  coinbaseFiat,
  erApi,
  currencyApi,
  frankfurter,
  floatrates,
];

/**
 * The sources with these names; by default all, and none for an empty list. If the list names no source of a kind
 * (coins, fiat), that kind stays complete: `["kraken", "coinbase"]` chooses exchanges and keeps the fiat sources.
 * `bases` replaces scheme and host by name, for a mirror. The configuration checks the names, and that two can agree.
 */
export function chooseSources(names?: readonly string[], bases: Readonly<Record<string, string>> = {}): Source[] {
  if (names?.length === 0) return [];
  const named = (source: Source): boolean => names?.includes(source.name) ?? true;
  const chosen = SOURCES.filter((source) => {
    return named(source) || !SOURCES.some((other) => other.kind === source.kind && named(other));
  });
  return chosen.map((source) => ({ ...source, base: bases[source.name] ?? source.base }));
}
