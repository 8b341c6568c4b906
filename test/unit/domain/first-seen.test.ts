import { describe, expect, it } from 'vitest';
import { firstSeenAt, type Seen } from '../../../daemon/domain/first-seen.ts';

const HOUR = 3_600_000;
const NOW = 1_000 * HOUR;
const QUOTE = { createdAt: NOW - 5 * HOUR, issuedAt: NOW - 4 * HOUR, endsAt: NOW - 3 * HOUR };
const SEEN: Seen = {
  now: NOW,
  syncedAt: NOW - HOUR,
  medianTime: undefined,
  isInBlock: false,
  blockTime: undefined,
  quote: QUOTE,
};
/** By a source that tells the chain's time. */
const MEDIAN = { isInBlock: true, medianTime: NOW };

describe('a deposit in a block', () => {
  it.each<[string, Partial<Seen>, number]>([
    ['is seen at the block\u2019s time', { blockTime: NOW - 1 }, NOW - 1],
    ['not in a time to come', { blockTime: NOW + 1 }, NOW],
    ['not before the last sync', { blockTime: NOW - 2 * HOUR, isInBlock: true }, NOW - HOUR],
    ['before it, where blocks are dated by a median', { blockTime: NOW - 2 * HOUR, ...MEDIAN }, NOW - 2 * HOUR],
    ['not by the median alone', { blockTime: NOW - 2 * HOUR, medianTime: NOW }, NOW - HOUR],
    ['before a sync of a time to come', { blockTime: NOW - 2 * HOUR, syncedAt: NOW + 1 }, NOW - 2 * HOUR],
    ['not before a sync that began now', { blockTime: NOW - 2 * HOUR, syncedAt: NOW }, NOW],
    ['not before its payment was asked for', { blockTime: NOW - 6 * HOUR, ...MEDIAN }, QUOTE.createdAt],
    ['at any time without a payment', { blockTime: NOW - 6 * HOUR, ...MEDIAN, quote: undefined }, NOW - 6 * HOUR],
  ])('%s', (_, over, at) => {
    expect(firstSeenAt({ ...SEEN, ...over })).toBe(at);
  });
});

describe('a deposit without a time', () => {
  const behind = (ms: number, over: Partial<Seen> = {}): Partial<Seen> => ({ medianTime: NOW - ms, ...over });
  it.each<[string, Partial<Seen>, number]>([
    ['is seen now', {}, NOW],
    ['now, two hours ahead of the chain', behind(2 * HOUR), NOW],
    ['inside a quote that lasts', behind(3 * HOUR, { quote: { ...QUOTE, endsAt: NOW } }), NOW - HOUR],
    [
      'within the quote if the chain is in it',
      behind(5.5 * HOUR, { quote: { ...QUOTE, endsAt: NOW } }),
      NOW - 3.5 * HOUR,
    ],
    ['not before the quote', behind(7 * HOUR, { quote: { ...QUOTE, endsAt: NOW } }), QUOTE.issuedAt],
    ['after a quote that has ended', behind(7 * HOUR), QUOTE.endsAt + 1],
    ['later than that, by the chain', behind(4 * HOUR), NOW - 2 * HOUR],
    ['without a quote by the chain', behind(4 * HOUR, { quote: undefined }), NOW - 2 * HOUR],
    ['a day ahead of the chain, two hours after it', behind(24 * HOUR, { quote: undefined }), NOW - 22 * HOUR],
    ['further ahead, by the chain alone', behind(24 * HOUR + 1, { quote: undefined }), NOW - 24 * HOUR - 1],
    ['further ahead, not before its quote', behind(24 * HOUR + 1), QUOTE.issuedAt],
    ['further ahead, not after now', behind(24 * HOUR + 1, { quote: { ...QUOTE, issuedAt: NOW + 5 } }), NOW],
    [
      'not after now by a quote of a time to come',
      behind(3 * HOUR, { quote: { ...QUOTE, issuedAt: NOW + 5, endsAt: NOW + 9 } }),
      NOW,
    ],
  ])('%s', (_, over, at) => {
    expect(firstSeenAt({ ...SEEN, ...over })).toBe(at);
  });
});
