/** When a plan sends the takings on, over changes of the clocks, and how much. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  dueAt,
  type FeeLimits,
  type ForwardSchedule,
  feeAllowed,
  freeUnits,
  isWithinShare,
  nextDue,
  nextTry,
  runOf,
  stepsOf,
} from '../../../daemon/domain/forwarding.ts';

const at = (iso: string): number => Date.parse(iso);
const daily = (minute: number): ForwardSchedule => ({ every: 'day', minute, weekday: null });
const weekly = (weekday: number, minute: number): ForwardSchedule => ({ every: 'week', minute, weekday });
const due = (schedule: ForwardSchedule, after: string, zone: string): string =>
  new Date(nextDue(schedule, at(after), zone)).toISOString().replace('.000Z', 'Z');

describe('the next time of a plan', () => {
  it.each([
    ['today, if the hour is to come', daily(120), '2026-01-10T00:30:00Z', 'UTC', '2026-01-10T02:00:00Z'],
    ['tomorrow, from the hour itself on', daily(120), '2026-01-10T02:00:00Z', 'UTC', '2026-01-11T02:00:00Z'],
    ["by the business's clock", daily(120), '2026-01-10T00:30:00Z', 'Europe/Berlin', '2026-01-10T01:00:00Z'],
    ['by its date', daily(60), '2026-01-10T12:00:00Z', 'Pacific/Kiritimati', '2026-01-11T11:00:00Z'],
    ['in summer', daily(120), '2026-07-10T01:00:00Z', 'Europe/Berlin', '2026-07-11T00:00:00Z'],
    [
      'later, if the clocks are put forward over it',
      daily(150),
      '2026-03-28T12:00:00Z',
      'Europe/Berlin',
      '2026-03-29T01:30:00Z',
    ],
    ['the day after that as ever', daily(150), '2026-03-29T01:30:00Z', 'Europe/Berlin', '2026-03-30T00:30:00Z'],
    ['first of two, if they are put back', daily(150), '2026-10-24T12:00:00Z', 'Europe/Berlin', '2026-10-25T00:30:00Z'],
    ['and not the second of them', daily(150), '2026-10-25T00:30:00Z', 'Europe/Berlin', '2026-10-26T01:30:00Z'],
    ['first of two half hours', daily(105), '2026-04-04T10:00:00Z', 'Australia/Lord_Howe', '2026-04-04T14:45:00Z'],
    ['on its day of the week', weekly(1, 240), '2026-11-25T12:00:00Z', 'America/New_York', '2026-11-30T09:00:00Z'],
    [
      'a week later, from the hour on',
      weekly(3, 240),
      '2026-11-25T09:00:00Z',
      'America/New_York',
      '2026-12-02T09:00:00Z',
    ],
    ['over the new year', weekly(5, 0), '2026-12-26T00:00:00Z', 'UTC', '2027-01-01T00:00:00Z'],
    [
      'on a Sunday that is put forward',
      weekly(0, 150),
      '2026-03-23T00:00:00Z',
      'Europe/Berlin',
      '2026-03-29T01:30:00Z',
    ],
    ['where a day was left out', daily(600), '2011-12-29T23:00:00Z', 'Pacific/Apia', '2011-12-30T20:00:00Z'],
  ])('is %s', (_, schedule, after, zone, wanted) => {
    expect(due(schedule, after, zone)).toBe(wanted);
  });

  it('has no gap of two days and none of a week more, and is never in the past', () => {
    const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu');
    const whole = fc.record({
      after: fc.integer({ min: at('2020-01-01T00:00:00Z'), max: at('2030-01-01T00:00:00Z') }),
      minute: fc.integer({ min: 0, max: 1_439 }),
      weekday: fc.integer({ min: 0, max: 6 }),
      zones,
    });
    fc.assert(
      fc.property(whole, ({ after, minute, weekday, zones: zone }) => {
        const day = nextDue(daily(minute), after, zone) - after;
        const week = nextDue(weekly(weekday, minute), after, zone) - after;
        const hour = 3_600_000;
        return day > 0 && day <= 25 * hour && week > 0 && week <= (7 * 24 + 1) * hour;
      }),
    );
  });

  it('of one that waits for its sum alone is now, and after a payment that did not come about a day later', () => {
    const reached: ForwardSchedule = { every: 'reached', minute: 0, weekday: null };
    expect(nextDue(reached, 5, 'UTC')).toBe(5);
    expect(nextTry(reached, 5, 'UTC')).toBe(86_400_005);
    expect(nextTry(daily(1), 5, 'UTC')).toBe(60_000);
  });
});

/** So that something is sent in many cases, what is needed is a tenth of what there may be, and fees a thousandth. */
const upTo = (max: bigint) => fc.bigInt({ min: 0n, max });
const [units, need] = [upTo(10n ** 20n), upTo(10n ** 19n)];
const [limit, fee] = [upTo(10n ** 18n), upTo(10n ** 17n)];
const purse = fc.record({ spendable: units, available: units, waiting: need, promised: need, undecided: need });
const limits: fc.Arbitrary<FeeLimits> = fc.record({
  sharePpm: fc.option(upTo(1_000_000n)),
  max: fc.option(limit),
  day: limit,
});

