/** Schedules of five fields, and the slots that they name, also where clocks are put forward and back. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lastSlot, parseSchedule } from '../../../daemon/kit/schedule.ts';

let zone: string | undefined;
beforeEach(() => {
  zone = process.env.TZ;
  process.env.TZ = 'Europe/Berlin';
});
afterEach(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

const slot = (schedule: string, now: string): string | null => {
  const at = lastSlot(parseSchedule(schedule)!, Date.parse(now));
  return at === null ? null : new Date(at).toISOString().replace(':00.000Z', 'Z');
};

describe('a schedule', () => {
  it.each([
    ['0 3 * * *', '2026-05-05T12:00:00Z', '2026-05-05T01:00Z'],
    ['0 3 * * *', '2026-05-05T00:59:59Z', '2026-05-04T01:00Z'],
    ['0 3 * * *', '2026-05-05T01:00:00Z', '2026-05-05T01:00Z'],
    ['*/20 * * * *', '2026-05-05T12:39:59Z', '2026-05-05T12:20Z'],
    ['5,10-12 8 * * *', '2026-05-05T06:11:30Z', '2026-05-05T06:11Z'],
    ['0 0 1 * *', '2026-05-05T12:00:00Z', '2026-04-30T22:00Z'],
    ['0 0 * * mon', '2026-05-05T12:00:00Z', '2026-05-03T22:00Z'],
    ['0 0 * * 7', '2026-05-05T12:00:00Z', '2026-05-02T22:00Z'],
    // either will do when both are restricted: the 4th, a Monday, is later than the 1st
    ['0 12 1 * 1', '2026-05-05T12:00:00Z', '2026-05-04T10:00Z'],
    ['0 12 29 feb *', '2027-06-01T00:00:00Z', '2024-02-29T11:00Z'],
  ])('%s at %s was due last at %s', (schedule, now, expected) => {
    expect(slot(schedule, now)).toBe(expected);
  });

  it('of 02:40 comes at 03:00 in the night that has none', () => {
    // at 01:00 UTC of that night it is 03:00 in Berlin at once
    expect(slot('40 2 * * *', '2026-03-29T00:59:59Z')).toBe('2026-03-28T01:40Z');
    expect(slot('40 2 * * *', '2026-03-29T01:00:00Z')).toBe('2026-03-29T01:00Z');
    expect(slot('40 2 * * *', '2026-03-30T00:39:59Z')).toBe('2026-03-29T01:00Z');
    expect(slot('40 2 * * *', '2026-03-30T00:40:00Z')).toBe('2026-03-30T00:40Z');
  });

  it('of 02:40 comes once in the night that has two, and one of any hour comes in both', () => {
    // 02:00 to 03:00 in Berlin is from 00:00 and again from 01:00 UTC
    expect(slot('40 2 * * *', '2026-10-25T00:40:00Z')).toBe('2026-10-25T00:40Z');
    expect(slot('40 2 * * *', '2026-10-25T02:30:00Z')).toBe('2026-10-25T00:40Z');
    expect(slot('40 * * * *', '2026-10-25T00:59:00Z')).toBe('2026-10-25T00:40Z');
    expect(slot('40 * * * *', '2026-10-25T01:59:00Z')).toBe('2026-10-25T01:40Z');
  });

  it.each(['', '* * * *', '* * * * * *', '60 * * * *', '* 24 * * *', '* * 0 * *', '* * * 13 *', '* * * * 8'])(
    'of "%s" is none',
    (text) => expect(parseSchedule(text)).toBeNull(),
  );
  it('of a day that no year has is none', () => {
    expect(['0 3 30 2 *', '0 3 31 4,6,9,11 *'].map(parseSchedule)).toEqual([null, null]);
    expect(slot('0 3 31 2 mon', '2026-03-01T00:00:00Z')).toBe('2026-02-23T02:00Z');
  });
  it.each(['0 0 L * *', '0 0 * * 5#2', '? * * * *', '0 0 15W * *', '@daily', '@daily * * * *'])(
    'of "%s", which crontab does not have, is none',
    (text) => expect(parseSchedule(text)).toBeNull(),
  );
  it.each(['*/0 * * * *', '5-3 * * * *', '1/2 * * * *', '1-2-3 * * * *', ', * * * *', '*/1/2 * * * *', '-1 * * * *'])(
    'of "%s" is none either',
    (text) => expect(parseSchedule(text)).toBeNull(),
  );
});
