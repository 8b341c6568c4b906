/** The price of an invoice in crypto, fixed for a limited time. The debt stays in fiat. */
import type { Asset } from './assets.ts';
import { cryptoFor, divideUp } from './money.ts';

export type Quote = {
  /** 1e-8 fiat per coin. */
  rate: bigint;
  /** The units of the whole payment: those received when the quote was made, plus those left to send. */
  amount: bigint;
  issuedAt: number;
  endsAt: number;
};

export type QuoteTerms = {
  /** The amount due and the part of it that was seen, fiat 1e-8. */
  amount: bigint;
  seenValue: bigint;
  /** Units that have arrived. */
  received: bigint;
  dueAt: number;
  graceMs: number;
  /** How long a rate is fixed, in milliseconds; 0: until the invoice is due. */
  quoteMs: number;
};

/** A quote for the rest, rounded up to the asset's quoting precision. */
export function makeQuote(asset: Asset, terms: QuoteTerms, rate: bigint, now: number): Quote {
  const owed = terms.amount > terms.seenValue ? terms.amount - terms.seenValue : 0n;
  const amount = terms.received + cryptoFor(owed, asset, rate);
  const untilDue = now < terms.dueAt ? terms.dueAt : now + terms.graceMs;
  return { rate, amount, issuedAt: now, endsAt: terms.quoteMs > 0 ? now + terms.quoteMs : untilDue };
}

/** The most that a quote at a rate asks for beyond the amount, because it is rounded up; fiat 1e-8. */
export const roundedUpAt = (asset: Asset, rate: bigint): bigint => divideUp(rate, 10n ** BigInt(asset.quoteDecimals));

/**
 * The later of due date and quote end. A quote made after the due date does not move the deadline; otherwise an open
 * page would keep an invoice alive for ever.
 */
export function deadlineOf(previous: number | null, dueAt: number, quote: Quote): number {
  if (previous !== null && quote.issuedAt > dueAt) return previous;
  return Math.max(previous ?? dueAt, quote.endsAt);
}

/** The crypto left to send within a quote; 0 once enough was seen. */
export function remainingUnits(quoteAmount: bigint, received: bigint, enough: boolean): bigint {
  if (enough || received >= quoteAmount) return 0n;
  return quoteAmount - received;
}