describe('a time that is further ahead than those that were left out', () => {
  const now = at('2026-01-10T00:30:00Z');
  it.each([
    ['is the next one', daily(120), '2026-01-12T02:00:00Z', 1, 'UTC', '2026-01-10T02:00:00Z'],
    ['stays, if so many were left out', daily(120), '2026-01-12T02:00:00Z', 2, 'UTC', '2026-01-12T02:00:00Z'],
    ['of each week, too', weekly(1, 240), '2027-01-11T04:00:00Z', 0, 'UTC', '2026-01-12T04:00:00Z'],
    ['by the clock of now', daily(120), '2026-01-11T02:00:00Z', 0, 'Europe/Berlin', '2026-01-10T01:00:00Z'],
  ] as const)('%s', (_, schedule, next, leftOut, zone, wanted) => {
    const due = dueAt(schedule, { next: at(next), leftOut }, now, zone);
    expect(new Date(due).toISOString().replace('.000Z', 'Z')).toBe(wanted);
  });

  it('is now for a plan that waits for its sum, from more than a day on', () => {
    const reached: ForwardSchedule = { every: 'reached', minute: 0, weekday: null };
    const day = 24 * 3_600_000;
    expect(dueAt(reached, { next: now + day, leftOut: 0 }, now, 'UTC')).toBe(now + day);
    expect(dueAt(reached, { next: now + day + 1, leftOut: 0 }, now, 'UTC')).toBe(now);
  });
});

