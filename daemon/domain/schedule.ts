/**
 * Schedules in crontab(5)'s five fields, in the machine's time zone. A slot is a minute that a schedule names.
 *
 * If the clocks are put forward over a slot, it comes that much later: 02:40 becomes 03:40. If they are put back, a
 * slot comes once, at its first time; if the hour is `*`, both times.
 */
export type Schedule = {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  readonly anyHour: boolean;
  /** If both fields are restricted, a day needs to match only one of them, as in crontab(5). */
  readonly eitherDay: boolean;
};

type Field = { low: number; high: number; names?: readonly string[] };
const MINUTE: Field = { low: 0, high: 59 };
const HOUR: Field = { low: 0, high: 23 };
const DAY: Field = { low: 1, high: 31 };
const MONTH_NAMES = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const MONTH: Field = { low: 1, high: 12, names: MONTH_NAMES };
/** Both 0 and 7 are Sunday. */
const WEEKDAY: Field = { low: 0, high: 7, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] };

/** Leap days are up to eight years apart. */
const DAYS_BACK_MAX = 8 * 366;
/** How far time zones put their clocks back. */
const REPEATED_MS = [1_800_000, 3_600_000];

function numberOf(text: string, { low, high, names = [] }: Field): number | null {
  const named = names.indexOf(text.toLowerCase());
  if (named >= 0) return low + named;
  const value = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  return value >= low && value <= high ? value : null;
}

/** The values of a field: a list of `*`, `n` or `n-m`. A step may follow all but a single value. */
function valuesOf(text: string, field: Field): number[] | null {
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const [range = '', stepText, ...more] = part.split('/');
    const step = stepText === undefined ? 1 : /^\d{1,2}$/.test(stepText) ? Number(stepText) : 0;
    const [fromText = '', toText, ...rest] = range === '*' ? [`${field.low}`, `${field.high}`] : range.split('-');
    const from = numberOf(fromText, field);
    const to = toText === undefined ? from : numberOf(toText, field);
    const stepsOne = stepText !== undefined && toText === undefined;
    if (more.length > 0 || rest.length > 0 || step < 1 || from === null || to === null || to < from || stepsOne) {
      return null;
    }
    for (let value = from; value <= to; value += step) values.add(value);
  }
  return [...values].sort((a, b) => a - b);
}

const LONGEST_MONTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Parses minute, hour, day of the month, month and day of the week; null if they are no schedule, or name a day that no year has. */
export function parseSchedule(text: string): Schedule | null {
  const fields = text.trim().split(/\s+/);
  if (fields.length !== 5) return null;
  const [minutes, hours, days, months, weekdays] = [MINUTE, HOUR, DAY, MONTH, WEEKDAY].map((field, i) =>
    valuesOf(fields[i]!, field),
  );
  if (!minutes || !hours || !days || !months || !weekdays) return null;
  const eitherDay = !fields[2]!.startsWith('*') && !fields[4]!.startsWith('*');
  if (!eitherDay && months.every((month) => days[0]! > LONGEST_MONTHS[month - 1]!)) return null;
  return {
    minutes,
    hours,
    days: new Set(days),
    months: new Set(months),
    weekdays: new Set(weekdays.map((day) => day % 7)),
    anyHour: hours.length === 24,
    eitherDay,
  };
}

/** The last slot at or before `now` (milliseconds since 1970); null if there was none in eight years. */
export function lastSlot(schedule: Schedule, now: number): number | null {
  const today = new Date(now);
  for (let back = 0; back <= DAYS_BACK_MAX; back++) {
    // noon: no time zone changes its clocks then
    const day = new Date(today.getFullYear(), today.getMonth(), today.getDate() - back, 12);
    if (!isDay(schedule, day)) continue;
    const slot = lastOfDay(schedule, day, now);
    if (slot !== null) return slot;
  }
  return null;
}

function isDay({ days, months, weekdays, eitherDay }: Schedule, day: Date): boolean {
  if (!months.has(day.getMonth() + 1)) return false;
  const [ofMonth, ofWeek] = [days.has(day.getDate()), weekdays.has(day.getDay())];
  return eitherDay ? ofMonth || ofWeek : ofMonth && ofWeek;
}

function lastOfDay(schedule: Schedule, day: Date, now: number): number | null {
  let last: number | null = null;
  for (const hour of schedule.hours) {
    for (const minute of schedule.minutes) {
      for (const at of instantsOf(schedule, day, hour, minute)) {
        if (at <= now && at > (last ?? Number.NEGATIVE_INFINITY)) last = at;
      }
    }
  }
  return last;
}

function instantsOf({ anyHour }: Schedule, day: Date, hour: number, minute: number): number[] {
  const first = new Date(day.getFullYear(), day.getMonth(), day.getDate(), hour, minute).getTime();
  if (!anyHour) return [first];
  const isAgain = (at: number): boolean => {
    const again = new Date(at);
    return again.getHours() === hour && again.getMinutes() === minute && again.getDate() === day.getDate();
  };
  return [first, ...REPEATED_MS.map((ms) => first + ms).filter(isAgain)];
}
