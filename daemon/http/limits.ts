/**
 * Request limits as token buckets, by address or another key.
 *
 * Invariant: memory is bounded. The least recently used addresses are forgotten and start again with a full bucket. A
 * clock that is set back locks nobody out for longer than an empty bucket takes to fill.
 */
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';

const MS_PER_MINUTE = 60_000;
const MS_PER_SECOND = 1_000;
/** A provider gives one customer at least this prefix (RFC 6177). */
const IPV6_PREFIX_GROUPS = 4;

type TokenBucketsOptions = {
  /** Tokens added per minute. */
  perMinute: number;
  /** The size of a bucket. */
  burst: number;
  /** Milliseconds since 1970. */
  now: () => number;
  bucketsMax: number;
};

type Taken = { ok: true } | { ok: false; retryAfterSeconds: number };

/**
 * The bucket of an address: a whole IPv4 address (IPv4-mapped too), or the /64 of an IPv6 address. All invalid
 * addresses share one bucket.
 */
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
  /** When each bucket will be full again. This one number describes a bucket, so no timer has to fill it. */
  readonly #fullAt: LRUCache<string, number>;

  constructor({ perMinute, burst, now, bucketsMax }: TokenBucketsOptions) {
    this.#gapMs = MS_PER_MINUTE / perMinute;
    this.#burst = burst;
    this.#now = now;
    this.#fullAt = new LRUCache({ max: bucketsMax });
  }

  /**
   * Takes a token from an address's bucket. If it is empty, returns the whole seconds (at least 1) until the next
   * token.
   */
  take(address: string): Taken {
    return this.takeFrom(bucketOf(address));
  }

  /** The same for a bucket that is not an address's. */
  takeFrom(bucket: string): Taken {
    const now = this.#now();
    const emptyMs = this.#burst * this.#gapMs;
    const fullAt = Math.min(Math.max(this.#fullAt.get(bucket) ?? now, now), now + emptyMs);
    const waitMs = fullAt + this.#gapMs - (now + emptyMs);
    const refused = waitMs > 0;
    // also after a refusal: replaces a time written before the clock was set back
    this.#fullAt.set(bucket, refused ? fullAt : fullAt + this.#gapMs);
    return refused ? { ok: false, retryAfterSeconds: Math.ceil(waitMs / MS_PER_SECOND) } : { ok: true };
  }
}