describe('what a plan sends', () => {
  it('leaves what open withdrawals, refunds and decisions need, and what it keeps', () => {
    const whole = fc.record({
      purse,
      keep: need,
      least: need,
      most: units,
      limits,
      now: fee,
      highest: fee,
      usedToday: fee,
    });
    let sent = 0;
    fc.assert(
      fc.property(whole, fc.boolean(), (one, sameAsset) => {
        const free = freeUnits(one.purse, one.keep);
        const { least, most, usedToday } = one;
        const fees = { now: one.now, highest: one.highest };
        const run = runOf({ free, most, least, fees, limits: one.limits, usedToday, sameAsset });
        if (run.kind !== 'send') return true;
        sent++;
        const { spendable, available, waiting, promised, undecided } = one.purse;
        const taken = run.units + (sameAsset ? run.feeMax : 0n);
        const { sharePpm, max, day } = one.limits;
        return (
          run.units > 0n &&
          taken <= most &&
          free >= least &&
          spendable - taken >= waiting + promised + one.keep &&
          available - taken >= undecided + promised + one.keep &&
          run.feeMax >= one.now &&
          (run.feeMax === 0n || usedToday + run.feeMax <= day) &&
          (max === null || run.feeMax <= max) &&
          (sharePpm === null || !sameAsset || isWithinShare(run.feeMax, run.units, sharePpm))
        );
      }),
      { numRuns: 2_000 },
    );
    expect(sent).toBeGreaterThan(100);
  });

  const wide: FeeLimits = { sharePpm: null, max: null, day: 1_000n };
  const base = {
    free: 100n,
    most: 1_000n,
    least: 0n,
    fees: { now: 2n, highest: 5n },
    limits: wide,
    usedToday: 0n,
    sameAsset: true,
  };
  it.each([
    ['everything but the highest fee', {}, { kind: 'send', units: 95n, feeMax: 5n }],
    ['everything, if the fee is in another coin', { sameAsset: false }, { kind: 'send', units: 100n, feeMax: 5n }],
    ['nothing below the least', { least: 101n }, { kind: 'less' }],
    ['what one transaction moves', { most: 60n }, { kind: 'send', units: 55n, feeMax: 5n }],
    ['something at the least', { least: 100n }, { kind: 'send', units: 95n, feeMax: 5n }],
    ['nothing of nothing', { free: 0n }, { kind: 'less' }],
    ['nothing of what only pays its fee', { free: 5n }, { kind: 'less' }],
    ['nothing of what the highest fee takes', { free: 5n, limits: { ...wide, max: 3n } }, { kind: 'less' }],
    [
      'nothing of nothing, however dear',
      { free: 0n, sameAsset: false, limits: { ...wide, max: 1n } },
      { kind: 'less' },
    ],
    ['nothing of what a fee takes that has risen', { free: 8n, fees: { now: 8n, highest: 5n } }, { kind: 'less' }],
    ['the rest of a risen fee', { free: 9n, fees: { now: 8n, highest: 5n } }, { kind: 'send', units: 1n, feeMax: 8n }],
    [
      'nothing of what a payment left, and says nothing of its fee',
      { free: 4n, limits: { ...wide, sharePpm: 10_000n } },
      { kind: 'less' },
    ],
    ['within a share', { limits: { ...wide, sharePpm: 30_000n } }, { kind: 'send', units: 98n, feeMax: 2n }],
    ['nothing above the share', { limits: { ...wide, sharePpm: 10_000n } }, { kind: 'dear', fee: 2n, allowed: 0n }],
    ['within a ceiling', { limits: { ...wide, max: 3n } }, { kind: 'send', units: 97n, feeMax: 3n }],
    ['nothing above the ceiling', { limits: { ...wide, max: 1n } }, { kind: 'dear', fee: 2n, allowed: 1n }],
    ['nothing above what is left of the day', { usedToday: 999n }, { kind: 'dear', fee: 2n, allowed: 1n }],
    ['with what is left of the day', { usedToday: 997n }, { kind: 'send', units: 97n, feeMax: 3n }],
  ])('is %s', (_, given, wanted) => {
    expect(runOf({ ...base, ...given })).toEqual(wanted);
  });

  /** Tokens, of which each payment costs 2 to 5, and each payment of gas 3. */
  const run = { free: 100n, least: 0n, fees: base.fees, limits: wide, usedToday: 0n, sameAsset: false };
  const tank = { fee: 3n, there: 1_000n, usedToday: 0n };
  const part = (units: bigint, gas = 0n) => ({ units, gas });
  it.each<[string, object, object, [bigint, bigint][], object, [bigint, bigint][]]>([
    [
      'all of them',
      {},
      {},
      [
        [40n, 0n],
        [30n, 7n],
      ],
      { kind: 'send', units: 40n, feeMax: 5n },
      [
        [40n, 5n],
        [30n, 5n],
      ],
    ],
    [
      'until nothing is free',
      { free: 50n },
      {},
      [
        [40n, 0n],
        [30n, 0n],
        [20n, 0n],
      ],
      { kind: 'send', units: 40n, feeMax: 5n },
      [
        [40n, 5n],
        [10n, 5n],
      ],
    ],
    [
      'with the fees of gas within the day',
      { limits: { ...wide, day: 15n } },
      {},
      [
        [9n, 4n],
        [8n, 4n],
      ],
      { kind: 'send', units: 9n, feeMax: 5n },
      [
        [9n, 5n],
        [8n, 4n],
      ],
    ],
    [
      'none above the day',
      { limits: { ...wide, day: 4n } },
      {},
      [[9n, 4n]],
      { kind: 'dear', fee: 2n, allowed: 1n },
      [],
    ],
    [
      'with the day for its own fee where it needs no gas',
      { limits: { ...wide, day: 5n } },
      {},
      [[9n, 0n]],
      { kind: 'send', units: 9n, feeMax: 5n },
      [[9n, 5n]],
    ],
    [
      'none that is too dear, whatever the tank lacks',
      { limits: { ...wide, day: 4n } },
      { there: 0n },
      [[9n, 4n]],
      { kind: 'dear', fee: 2n, allowed: 1n },
      [],
    ],
    [
      'what its gas costs as much as a payment may',
      { limits: { ...wide, max: 3n } },
      {},
      [[9n, 4n]],
      { kind: 'send', units: 9n, feeMax: 3n },
      [[9n, 3n]],
    ],
    [
      'with the last of the gas of the day',
      { limits: { ...wide, day: 30n } },
      { usedToday: 58n },
      [[9n, 2n]],
      { kind: 'send', units: 9n, feeMax: 5n },
      [[9n, 5n]],
    ],
    ['with the last of the tank', {}, { there: 13n }, [[9n, 10n]], { kind: 'send', units: 9n, feeMax: 5n }, [[9n, 5n]]],
    [
      'none whose gas costs more than a payment may',
      { limits: { ...wide, max: 2n } },
      {},
      [[9n, 4n]],
      { kind: 'dear', fee: 3n, allowed: 2n },
      [],
    ],
    [
      'no more gas than twice the day',
      { limits: { ...wide, day: 30n } },
      {},
      [
        [9n, 40n],
        [8n, 21n],
      ],
      { kind: 'send', units: 9n, feeMax: 5n },
      [[9n, 5n]],
    ],
    [
      'no gas once that of the day is given',
      { limits: { ...wide, day: 30n } },
      { usedToday: 59n },
      [[9n, 2n]],
      { kind: 'gas', fee: 61n, allowed: 60n },
      [],
    ],
    [
      'no more than the tank has, fees included',
      {},
      { there: 25n },
      [
        [9n, 10n],
        [8n, 10n],
      ],
      { kind: 'send', units: 9n, feeMax: 5n },
      [[9n, 5n]],
    ],
    ['none while the tank has too little', {}, { there: 12n }, [[9n, 10n]], { kind: 'short', missing: 1n }, []],
    [
      'what has its gas, whatever the tank has',
      {},
      { there: 0n },
      [
        [9n, 0n],
        [20n, 1n],
      ],
      { kind: 'send', units: 9n, feeMax: 5n },
      [[9n, 5n]],
    ],
    [
      'nothing below the least, and the rest of a run in any case',
      { free: 9n, least: 10n },
      {},
      [[9n, 0n]],
      { kind: 'less' },
      [],
    ],
    ['nothing of no part', {}, {}, [], { kind: 'less' }, []],
  ])('of parts is %s', (_, given, there, parts, first, sent) => {
    const found = stepsOf(
      { ...run, ...given },
      parts.map(([units, gas]) => part(units, gas)),
      { ...tank, ...there },
    );
    expect([found.first, found.sent.map(({ units, feeMax }) => [units, feeMax])]).toEqual([first, sent]);
  });

  it('of parts pays each from what the ones before and their fees left', () => {
    const found = stepsOf({ ...run, free: 50n, sameAsset: true }, [part(40n), part(40n)], tank);
    expect(found.sent.map(({ units, feeMax }) => [units, feeMax])).toEqual([
      [35n, 5n],
      [5n, 5n],
    ]);
  });

  it.each([
    [50n, 60n, 0n],
    [60n, 60n, 0n],
    [61n, 60n, 1n],
  ])('is of %s beside %s that is needed at the most %s', (spendable, needed, free) => {
    const purse = { spendable, available: 100n, waiting: needed - 30n, promised: 20n, undecided: 0n };
    expect(freeUnits(purse, 10n)).toBe(free);
    const decided = { spendable: 100n, available: spendable, waiting: 0n, promised: 20n, undecided: needed - 30n };
    expect(freeUnits(decided, 10n)).toBe(free);
  });

  it.each([
    [10n, 1_000n, 10_000n, true],
    [11n, 1_000n, 10_000n, false],
    [0n, 0n, 10_000n, true],
    [1n, 99n, 10_000n, false],
  ])('has a fee of %s for %s within %s millionths: %s', (fee, units, sharePpm, isWithin) => {
    expect(isWithinShare(fee, units, sharePpm)).toBe(isWithin);
  });

  it('allows no fee once the day has more than its limit', () => {
    expect(feeAllowed(wide, { sum: 10n, usedToday: 2_000n, sameAsset: true })).toBe(0n);
  });
});
