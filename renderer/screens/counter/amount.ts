/** The amount that a till's digits make. */

const DIGITS_MAX = 9;
export const CENTS = 2;

/** Digits as a decimal with cents: "1240" is 12.40, or 1240 in a currency without cents. */
export const amountOf = (digits: string, decimals = CENTS): string => {
  if (decimals === 0) return digits === '' ? '0' : `${BigInt(digits)}`;
  const padded = digits.padStart(CENTS + 1, '0');
  return `${padded.slice(0, -CENTS)}.${padded.slice(-CENTS)}`;
};

/** The digits of a decimal; none for a text that is no amount of a currency with so many decimals. */
export function digitsOf(amount: string, decimals: number): string {
  const [, whole = '', cents = ''] = /^(\d{1,7})(?:\.(\d{1,2}))?$/.exec(amount) ?? [];
  const part = cents.padEnd(CENTS, '0');
  if (whole === '' || /[1-9]/.test(part.slice(decimals))) return '';
  return `${whole}${part.slice(0, decimals)}`.replace(/^0+/, '');
}

export function press(digits: string, key: string): string {
  if (key === 'Backspace') return digits.slice(0, -1);
  const next = `${digits}${key}`.replace(/^0+/, '');
  return next.length > DIGITS_MAX ? digits : next;
}

/** Percent of the amount; none at first. */
export const TIPS = ['0', '5', '10', '15'] as const;
export type Tip = (typeof TIPS)[number];

/** The digits of a tip on an amount, rounded down to a cent: in the payer's favour. */
export const tipOn = (digits: string, percent: Tip): string =>
  `${(BigInt(digits || '0') * BigInt(percent)) / 100n}`.replace(/^0$/, '');

const ASKS = 'countinghouse-till-tips';
/** Whether the counter of this browser offers tips. */
export const asksTips = (): boolean => localStorage.getItem(ASKS) === 'on';
export const setAsksTips = (on: boolean): void => localStorage.setItem(ASKS, on ? 'on' : 'off');
