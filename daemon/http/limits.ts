/**
 * Request limits, as token buckets: by address, or by whatever else names who asks.
 *
 * Invariant: memory is bounded (the addresses used least recently are forgotten, and start anew with a full bucket), and
 * a clock that is set back locks nobody out for longer than an empty bucket takes to fill.
 */
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';

const MS_PER_MINUTE = 60_000;
const MS_PER_SECOND = 1_000;
/** Of an IPv6 address: what one customer of a provider gets at the least (RFC 6177). */
const IPV6_PREFIX_GROUPS = 4;

export type TokenBucketsOptions = {
  /** How fast a bucket fills. */
  perMinute: number;
  /** How many requests a full bucket allows at once. */
  burst: number;
  /** Milliseconds since 1970. */
  now: () => number;
  bucketsMax: number;
};

export type Taken = { ok: true } | { ok: false; retryAfterSeconds: number };

/** The bucket of an address: IPv4 whole (IPv4-mapped too), IPv6 by its /64; whatever is no address shares one bucket. */
export function bucketOf(address: string): string {
  if (!ipaddr.isValid(address)) return '';
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv6) return `${parsed.parts.slice(0, IPV6_PREFIX_GROUPS).join(':')}::/64`;
  return parsed.toString();
}

export class TokenBuckets {
  readonly #gapMs: number;
  readonly #burst: number;
  readonly #now: () => number;
  /** By bucket: when it will be full again. One number says it all, and nothing has to be filled up by a timer. */
  readonly #fullAt: LRUCache<string, number>;

  constructor({ perMinute, burst, now, bucketsMax }: TokenBucketsOptions) {
    this.#gapMs = MS_PER_MINUTE / perMinute;
    this.#burst = burst;
    this.#now = now;
    this.#fullAt = new LRUCache({ max: bucketsMax });
  }

  /** Takes a token from an address's bucket, or says in how many whole seconds (at least 1) there will be one. */
  take(address: string): Taken {
    return this.takeFrom(bucketOf(address));
  }

  /** The same of a bucket that is no address's. */
  takeFrom(bucket: string): Taken {
    const now = this.#now();
    const emptyMs = this.#burst * this.#gapMs;
    const fullAt = Math.min(Math.max(this.#fullAt.get(bucket) ?? now, now), now + emptyMs);
    const waitMs = fullAt + this.#gapMs - (now + emptyMs);
    const refused = waitMs > 0;
    // also when it is refused: what a clock from before it was set back had written must not stay
    this.#fullAt.set(bucket, refused ? fullAt : fullAt + this.#gapMs);
    return refused ? { ok: false, retryAfterSeconds: Math.ceil(waitMs / MS_PER_SECOND) } : { ok: true };
  }
}
