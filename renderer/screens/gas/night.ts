/** When a plan for a night begins. */
import { dayOf, instantOf } from '../../../daemon/domain/calendar.ts';

const NIGHT_MINUTE = 3 * 60;

/** The next three o'clock in a time zone, in milliseconds since 1970. */
export function nextNight(now: number, timeZone: string): number {
  const today = dayOf(now, timeZone);
  const at = instantOf(today, NIGHT_MINUTE, timeZone);
  return at > now ? at : instantOf({ ...today, day: today.day + 1 }, NIGHT_MINUTE, timeZone);
}
