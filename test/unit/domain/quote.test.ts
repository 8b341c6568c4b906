import { describe, expect, it } from 'vitest';
import { assetOf } from '../../../daemon/domain/assets.ts';
import { deadlineOf, makeQuote, type Quote, type QuoteTerms, remainingUnits } from '../../../daemon/domain/quote.ts';

const DUE = 10_000_000;
const HOUR = 3_600_000;
const terms = (over: Partial<QuoteTerms> = {}): QuoteTerms => ({
  amount: 10_000_000_000n,
  seenValue: 0n,
  received: 0n,
  dueAt: DUE,
  graceMs: 24 * HOUR,
  quoteMs: HOUR,
  ...over,
});
const LTC = assetOf('LTC');
const RATE = 8_000_000_000n; // 80 USD

describe('makeQuote', () => {
  it('prices what is owed', () => {
    expect(makeQuote(LTC, terms(), RATE, 5)).toEqual({
      rate: RATE,
      amount: 125_000_000n,
      issuedAt: 5,
      endsAt: 5 + HOUR,
    });
  });

  it('asks for what is left, on top of what has come', () => {
    const quote = makeQuote(LTC, terms({ seenValue: 4_000_000_000n, received: 50_000_000n }), RATE, 5);
    expect(quote.amount).toBe(50_000_000n + 75_000_000n);
  });

  it('asks for nothing more once more than enough has come', () => {
    expect(makeQuote(LTC, terms({ seenValue: 20_000_000_000n, received: 9n }), RATE, 5).amount).toBe(9n);
  });

  it.each([
    ['before the due date', 5, DUE],
    ['a moment before it', DUE - 1, DUE],
    ['at it', DUE, DUE + 24 * HOUR],
    ['after it, in the time of grace', DUE + 1, DUE + 1 + 24 * HOUR],
  ])('that holds until due, made %s', (_name, now, endsAt) => {
    expect(makeQuote(LTC, terms({ quoteMs: 0 }), RATE, now).endsAt).toBe(endsAt);
    expect(makeQuote(LTC, terms(), RATE, now).endsAt).toBe(now + HOUR);
  });
});

describe('deadlineOf', () => {
  const quote = (issuedAt: number, endsAt: number): Quote => ({ rate: RATE, amount: 1n, issuedAt, endsAt });
  it.each<[string, number | null, Quote, number]>([
    ['the due date', null, quote(0, 5), DUE],
    ['the end of a quote that outlasts it', null, quote(DUE - 5, DUE + 5), DUE + 5],
    ['moved by a fresh quote before the due date', DUE, quote(DUE, DUE + HOUR), DUE + HOUR],
    ['the end of a first quote after it', null, quote(DUE + 1, DUE + HOUR), DUE + HOUR],
    ['not moved by one after it', DUE + 5, quote(DUE + 1, DUE + HOUR), DUE + 5],
  ])('is %s', (_name, previous, made, expected) => expect(deadlineOf(previous, DUE, made)).toBe(expected));
});

describe('remainingUnits', () => {
  it.each<[bigint, bigint, boolean, bigint]>([
    [100n, 0n, false, 100n],
    [100n, 40n, false, 60n],
    [100n, 99n, true, 0n],
    [100n, 200n, false, 0n],
  ])('of %s after %s (enough: %s) is %s', (amount, received, enough, expected) => {
    expect(remainingUnits(amount, received, enough)).toBe(expected);
  });
});
