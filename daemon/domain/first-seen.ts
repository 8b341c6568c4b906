/** When a deposit counts as first seen, which decides whether it came within its quote. */
import { BLOCK_TIME_AHEAD_MAX_MS } from './chain.ts';
import { MS_PER_DAY } from './time.ts';

/** All times in milliseconds since 1970. */
export type Seen = {
  now: number;
  /** When the last complete sync began. */
  syncedAt: number;
  /** The median time of the chain's tip; undefined: its source tells none. */
  medianTime: number | undefined;
  /** Whether the deposit is in a block, and that block's time if it was told. */
  isInBlock: boolean;
  blockTime: number | undefined;
  /** The payment that it is for, and its last quote; undefined: none. */
  quote: { createdAt: number; issuedAt: number; endsAt: number } | undefined;
};

/**
 * At its block's time, limited to the time between the last sync and now, and never before its payment was asked for, since miners may date a
 * block back and our clock may be ahead; or now. A clock too far ahead of the chain's does not count, because deadlines also use the
 * chain's time: then the result is never before the payment's last quote.
 */
export function firstSeenAt({ now, syncedAt, medianTime, isInBlock, blockTime, quote }: Seen): number {
  // blocks with their own median time are never dated before the known tip; a sync after now began by a wrong clock
  const knownAt = (isInBlock && medianTime !== undefined) || syncedAt > now ? 0 : syncedAt;
  if (blockTime !== undefined) return Math.min(now, Math.max(knownAt, blockTime, quote?.createdAt ?? 0));
  if (medianTime === undefined || now - medianTime <= BLOCK_TIME_AHEAD_MAX_MS) return now;
  const { issuedAt = 0, endsAt = 0 } = quote ?? {};
  if (now - medianTime > MS_PER_DAY) return Math.min(now, Math.max(medianTime, issuedAt));
  // blocks may be slow for that long; then the clock is right, and a quote that ended by it stays ended
  const notBefore = now > endsAt ? endsAt + 1 : issuedAt;
  return Math.min(now, Math.max(medianTime + BLOCK_TIME_AHEAD_MAX_MS, notBefore));
}
