/** The table of sources. To add one: a file in this folder and a row here. */
import { AGREEING_MIN } from '../median.ts';
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
 * `bases` replaces scheme and host by name, for a mirror. Throws an Error on an unknown name, and if a kind would have
 * fewer sources than must agree.
 */
export function chooseSources(names?: readonly string[], bases: Readonly<Record<string, string>> = {}): Source[] {
  const unknown = [...(names ?? []), ...Object.keys(bases)].find((name) => !SOURCES.some((s) => s.name === name));
  if (unknown !== undefined) {
    const known = SOURCES.map((source) => source.name).join(', ');
    throw new Error(`there is no rate source "${unknown}"; known: ${known}`);
  }
  if (names?.length === 0) return [];
  const named = (source: Source): boolean => names?.includes(source.name) ?? true;
  const chosen = SOURCES.filter((source) => {
    return named(source) || !SOURCES.some((other) => other.kind === source.kind && named(other));
  });
  for (const kind of ['coin', 'fiat'] as const) {
    if (chosen.filter((source) => source.kind === kind).length >= AGREEING_MIN) continue;
    throw new Error(`rates need at least ${AGREEING_MIN} ${kind} sources, since that many must agree`);
  }
  return chosen.map((source) => ({ ...source, base: bases[source.name] ?? source.base }));
}
