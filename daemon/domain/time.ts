/** Lengths of time in milliseconds. */
export const MS_PER_SECOND = 1_000;
export const MS_PER_MINUTE = 60 * MS_PER_SECOND;
export const MS_PER_HOUR = 60 * MS_PER_MINUTE;
export const MS_PER_DAY = 24 * MS_PER_HOUR;

/** Each pause before another try is a day at most: a try that is due after this time was put off by a clock that was ahead. */
export const putOffUntil = (now: number): number => now + MS_PER_DAY;
