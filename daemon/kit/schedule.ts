/**
 * Schedules in crontab(5)'s five fields, in the machine's time zone. A slot is a minute that a schedule names.
 *
 * If the clocks are put forward over a slot, it comes at that moment: 02:40 becomes 03:00. If they are put back, a
 * slot comes once, at its first time; if the hour is `*`, both times.
 */
import { Cron } from 'croner';

export type Schedule = { readonly cron: Cron };

/** Of crontab(5), and nothing that other programs add, such as a month's last day. */
const FIELD = /^(?:[\d*,/-]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat)+$/i;

/** Parses minute, hour, day of the month, month and day of the week; null if they are no schedule, or name a day that no year has. */
export function parseSchedule(text: string): Schedule | null {
  const fields = text.trim().split(/\s+/);
  if (fields.length !== 5 || !fields.every((field) => FIELD.test(field))) return null;
  // if both fields are restricted, a day needs to match only one of them
  const domAndDow = fields[2]!.startsWith('*') || fields[4]!.startsWith('*');
  try {
    const cron = new Cron(fields.join(' '), { mode: '5-part', domAndDow, paused: true });
    return cron.nextRun() === null ? null : { cron };
  } catch {
    return null;
  }
}

/** The last slot at or before `now` (milliseconds since 1970); null if there was none in eight years. */
export function lastSlot({ cron }: Schedule, now: number): number | null {
  // a run of this very millisecond is none before it
  return cron.previousRuns(1, new Date(now + 1))[0]?.getTime() ?? null;
}
