/**
 * A rate source: one request, and a function that reads its answer. A source's file says where in the answer the prices
 * are. The checks of a price are here, once for all sources.
 *
 * Invariant: a quote is positive and plausible. A missing or wrong price affects only its own code.
 */
import { inverseDown, type Json, priceDown } from './decimal.ts';
import { type GetOptions, getJson, SourceFailure } from './http.ts';

/** `coin`: prices of coins, in USD or USDT per coin. `fiat`: units of other currencies per US dollar. */
type SourceKind = 'coin' | 'fiat';

/** A price as it is in the answer; undefined if the answer does not have it. */
export type RawQuote = {
  /** A price symbol (`BTC`) or a fiat code (`EUR`). */
  code: string;
  price: unknown;
  /** True if the source states the inverse of the price. */
  inverse?: boolean;
  /** The currency of the price, if it is not US dollars. */
  quotedIn?: 'USDT';
  /** The time of the price by the source, milliseconds since 1970. */
  asOf?: number | undefined;
};

/** `scaled`: 1e-8 of the quote currency per coin, or 1e-8 units of the fiat currency per dollar. */
export type Quote = { code: string; scaled: bigint; quotedIn: 'USD' | 'USDT'; asOf?: number };

export type Source = {
  name: string;
  kind: SourceKind;
  /** Scheme and host. A mirror or a test replaces them. */
  base: string;
  path: string;
  /** Of a source that refuses the whole question for one code that it does not have: how to ask for some codes only. */
  choice?: { codes: readonly string[]; path(codes: readonly string[]): string };
  /** Finds the prices. Throws `SourceFailure` on an error answer and on an unexpected shape. */
  read(json: Json): RawQuote[];
};

export type Reading = {
  quotes: Quote[];
  /** Codes whose price was present but unusable. */
  refused: string[];
};

/** The value at a path of keys and indices; undefined if there is none. */
export function at(json: Json | undefined, ...path: (string | number)[]): Json | undefined {
  let here: Json | undefined = json;
  for (const key of path) {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, key)) return undefined;
    here = (here as Record<string | number, Json>)[key];
  }
  return here;
}

/** The items of an array; throws if the answer is none. */
export function listOf(json: Json | undefined): Json[] {
  if (!Array.isArray(json)) throw new SourceFailure('the answer has another shape');
  return json;
}

/** Throws if a field that defines the meaning of the answer (base currency, success code) is not as documented. */
export function expectText(json: Json | undefined, expected: string, what: string): void {
  if (json !== expected) throw new SourceFailure(`${what} is not ${expected}`);
}

/** Milliseconds since 1970 from a date or a number of seconds as text; undefined if it is neither. */
export function timeOf(json: Json | undefined): number | undefined {
  if (typeof json !== 'string') return undefined;
  const ms = /^\d{9,11}$/.test(json) ? Number(json) * 1000 : Date.parse(json);
  return Number.isFinite(ms) ? ms : undefined;
}

/** Checks the first price that a source states for each code. Throws `SourceFailure` if none is usable. */
function readQuotes(source: Source, json: Json): Reading {
  const quotes: Quote[] = [];
  const refused: string[] = [];
  const stated = new Set<string>();
  for (const { code, price, inverse, quotedIn, asOf } of source.read(json)) {
    if (price === undefined || stated.has(code)) continue;
    stated.add(code);
    const scaled = inverse ? inverseDown(price) : priceDown(price);
    if (scaled === null) refused.push(code);
    else quotes.push({ code, scaled, quotedIn: quotedIn ?? 'USD', ...(asOf === undefined ? {} : { asOf }) });
  }
  if (quotes.length === 0) throw new SourceFailure('no usable price in the answer');
  return { quotes, refused };
}

/** Makes one request. Throws `SourceFailure`. */
export async function fetchQuotes(source: Source, options: GetOptions): Promise<Reading> {
  return readQuotes(source, await getJson(source.base + source.path, options));
}
