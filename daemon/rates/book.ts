/**
 * The current and past rates. Sources' quotes are recorded here. A rate is a median that at least two sources agree on;
 * while it is valid, the last such median; otherwise there is none for that asset.
 *
 * Invariant: lookups are synchronous and depend only on the recorded quotes and the given time. Every rounding goes
 * down, so that a payer sends at least the exact amount.
 */

import { ASSETS, type AssetId, assetOf, type Network } from '../domain/assets.ts';
import { FIAT } from '../domain/currencies.ts';
import { Unavailable } from '../domain/errors.ts';
import { FIAT_DECIMALS, formatDecimal, parseDecimal, type Rate, SHOWN_FIAT } from '../domain/money.ts';
import { CREDITS, type Credit } from '../domain/rate-sources.ts';
import { MS_PER_DAY, MS_PER_HOUR } from '../domain/time.ts';
import { FixedRates, type ManualRates } from './fixed.ts';
import { type RateHistory, type RateTable, RateTimeline, type Snapshot } from './history.ts';
import { agreedMedian } from './median.ts';
import { OtherClocks } from './other-clocks.ts';
import type { Quote, Source } from './source.ts';

/** How long a coin's quote counts for the median, by the source's own time if it states one. */
const COIN_QUOTE_AGE_MAX_MS = 10 * 60_000;
/** Fiat sources are asked hourly and publish daily, except on weekends and holidays. */
const FIAT_QUOTE_AGE_MAX_MS = 3 * MS_PER_HOUR;
const FIAT_DATA_AGE_MAX_MS = 7 * MS_PER_DAY;
/** How long the last good rate stays valid. */
const COIN_HOLDS_MS = 15 * 60_000;
const FIAT_HOLDS_MS = 72 * MS_PER_HOUR;
/** A rate from further in the future than this was found before the clock was set back, and does not count. */
const CLOCK_JITTER_MAX_MS = 60_000;
/** Rounds that follow the last snapshot sooner than this make none, which bounds the number of snapshots. */
const SNAPSHOT_GAP_MIN_MS = 4 * 60_000;
/** When to ask again after `Unavailable`. */
const RETRY_AFTER_SECONDS = 60;

const ONE = 10n ** BigInt(FIAT_DECIMALS);
const SPREAD_DECIMALS = 4;
const SPREAD_MAX_PERCENT = 50n;
const HUNDRED_PERCENT = 100n * 10n ** BigInt(SPREAD_DECIMALS);
/** From this many units, a shown rate has 2 decimals; below, 6. */
const SHOWN_COARSE_FROM = 100n * ONE;

export type RatesConfig = {
  /** How far a payment's rate is below the market, in percent as a decimal: 0 to 50. Default "0". */
  spreadPercent?: string;
  manual?: ManualRates;
};

/** The fiat values of one coin, as clients see them: decimal strings, rounded down. */
type ShownRates = { usd: string; eur: string; gbp: string };

type Price = { scaled: bigint; at: number };
type Live = (table: RateTable, code: string, limitMs: number) => Price | null;
type Recorded = { kind: Source['kind']; at: number; quotes: readonly Quote[] };

const COINS = [...new Set(ASSETS.map((asset) => asset.priceSymbol))];
const TETHER = 'USDT';

/** The rate. Throws `Unavailable` if it is null. */
export function available(rate: Rate | null, asset: AssetId): Rate {
  if (!rate) throw new Unavailable(`No exchange rate for ${asset} at the moment`, RETRY_AFTER_SECONDS);
  return rate;
}

function spreadOf(text: string): bigint {
  const spread = parseDecimal(text, SPREAD_DECIMALS);
  if (spread === null || spread > SPREAD_MAX_PERCENT * 10n ** BigInt(SPREAD_DECIMALS)) {
    throw new Error(`rates.spread_percent must be a decimal from 0 to ${SPREAD_MAX_PERCENT}`);
  }
  return spread;
}

const fixedAt = (scaled: bigint | undefined, at: number): Price | null =>
  scaled === undefined ? null : { scaled, at };

const multiplyDown = (a: bigint, b: bigint): bigint => (a * b) / ONE;

const holds = (held: Price, now: number, limitMs: number): boolean =>
  now - held.at <= limitMs && held.at - now <= CLOCK_JITTER_MAX_MS;

function showDown(scaled: bigint): string {
  const decimals = scaled >= SHOWN_COARSE_FROM ? 2 : 6;
  return formatDecimal(scaled / 10n ** BigInt(FIAT_DECIMALS - decimals), decimals);
}

export class RateBook {
  readonly #spread: bigint;
  readonly #fixed: FixedRates;
  readonly #history: RateHistory | undefined;
  readonly #timeline: RateTimeline;
  readonly otherClocks = new OtherClocks();
  readonly #recorded = new Map<string, Recorded>();
  readonly #held: Record<RateTable, Map<string, Price>> = { usd: new Map(), fiat: new Map() };

