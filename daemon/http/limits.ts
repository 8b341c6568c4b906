/**
 * Request limits as token buckets, by address or another key.
 *
 * Invariant: memory is bounded. The least recently used addresses are forgotten and start again with a full bucket. A
 * clock that is set back locks nobody out for longer than an empty bucket takes to fill.
 */

import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { MS_PER_MINUTE, MS_PER_SECOND } from '../domain/time.ts';

/** A provider gives one customer at least a /64, often a /56 or a /48 (RFC 6177): the whole parts of each, and the bits of the last. */
const IPV6_PREFIXES = [
  { parts: 4, bits: 0, name: '/64' },
  { parts: 3, bits: 8, name: '/56' },
  { parts: 3, bits: 0, name: '/48' },
] as const;
const PART_BITS = 16;

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

/** The bucket of an address: an IPv4 address, mapped or not, or an IPv6 /64. All invalid ones share one. */
export const bucketOf = (address: string): string => networksOf(address)[0]!;

/** The bucket of an address, and of an IPv6 address also its /56 and its /48: what one customer of a provider may have. */
export function networksOf(address: string): string[] {
  if (!ipaddr.isValid(address)) return [''];
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) return [parsed.toString()];
  return IPV6_PREFIXES.map(({ parts, bits, name }) => {
    const rest = bits === 0 ? [] : [parsed.parts[parts]! >> (PART_BITS - bits)];
    return `${[...parsed.parts.slice(0, parts), ...rest].join(':')}::${name}`;
  });
}

/** Addresses that are likely one customer's: the /24 of an IPv4 address, the /48 of an IPv6 address. */
export function groupOf(address: string): string {
  const network = networksOf(address).at(-1)!;
  return network.replace(/\.\d+$/, '.0/24');
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
    // by size, which takes room as it is needed: with `max` it takes that of all at once
    this.#fullAt = new LRUCache({ maxSize: bucketsMax, sizeCalculation: () => 1 });
  }

  /** Takes a token from an address's bucket, or returns the whole seconds (at least 1) until the next one. */
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

/** By how much more the limits of a /64, a /56 and a /48 are. */
const NETWORK_FACTORS = [1, 2, 4];

/** The same limits for the wider networks of an IPv6 address, too, which may have more of it. */
export class NetworkBuckets {
  readonly #widths: readonly TokenBuckets[];

  /** The limits of one address. */
  constructor({ perMinute, burst, ...rest }: TokenBucketsOptions) {
    this.#widths = NETWORK_FACTORS.map(
      (factor) => new TokenBuckets({ ...rest, perMinute: perMinute * factor, burst: burst * factor }),
    );
  }

  /** Takes a token for each network of an address. The narrowest is asked first: it takes nothing from its neighbours if it is empty. */
  take(address: string): Taken {
    for (const [at, network] of networksOf(address).entries()) {
      const taken = this.#widths[at]!.takeFrom(network);
      if (!taken.ok) return taken;
    }
    return { ok: true };
  }
}
