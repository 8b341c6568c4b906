/**
 * What a rate source is: one request, and how to read its answer. A source's file says where its prices stand; what
 * makes a price usable is checked here, once, for all of them.
 *
 * Invariant: a quote is positive and plausible. A price that is missing or wrong costs only its own code, never the
 * source's others.
 */
import { inverseDown, type Json, priceDown } from './decimal.ts';
import { type GetOptions, getJson, SourceFailure } from './http.ts';

/** `coin`: prices of coins, in USD or USDT per coin. `fiat`: units of other currencies per US dollar. */
export type SourceKind = 'coin' | 'fiat';

/** A price as it stands in the answer; `undefined` when the answer does not have it. */
export type RawQuote = {
  /** A price symbol (`BTC`) or a fiat code (`EUR`). */
  code: string;
  price: unknown;
  /** The source states one divided by the price. */
  inverse?: boolean;
  /** What the price counts, when it is not real US dollars. */
  quotedIn?: 'USDT';
  /** When the source says that the price held, milliseconds since 1970. */
  asOf?: number | undefined;
};

/** `scaled`: 1e-8 of what it is quoted in per coin, or of the currency per dollar. */
export type Quote = { code: string; scaled: bigint; quotedIn: 'USD' | 'USDT'; asOf?: number };

export type Source = {
  name: string;
  kind: SourceKind;
  /** Scheme and host: the part that a mirror or a test replaces. */
  base: string;
  path: string;
  /** Finds the prices. Throws `SourceFailure` when the answer says that it is an error or has another shape. */
  read(json: Json): RawQuote[];
};

export type Reading = {
  quotes: Quote[];
  /** Codes whose price was there and unusable. */
  refused: string[];
};

/** The value at a path of keys and indices, undefined where there is none. */
export function at(json: Json | undefined, ...path: (string | number)[]): Json | undefined {
  let here: Json | undefined = json;
  for (const key of path) {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, key)) return undefined;
    here = (here as Record<string | number, Json>)[key];
  }
  return here;
}

/** The items of an array that the answer must be, or have. */
export function listOf(json: Json | undefined): Json[] {
  if (!Array.isArray(json)) throw new SourceFailure('the answer has another shape');
  return json;
}

/** Refuses an answer in which a field that tells its meaning (base currency, success code) is not as documented. */
export function expectText(json: Json | undefined, expected: string, what: string): void {
  if (json !== expected) throw new SourceFailure(`${what} is not ${expected}`);
}

/** Milliseconds since 1970 of a text that counts seconds, or is a date; undefined when it is neither. */
export function timeOf(json: Json | undefined): number | undefined {
  if (typeof json !== 'string') return undefined;
  const ms = /^\d{9,11}$/.test(json) ? Number(json) * 1000 : Date.parse(json);
  return Number.isFinite(ms) ? ms : undefined;
}

/** Checks every price that a source found. Throws `SourceFailure` when none is usable. */
export function readQuotes(source: Source, json: Json): Reading {
  const quotes: Quote[] = [];
  const refused: string[] = [];
  for (const { code, price, inverse, quotedIn, asOf } of source.read(json)) {
    if (price === undefined) continue;
    const scaled = inverse ? inverseDown(price) : priceDown(price);
    if (scaled === null) refused.push(code);
    else quotes.push({ code, scaled, quotedIn: quotedIn ?? 'USD', ...(asOf === undefined ? {} : { asOf }) });
  }
  if (quotes.length === 0) throw new SourceFailure('no usable price in the answer');
  return { quotes, refused };
}

/** One request to the source. Throws `SourceFailure`. */
export async function fetchQuotes(source: Source, options: GetOptions): Promise<Reading> {
  return readQuotes(source, await getJson(source.base + source.path, options));
}
