/** Lengths of time in milliseconds. */
export const MS_PER_SECOND = 1_000;
export const MS_PER_MINUTE = 60 * MS_PER_SECOND;
export const MS_PER_HOUR = 60 * MS_PER_MINUTE;
export const MS_PER_DAY = 24 * MS_PER_HOUR;

/** Nothing that is tried again waits for more than a day: if it is due after this time, a clock that was ahead has put it off. */
export const putOffUntil = (now: number): number => now + MS_PER_DAY;
