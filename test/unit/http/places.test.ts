import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { groupOf, networksOf } from '../../../daemon/http/limits.ts';
import { Places } from '../../../daemon/http/places.ts';

describe('the networks of an address', () => {
  it.each([
    ['192.0.2.7', ['192.0.2.7'], '192.0.2.0/24'],
    ['::ffff:192.0.2.7', ['192.0.2.7'], '192.0.2.0/24'],
    // decimal parts: 2001 = 8193, db8 = 3512, aaaa = 43690, bbcc = 48076, bb = 187
    [
      '2001:db8:aaaa:bbcc:1::9',
      ['8193:3512:43690:48076::/64', '8193:3512:43690:187::/56', '8193:3512:43690::/48'],
      '8193:3512:43690::/48',
    ],
    ['none', [''], ''],
  ])('%s', (address, networks, group) => {
    expect(networksOf(address)).toEqual(networks);
    expect(groupOf(address)).toBe(group);
  });
});

type Held = { address: string; number: number };
const TOTAL = 8;
const SHARES = [3, 4, 5] as const;

/** What the newcomer gets, by counting everything: nothing, a place, or the place of the oldest of one of these groups. */
function expected(held: readonly Held[], address: string, equals: 'oldest' | 'newcomer'): 'none' | 'free' | string[] {
  const of = (group: string): number => held.filter((one) => groupOf(one.address) === group).length;
  const over = networksOf(address).some(
    (network, at) => held.filter((one) => networksOf(one.address)[at] === network).length >= SHARES[at]!,
  );
  if (over) return 'none';
  if (held.length < TOTAL) return 'free';
  const groups = [...new Set(held.map((one) => groupOf(one.address)))];
  const most = Math.max(...groups.map(of));
  const own = of(groupOf(address)) + 1;
  if (equals === 'oldest' ? own > most : own >= most) return 'none';
  return groups.filter((group) => of(group) === most);
}

describe('places', () => {
  const small = fc.integer({ min: 0, max: 2 });
  const address = fc.oneof(
    fc.tuple(small, small).map(([a, b]) => `10.0.${a}.${b}`),
    fc.tuple(small, small, small).map(([a, b, c]) => `2001:db8:${a}:${b + 1}0${c}::1`),
  );
  const step = fc.oneof(
    { weight: 5, arbitrary: address.map((take) => ({ take })) },
    { weight: 1, arbitrary: fc.nat().map((free) => ({ free })) },
  );

  it.each(['oldest', 'newcomer'] as const)('are shared as counting them all says: %s', (equals) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const places = new Places({ total: TOTAL, shares: SHARES, equals });
        const give = new Map<number, () => void>();
        let held: Held[] = [];
        let left: number[] = [];
        for (const [number, one] of steps.entries()) {
          if ('free' in one) {
            const { number: gone } = held[one.free % Math.max(1, held.length)] ?? {};
            held = held.filter((place) => place.number !== gone);
            if (gone !== undefined) give.get(gone)!();
          } else {
            const wanted = expected(held, one.take, equals);
            left = [];
            const back = places.take(one.take, () => left.push(number));
            expect(back === null).toBe(wanted === 'none');
            expect(left.length).toBe(Array.isArray(wanted) ? 1 : 0);
            for (const gone of left) {
              const group = groupOf(held.find((place) => place.number === gone)!.address);
              expect(wanted).toContain(group);
              expect(held.find((place) => groupOf(place.address) === group)!.number).toBe(gone);
              // the place is gone already
              give.get(gone)!();
            }
            held = held.filter((place) => !left.includes(place.number));
            if (back) held.push({ address: one.take, number });
            if (back) give.set(number, back);
          }
          expect(places.taken).toBe(held.length);
        }
      }),
    );
  });

  it.each(['192.168.1.', '2001:db8:1:1::'])('of a local network are shared by address: %s', (network) => {
    const places = new Places({ total: 160, shares: [40, 160, 160], equals: 'oldest', isLocal: true });
    const left: number[] = [];
    for (let host = 1; host <= 4; host++) {
      for (let n = 0; n < 50; n++) {
        const back = places.take(`${network}${host}`, () => left.push(host));
        expect(back !== null).toBe(n < 40);
      }
    }
    for (let n = 0; n < 8; n++) expect(places.take(`${network}9`, () => left.push(9))).not.toBeNull();
    expect([...left].sort((a, b) => a - b)).toEqual([1, 1, 2, 2, 3, 3, 4, 4]);
    expect(places.taken).toBe(160);
  });

  it('are never all kept from others, with however many addresses of a /48 or a /24', () => {
    const places = new Places({ total: 4_000, shares: [200, 400, 800], equals: 'oldest' });
    let taken = 0;
    for (let site = 0; site < 256; site++) {
      for (let host = 0; host < 20; host++)
        if (places.take(`2001:db8:1:${site.toString(16)}00::${host}`, () => {})) taken++;
    }
    expect(taken).toBe(800);
    for (let net = 0; net < 100; net++) {
      for (let host = 0; host < 256; host++) places.take(`10.1.${net}.${host}`, () => {});
    }
    expect(places.taken).toBe(4_000);
    for (let payer = 0; payer < 1_000; payer++) {
      expect(places.take(`100.${64 + (payer % 64)}.${payer >> 6}.9`, () => {})).not.toBeNull();
    }
    expect(places.taken).toBe(4_000);
  });
});
