/** Parsers of options and arguments. A wrong value is reported in commander's own way. */
import { InvalidArgumentError } from 'commander';
import { EARLIER_RESTORES_MAX } from '../domain/indices.ts';

const UUID = /^[\da-f]{8}-[\da-f]{4}-[1-8][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i;

/** A parser of whole numbers from `min` to `max`. `what` continues "It must be". */
const wholeFrom =
  (min: number, max: number, what: string) =>
  (text: string): number => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be ${what}.`);
  };

/** An id or a limit. */
export const wholeNumber = wholeFrom(1, Number.MAX_SAFE_INTEGER, 'a whole number from 1');

/** The number of a withdrawal, as the operator API takes it. */
export const withdrawalNumber = (text: string): string => `${wholeNumber(text)}`;

/** A UUID, as the operator API takes it for the id of a request. */
export function requestId(text: string): string {
  if (UUID.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError('It must be a UUID, such as the one that the command named.');
}

export const blockHeight = wholeFrom(0, 1_000_000_000, 'the number of a block, such as 3100000');

const WAIT_SECONDS_MAX = 604_800;
export const secondsToWait = wholeFrom(0, WAIT_SECONDS_MAX, `a whole number of seconds from 0 to ${WAIT_SECONDS_MAX}`);

/** How often a shop was restored since a backup was made. */
export const earlierRestores = wholeFrom(0, EARLIER_RESTORES_MAX, `a whole number from 0 to ${EARLIER_RESTORES_MAX}`);

/** Ids with commas or spaces between them, `all` or `none`. */
export function keptKeys(text: string): number[] | 'all' {
  const words = text.trim().toLowerCase();
  if (words === 'all') return 'all';
  if (words === 'none') return [];
  const ids = words.split(/[\s,]+/);
  if (!ids.every((id) => /^[1-9]\d{0,14}$/.test(id))) {
    throw new InvalidArgumentError('It must be the ids of keys, such as 3,7, or all, or none.');
  }
  return ids.map(Number);
}

export const port = wholeFrom(0, 65_535, 'a port from 0 (any free one) to 65535');

/** As `[wallet] auto_lock_minutes` takes it. */
export const lockMinutes = wholeFrom(0, 1_440, 'a whole number of minutes from 0 (never) to 1440');

/** The symbol of a coin, a chain or a currency, which may be typed in small letters. */
export const symbol = (text: string): string => text.trim().toUpperCase();

/** The beginning (UTC) of an existing day written YYYY-MM-DD; null if the text is none. */
function dayOf(text: string): string | null {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(at)) return null;
  const iso = new Date(at).toISOString();
  // of the 30th of February, Date.parse makes a day in March
  return iso.startsWith(text) ? iso : null;
}

/** The beginning (UTC) of an existing day written YYYY-MM-DD. */
export function day(text: string): string {
  const found = dayOf(text);
  if (found === null) throw new InvalidArgumentError('It must be a day such as 2026-01-31.');
  return found;
}

const TIME = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})$/;

/** A time with its zone (RFC 3339; the seconds are optional), in milliseconds since 1970. */
export function time(text: string): number {
  const [, date = ''] = TIME.exec(text) ?? [];
  const at = date !== '' && dayOf(date) !== null ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(at)) return at;
  throw new InvalidArgumentError('It must be a time with its zone, such as 2026-01-31T02:00:00Z.');
}
