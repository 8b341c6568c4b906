/** The amount that a till's digits make. */

const DIGITS_MAX = 9;
export const CENTS = 2;

/** Digits as a decimal with cents: "1240" is 12.40. */
export const amountOf = (digits: string): string => {
  const padded = digits.padStart(CENTS + 1, '0');
  return `${padded.slice(0, -CENTS)}.${padded.slice(-CENTS)}`;
};

export function press(digits: string, key: string): string {
  if (key === 'Backspace') return digits.slice(0, -1);
  const next = `${digits}${key}`.replace(/^0+/, '');
  return next.length > DIGITS_MAX ? digits : next;
}
