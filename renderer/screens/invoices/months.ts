/** Calendar months, for exports. */

const MONTHS_SHOWN = 13;
const MONTH = /^(\d{4})-(\d{2})$/;

/** The month of a day and those before it, as `2026-11`, the newest first. */
export function monthsUntil(today: string): string[] {
  const [year = 0, month = 1] = today.split('-').map(Number);
  return Array.from({ length: MONTHS_SHOWN }, (_, back) => {
    const date = new Date(Date.UTC(year, month - 1 - back, 15));
    return date.toISOString().slice(0, 7);
  });
}

/** The first and the last day of `2026-11`; null if it is no month. */
export function daysOfMonth(text: string): { from: string; to: string } | null {
  const [, year, month] = MONTH.exec(text) ?? [];
  if (year === undefined) return null;
  const last = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  return { from: `${text}-01`, to: `${text}-${last}` };
}