  /** Loads the last good rates of `history`, each with its age. Throws an Error on a wrong configuration. */
  constructor(config: RatesConfig, history?: RateHistory) {
    this.#spread = spreadOf(config.spreadPercent ?? '0');
    this.#fixed = new FixedRates(config.manual ?? {});
    this.#history = history;
    const snapshots = history?.load() ?? [];
    this.#timeline = new RateTimeline(snapshots);
    for (const snapshot of snapshots.toSorted((a, b) => a.at - b.at)) {
      for (const table of ['usd', 'fiat'] as const) {
        for (const [code, scaled] of Object.entries(snapshot[table])) {
          this.#held[table].set(code, { scaled, at: snapshot.at });
        }
      }
    }
  }

  /** Records a source's answer at `now` in place of its last one, and computes the rates again. */
  record(source: { name: string; kind: Source['kind'] }, quotes: readonly Quote[], now: number): void {
    this.#recorded.set(source.name, { kind: source.kind, at: now, quotes });
    if (source.kind === 'fiat') {
      for (const code of Object.keys(FIAT)) this.#combine('fiat', code, this.#fiatQuotes(code, now), now);
      return;
    }
    // Tether first: its price corrects quotes in Tether.
    for (const code of [TETHER, ...COINS.filter((coin) => coin !== TETHER)]) {
      this.#combine('usd', code, this.#coinQuotes(code, now), now);
    }
  }

