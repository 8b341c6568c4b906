/** Amounts, times and foreign text for the screen. Amounts stay decimal strings: they never become floating point. */
import { inFull } from '../../daemon/domain/currencies.ts';
import { type Language, useLanguage, useTimeZone } from '../i18n.ts';

/** Characters that could change the direction or the order of the text around them, and control characters. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const FOREIGN_CHARS_MAX = 500;

/** A text from outside as one line of limited length, without invisible characters. */
export function foreign(text: string): string {
  const line = text.toWellFormed().replace(/\s+/g, ' ').replace(UNSAFE, '\ufffd');
  return line.length > FOREIGN_CHARS_MAX ? `${line.slice(0, FOREIGN_CHARS_MAX)}…` : line;
}

/** Events by their time; those still to come are last, as they were. */
export function inOrder<T extends { at?: string }>(events: readonly T[]): T[] {
  const timeOf = ({ at }: T): number => (at === undefined ? Number.POSITIVE_INFINITY : Date.parse(at));
  return [...events].sort((a, b) => (timeOf(a) === timeOf(b) ? 0 : timeOf(a) - timeOf(b)));
}

/** A text that another sentence may follow. */
export const asSentence = (text: string): string => (/[.!?…]$/.test(text.trimEnd()) ? text : `${text}.`);

const SHOWN_DECIMALS = 8;

/** Digits with the language's separators. `decimals`: how many at most; cut, never rounded. */
export function decimal(value: string, language: Language, least = 0, most = SHOWN_DECIMALS): string {
  const format = new Intl.NumberFormat(language, {
    minimumFractionDigits: least,
    maximumFractionDigits: Math.max(least, most),
    roundingMode: 'trunc',
  });
  return format.format(value as Intl.StringNumericLiteral);
}

const COIN_DECIMALS = 18;
/** A coin's amount with every decimal that it has. */
export const exact = (amount: string, language: Language): string => decimal(amount, language, 0, COIN_DECIMALS);

/** An amount of fiat money, cut to the decimals that an amount of the currency may have. */
export function fiat(value: string, currency: string, language: Language): string {
  try {
    const format = new Intl.NumberFormat(language, {
      style: 'currency',
      currency,
      currencyDisplay: 'narrowSymbol',
      roundingMode: 'trunc',
      ...inFull(value, currency),
    });
    return format.format(value as Intl.StringNumericLiteral);
  } catch {
    return `${decimal(value, language)} ${foreign(currency)}`;
  }
}

/** The digits of a coin's amount, with its trailing zeros apart. Shown with eight decimals, or all if it has more. */
export function splitZeros(value: string, language: Language, whole: boolean): { digits: string; zeros: string } {
  const places = whole ? Math.max(SHOWN_DECIMALS, (value.split('.')[1] ?? '').length) : SHOWN_DECIMALS;
  const text = decimal(value, language, places, places);
  const zeros = /0+$/.exec(text)?.[0] ?? '';
  return { digits: text.slice(0, text.length - zeros.length), zeros };
}

const SCALE = 18;
/** A decimal as a whole number of 1e-18. */
export function scaled(value: string): bigint {
  const [whole = '0', part = ''] = value.replace('-', '').split('.');
  const size = BigInt(whole + part.slice(0, SCALE).padEnd(SCALE, '0'));
  return value.startsWith('-') ? -size : size;
}

export function unscaled(size: bigint): string {
  const digits = (size < 0n ? -size : size).toString().padStart(SCALE + 1, '0');
  return `${size < 0n ? '-' : ''}${digits.slice(0, -SCALE)}.${digits.slice(-SCALE)}`.replace(/\.?0+$/, '');
}

export const sum = (values: readonly string[]): string => unscaled(values.reduce((all, one) => all + scaled(one), 0n));
export const isZero = (value: string): boolean => /^-?0*\.?0*$/.test(value);

/** Cut to the decimals of a currency, so that sums of shown amounts are shown right. */
export function cut(value: string, decimals: number): string {
  const [whole = '0', part = ''] = value.split('.');
  return decimals === 0 ? whole : `${whole}.${part.slice(0, decimals).padEnd(decimals, '0')}`;
}

/** A typed amount, which is kept with a point, with the language's decimal sign. */
export const typed = (amount: string, language: Language): string =>
  amount.replace('.', (1.5).toLocaleString(language)[1]!);

/** Groups of four characters. */
export const groups = (text: string): string[] => text.match(/.{1,4}/gs) ?? [];

const SECONDS = { second: 1, minute: 60, hour: 3_600, day: 86_400 } as const;

function spanOf(seconds: number): { size: number; unit: keyof typeof SECONDS } {
  const all = Math.max(0, Math.floor(seconds));
  const unit = all >= 2 * SECONDS.day ? 'day' : all >= 2 * SECONDS.hour ? 'hour' : all >= 60 ? 'minute' : 'second';
  return { size: Math.floor(all / SECONDS[unit]), unit };
}

/** Seconds as one number and its unit: "9 min". */
export function span(seconds: number, language: Language): string {
  const { size, unit } = spanOf(seconds);
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'short' }).format(size);
}

/** How long ago, for a number of seconds: "22 sec. ago", "now". */
export function ago(seconds: number, language: Language): string {
  const { size, unit } = spanOf(seconds);
  return new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' }).format(-size, unit);
}

/** A day of another year than this one has its year. */
type Times = {
  clock(at: string | number, seconds?: boolean): string;
  day(at: string | number): string;
  long(at: string | number): string;
  /** The time for today, else the day. */
  short(at: string | number): string;
  full(at: string | number): string;
};

/** The day of a time in a time zone, as `2026-11-22`. */
export const dayIn = (at: string | number, timeZone: string): string =>
  new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' }).format(new Date(at));

/** Times in a time zone. */
export function times(language: Language, timeZone: string): Times {
  const format = (at: string | number, options: Intl.DateTimeFormatOptions): string =>
    new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, { ...options, timeZone }).format(new Date(at));
  const clock = (at: string | number, seconds = false): string =>
    format(at, { hour: '2-digit', minute: '2-digit', ...(seconds ? { second: '2-digit' } : {}) });
  const yearOf = (at: string | number): string => dayIn(at, timeZone).slice(0, -'-mm-dd'.length);
  const year = (at: string | number): Intl.DateTimeFormatOptions =>
    yearOf(at) === yearOf(Date.now()) ? {} : { year: 'numeric' };
  const day = (at: string | number): string => format(at, { day: 'numeric', month: 'short', ...year(at) });
  const isToday = (at: string | number): boolean => dayIn(at, timeZone) === dayIn(Date.now(), timeZone);
  return {
    clock,
    day,
    long: (at) => format(at, { weekday: 'long', day: 'numeric', month: 'long', ...year(at) }),
    short: (at) => (isToday(at) ? clock(at) : day(at)),
    full: (at) => format(at, { dateStyle: 'medium', timeStyle: 'medium' }),
  };
}

export const useTimes = (): Times => times(useLanguage(), useTimeZone());

const LINES_MAX = 4;

/** A round step so that at most four lines cover the highest value. */
export function stepFor(most: number): number {
  if (most <= 0) return 1;
  const size = 10 ** Math.floor(Math.log10(most / LINES_MAX));
  return [1, 2, 5, 10].map((factor) => factor * size).find((step) => most / step <= LINES_MAX) ?? 10 * size;
}
