import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compareDays,
  dayOf,
  daysInMonth,
  endOfDay,
  endOfMonth,
  isTimeZone,
  minuteOfDay,
  parseDay,
  toIso,
} from '../../../daemon/domain/calendar.ts';

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/St_Johns',
  'Australia/Lord_Howe',
  'Asia/Tokyo',
  'Asia/Beirut',
  'Africa/Cairo',
  'America/Santiago',
  'America/Havana',
  'Atlantic/Azores',
];

describe('parseDay', () => {
  it.each([
    ['12/31/2030', { year: 2030, month: 12, day: 31 }],
    ['1/2/2030', { year: 2030, month: 1, day: 2 }],
    ['02/29/2028', { year: 2028, month: 2, day: 29 }],
    ['02/29/2030', null],
    ['02/30/2028', null],
    ['13/01/2030', null],
    ['00/10/2030', null],
    ['04/31/2030', null],
    ['31/12/2030', null],
    ['2030-12-31', null],
    ['12/31/30', null],
    [' 12/31/2030', null],
    ['12/31/2030 ', null],
    ['', null],
  ])('%j', (text, expected) => expect(parseDay(text)).toEqual(expected));
});

describe('the end of a day', () => {
  it.each([
    ['UTC', '2026-11-30T23:59:59.000000Z'],
    ['Europe/Berlin', '2026-11-30T22:59:59.000000Z'],
    ['America/New_York', '2026-12-01T04:59:59.000000Z'],
    ['Asia/Kolkata', '2026-11-30T18:29:59.000000Z'],
    ['Pacific/Kiritimati', '2026-11-30T09:59:59.000000Z'],
  ])('of 30 November 2026 in %s is %s', (zone, expected) => {
    expect(toIso(endOfDay({ year: 2026, month: 11, day: 30 }, zone))).toBe(expected);
  });

  it.each([
    // the clocks go back at 03:00 on 25 October 2026, forward at 02:00 on 29 March
    [{ year: 2026, month: 10, day: 24 }, '2026-10-24T21:59:59.000000Z'],
    [{ year: 2026, month: 10, day: 25 }, '2026-10-25T22:59:59.000000Z'],
    [{ year: 2026, month: 3, day: 28 }, '2026-03-28T22:59:59.000000Z'],
    [{ year: 2026, month: 3, day: 29 }, '2026-03-29T21:59:59.000000Z'],
  ])('%o around a change of the clocks in Berlin', (day, expected) => {
    expect(toIso(endOfDay(day, 'Europe/Berlin'))).toBe(expected);
  });

  it.each([
    // at midnight the clocks go back to 23:00
    [{ year: 2026, month: 10, day: 24 }, 'Asia/Beirut', '2026-10-24T21:59:59.000000Z'],
    [{ year: 2026, month: 10, day: 29 }, 'Africa/Cairo', '2026-10-29T21:59:59.000000Z'],
    [{ year: 2027, month: 4, day: 3 }, 'America/Santiago', '2027-04-04T03:59:59.000000Z'],
  ])('%o in %s, whose last hour comes twice, is that of the second', (day, zone, expected) => {
    expect(toIso(endOfDay(day, zone))).toBe(expected);
  });

  it.each(ZONES)('of the last day that can be written is not in a year of five digits, also in %s', (zone) => {
    expect(toIso(endOfDay({ year: 9_999, month: 12, day: 31 }, zone))).toMatch(/^9999-12-31T\d\d:\d\d:59\.000000Z$/);
  });

  it('of every day of the change of the clocks lies in that day, and a second later does not', () => {
    for (const zone of ['Asia/Beirut', 'Africa/Cairo', 'America/Santiago', 'America/Havana', 'Atlantic/Azores']) {
      for (let at = Date.UTC(2026, 0, 1, 12); at < Date.UTC(2028, 0, 1); at += 86_400_000) {
        const day = dayOf(at, zone);
        const end = endOfDay(day, zone);
        expect([zone, dayOf(end, zone)]).toEqual([zone, day]);
        expect(compareDays(dayOf(end + 1_000, zone), day)).toBeGreaterThan(0);
      }
    }
  });

  it('lies in that day, and a second later does not', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ZONES),
        fc.integer({ min: 2020, max: 2040 }),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 28 }),
        (zone, year, month, day) => {
          const end = endOfDay({ year, month, day }, zone);
          expect(dayOf(end, zone)).toEqual({ year, month, day });
          expect(compareDays(dayOf(end + 1_000, zone), { year, month, day })).toBeGreaterThan(0);
        },
      ),
    );
  });
});

it('the end of a month is that of its last day, whatever was asked before', () => {
  const at = fc.oneof(
    fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2028, 0, 1) }),
    // a day around the end of a month, wherever that is
    fc.integer({ min: Date.UTC(2026, 9, 31), max: Date.UTC(2026, 10, 2) }),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(at, fc.constantFrom(...ZONES)), { minLength: 1, maxLength: 20 }), (asked) => {
      for (const [time, zone] of asked) {
        const { year, month } = dayOf(time, zone);
        const end = endOfDay({ year, month, day: daysInMonth(year, month) }, zone);
        expect([zone, time, toIso(endOfMonth(time, zone))]).toEqual([zone, time, toIso(end)]);
      }
    }),
  );
});

it('knows the days of months', () => {
  expect([1, 2, 3, 4, 9, 12].map((month) => daysInMonth(2027, month))).toEqual([31, 28, 31, 30, 30, 31]);
  expect([2000, 2028, 2100].map((year) => daysInMonth(year, 2))).toEqual([29, 29, 28]);
});

it('writes instants with six digits of a second', () => {
  expect(toIso(Date.UTC(2026, 10, 21, 3, 4, 5, 67))).toBe('2026-11-21T03:04:05.067000Z');
  fc.assert(
    fc.property(fc.integer({ min: -1e12, max: 4e12 }), (at) => {
      expect(toIso(at)).toBe(`${new Date(at).toISOString().slice(0, -1)}000Z`);
    }),
  );
});

it('knows time zones', () => {
  expect(['UTC', 'Europe/Berlin', 'Mars/Olympus', ''].map(isTimeZone)).toEqual([true, true, false, false]);
});

describe('the minute of the day', () => {
  it.each([
    ['2026-06-01T00:00:00Z', 'UTC', 0],
    ['2026-06-01T23:59:59Z', 'UTC', 1_439],
    ['2026-06-01T23:30:00Z', 'Europe/Berlin', 90],
    ['2026-01-01T03:15:00Z', 'Asia/Kolkata', 525],
  ])('of %s in %s is %i', (at, zone, minute) => {
    expect(minuteOfDay(Date.parse(at), zone)).toBe(minute);
  });
});