  /**
   * Records the rates found since the last snapshot, in memory and in the history. To be called once after every round.
   * Throws what the history's `append` throws; the book stays usable.
   */
  snapshot(now: number): void {
    const newest = this.#timeline.newestAt ?? 0;
    // A snapshot in the future means that the clock was set back: start again.
    const last = newest > now ? 0 : newest;
    if (now - last < SNAPSHOT_GAP_MIN_MS) return;
    const fresh = (table: RateTable): Record<string, bigint> =>
      Object.fromEntries(
        [...this.#held[table]].filter(([, held]) => held.at > last && held.at <= now).map(([k, v]) => [k, v.scaled]),
      );
    const snapshot: Snapshot = { at: now, usd: fresh('usd'), fiat: fresh('fiat') };
    if (Object.keys(snapshot.usd).length + Object.keys(snapshot.fiat).length === 0) return;
    this.#timeline.add(snapshot);
    this.#history?.append(snapshot);
  }

  /** The market rate of an asset on a network, 1e-8 fiat per coin; null if no rate is valid. */
  rate(network: Network, asset: AssetId, fiat: string, now: number): Rate | null {
    return this.#rateBy(network, asset, fiat, now, (table, code, limitMs) => this.#heldAt(table, code, now, limitMs));
  }

  /** The rate for a payment's quote: the market rate less the spread, rounded down. */
  quoteRate(network: Network, asset: AssetId, fiat: string, now: number): Rate | null {
    return this.#lower(this.rate(network, asset, fiat, now));
  }

  /** `rateAt` less the spread. */
  quoteRateAt(network: Network, asset: AssetId, fiat: string, time: number): Rate | null {
    return this.#lower(this.rateAt(network, asset, fiat, time));
  }

  /** Units of a fiat currency per dollar, 1e-8; null if no rate is valid. */
  perDollar(network: Network, fiat: string, now: number): bigint | null {
    const live = (table: RateTable, code: string, limitMs: number) => this.#heldAt(table, code, now, limitMs);
    return this.#perDollar(network, fiat, now, live)?.scaled ?? null;
  }

  /**
   * The market rate at `time`: the newest one found at or before it (or in the minute after), if it was still valid
   * then. Manual rates and samples have no history, so today's are used. Null if none was known.
   */
  rateAt(network: Network, asset: AssetId, fiat: string, time: number): Rate | null {
    return this.#rateBy(network, asset, fiat, time, (table, code, limitMs) => {
      return this.#heldAt(table, code, time, limitMs) ?? this.#timeline.find(table, code, time, limitMs);
    });
  }

  /**
   * The market rate found nearest to `time`, at most `withinMs` away from it on either side; a currency's may be as old as it is valid.
   * Null if none is stored.
   */
  rateNear(network: Network, asset: AssetId, fiat: string, time: number, withinMs: number): Rate | null {
    return this.#rateBy(network, asset, fiat, time, (table, code, limitMs) => {
      const near = this.#timeline.nearest(table, code, time, withinMs);
      return near ?? (table === 'fiat' ? this.#timeline.find(table, code, time, limitMs) : null);
    });
  }

  /** A coin's value in the shown currencies. Throws `Unavailable` if one is missing. */
  shown(network: Network, asset: AssetId, now: number): ShownRates {
    const [usd, eur, gbp] = SHOWN_FIAT.map((fiat) =>
      showDown(available(this.rate(network, asset, fiat, now), asset).scaled),
    );
    return { usd, eur, gbp } as ShownRates;
  }

  /** The same without missing currencies. */
  shownKnown(network: Network, asset: AssetId, now: number): Partial<ShownRates> {
    const known: Partial<ShownRates> = {};
    for (const fiat of SHOWN_FIAT) {
      const rate = this.rate(network, asset, fiat, now);
      if (rate) known[fiat.toLowerCase() as keyof ShownRates] = showDown(rate.scaled);
    }
    return known;
  }

  /** A coin's value by the last good rates of any age, for display. Null if a shown currency never had one. */
  lastShown(network: Network, asset: AssetId, now: number): ShownRates | null {
    const last: Live = (table, code) => this.#held[table].get(code) ?? null;
    const shown = SHOWN_FIAT.map((fiat) => this.#rateBy(network, asset, fiat, now, last));
    if (!shown.every((rate) => rate !== null)) return null;
    const [usd, eur, gbp] = shown.map(({ scaled }) => showDown(scaled));
    return { usd, eur, gbp } as ShownRates;
  }

  /**
   * Whom to name where rates of these assets in these currencies are shown: every source that asks for it and has
   * quoted one of them since the start. Manual rates and samples have none.
   */
  credits(network: Network, assets: readonly AssetId[], currencies: readonly string[]): Credit[] {
    const coins = assets.map(assetOf).filter((asset) => this.#fixed.manualUsd(network, asset) === undefined);
    const codes = {
      coin: new Set(coins.map(({ priceSymbol }) => priceSymbol)),
      fiat: new Set(currencies.filter((code) => this.#fixed.manualFiat(network, code) === undefined)),
    };
    return Object.entries(CREDITS).flatMap(([name, credit]) => {
      const recorded = this.#recorded.get(name);
      return credit && recorded?.quotes.some(({ code }) => codes[recorded.kind].has(code)) ? [credit] : [];
    });
  }

  #heldAt(table: RateTable, code: string, time: number, limitMs: number): Price | null {
    const held = this.#held[table].get(code);
    return held && holds(held, time, limitMs) ? held : null;
  }

  #rateBy(network: Network, assetId: AssetId, fiat: string, time: number, live: Live): Rate | null {
    if (!Object.hasOwn(FIAT, fiat)) return null;
    const asset = assetOf(assetId);
    const usd =
      fixedAt(this.#fixed.manualUsd(network, asset), time) ??
      live('usd', asset.priceSymbol, COIN_HOLDS_MS) ??
      fixedAt(this.#fixed.sample(network, asset.priceSymbol), time);
    const perDollar = this.#perDollar(network, fiat, time, live);
    if (!usd || !perDollar) return null;
    const scaled = multiplyDown(usd.scaled, perDollar.scaled);
    return scaled > 0n ? { scaled, at: usd.at } : null;
  }

  #perDollar(network: Network, fiat: string, time: number, live: Live): Price | null {
    if (fiat === 'USD') return fixedAt(ONE, time);
    return (
      fixedAt(this.#fixed.manualFiat(network, fiat), time) ??
      live('fiat', fiat, FIAT_HOLDS_MS) ??
      fixedAt(this.#fixed.sample(network, fiat), time)
    );
  }

  #lower(rate: Rate | null): Rate | null {
    if (!rate) return null;
    const scaled = (rate.scaled * (HUNDRED_PERCENT - this.#spread)) / HUNDRED_PERCENT;
    return scaled > 0n ? { ...rate, scaled } : null;
  }

  #combine(table: RateTable, code: string, prices: readonly bigint[], now: number): void {
    const scaled = agreedMedian(prices);
    if (scaled !== null) this.#held[table].set(code, { scaled, at: now });
  }

  #coinQuotes(code: string, now: number): bigint[] {
    const tether = this.#held.usd.get(TETHER);
    const prices: bigint[] = [];
    for (const { quote, fetchedAt } of this.#quotesOf('coin', code)) {
      if (!holds({ scaled: 0n, at: Math.min(quote.asOf ?? fetchedAt, fetchedAt) }, now, COIN_QUOTE_AGE_MAX_MS))
        continue;
      if (quote.quotedIn === 'USD') prices.push(quote.scaled);
      else if (tether && holds(tether, now, COIN_HOLDS_MS)) prices.push(multiplyDown(quote.scaled, tether.scaled));
    }
    return prices.filter((price) => price > 0n);
  }

  #fiatQuotes(code: string, now: number): bigint[] {
    return this.#quotesOf('fiat', code)
      .filter(({ quote, fetchedAt }) => {
        const dataAgeMs = now - (quote.asOf ?? now);
        return holds({ scaled: 0n, at: fetchedAt }, now, FIAT_QUOTE_AGE_MAX_MS) && dataAgeMs <= FIAT_DATA_AGE_MAX_MS;
      })
      .map(({ quote }) => quote.scaled);
  }

  #quotesOf(kind: Source['kind'], code: string): { quote: Quote; fetchedAt: number }[] {
    return [...this.#recorded.values()]
      .filter((recorded) => recorded.kind === kind)
      .flatMap(({ at, quotes }) => {
        const quote = quotes.find((one) => one.code === code);
        return quote ? [{ quote, fetchedAt: at }] : [];
      });
  }
}
