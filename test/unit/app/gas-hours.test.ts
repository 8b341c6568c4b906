/** The hours of the day at which a plan collects. */
import { describe, expect, it } from 'vitest';
import { isHour } from '../../../daemon/app/gas/plans.ts';
import type { GasPlanRow } from '../../../daemon/store/queries/gas.ts';

const plan = (day_from: number | null, day_to: number | null) => ({ day_from, day_to }) as GasPlanRow;

describe('a plan of the hours', () => {
  it.each([
    ['02:00 to 05:00', plan(120, 300), ['02:00', '04:59'], ['01:59', '05:00', '23:00']],
    ['22:30 to 01:00', plan(1_350, 60), ['22:30', '23:59', '00:00', '00:59'], ['01:00', '12:00', '22:29']],
    ['any', plan(null, null), ['00:00', '12:00', '23:59'], []],
  ])('%s', (_, of, within, outside) => {
    const at = (time: string): boolean => isHour(of, Date.parse(`2030-06-01T${time}:30Z`), 'UTC');
    expect([within.map(at), outside.map(at)]).toEqual([within.map(() => true), outside.map(() => false)]);
  });

  it('are those of the time zone', () => {
    const night = Date.parse('2030-06-01T00:30:00Z');
    expect([isHour(plan(120, 300), night, 'Europe/Berlin'), isHour(plan(120, 300), night, 'UTC')]).toEqual([
      true,
      false,
    ]);
  });
});
