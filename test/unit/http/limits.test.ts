import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bucketOf, TokenBuckets } from '../../../daemon/http/limits.ts';

function buckets(perMinute: number, burst: number, bucketsMax = 10) {
  const clock = { now: 1_000_000 };
  return { clock, buckets: new TokenBuckets({ perMinute, burst, bucketsMax, now: () => clock.now }) };
}

describe('a token bucket', () => {
  it('allows the burst at once and then refuses with the seconds to wait', () => {
    const { buckets: limits } = buckets(10, 3);
    const answers = [1, 2, 3, 4].map(() => limits.take('192.0.2.1'));
    expect(answers).toEqual([{ ok: true }, { ok: true }, { ok: true }, { ok: false, retryAfterSeconds: 6 }]);
  });

  it('allows one more exactly when it said so, and no earlier', () => {
    const { clock, buckets: limits } = buckets(10, 1);
    limits.take('192.0.2.1');
    clock.now += 5_999;
    expect(limits.take('192.0.2.1')).toEqual({ ok: false, retryAfterSeconds: 1 });
    clock.now += 1;
    expect(limits.take('192.0.2.1')).toEqual({ ok: true });
    expect(limits.take('192.0.2.1')).toEqual({ ok: false, retryAfterSeconds: 6 });
  });

  it('does not punish refused requests', () => {
    const { clock, buckets: limits } = buckets(10, 1);
    limits.take('192.0.2.1');
    for (let i = 0; i < 100; i++) limits.take('192.0.2.1');
    clock.now += 6_000;
    expect(limits.take('192.0.2.1')).toEqual({ ok: true });
  });

  it('keeps addresses apart and forgets the least recent beyond its maximum', () => {
    const { buckets: limits } = buckets(1, 1, 2);
    expect(limits.take('192.0.2.1').ok).toBe(true);
    expect(limits.take('192.0.2.2').ok).toBe(true);
    expect(limits.take('192.0.2.1').ok).toBe(false);
    expect(limits.take('192.0.2.3').ok).toBe(true);
    expect(limits.take('192.0.2.2').ok).toBe(true);
  });

  it('recovers when the clock is set back', () => {
    const { clock, buckets: limits } = buckets(60, 2);
    limits.take('192.0.2.1');
    limits.take('192.0.2.1');
    clock.now -= 900_000;
    expect(limits.take('192.0.2.1')).toEqual({ ok: false, retryAfterSeconds: 1 });
    clock.now += 1_000;
    expect(limits.take('192.0.2.1')).toEqual({ ok: true });
  });

  it('never lets more through than the burst and what was filled meanwhile', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 200 }),
        fc.integer({ min: 1, max: 20 }),
        fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 100 }),
        (perMinute, burst, pauses) => {
          const { clock, buckets: limits } = buckets(perMinute, burst);
          const start = clock.now;
          let allowed = 0;
          for (const pause of pauses) {
            clock.now += pause;
            if (limits.take('192.0.2.1').ok) allowed++;
          }
          expect(allowed).toBeLessThanOrEqual(burst + Math.floor(((clock.now - start) * perMinute) / 60_000 + 1e-6));
        },
      ),
    );
  });
});

describe('the bucket of an address', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '8193:3512:1:2::/64'],
    ['2001:db8:1:2::', '8193:3512:1:2::/64'],
    ['fe80::1%eth0', '65152:0:0:0::/64'],
    ['', ''],
    ['no address', ''],
  ])('%j → %j', (address, bucket) => {
    expect(bucketOf(address)).toBe(bucket);
  });

  it('tells two networks apart', () => {
    expect(bucketOf('2001:db8:1:2::1')).not.toBe(bucketOf('2001:db8:1:3::1'));
  });
});
