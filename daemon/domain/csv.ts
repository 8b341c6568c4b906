/** Comma-separated values (RFC 4180) for spreadsheets. */

/**
 * The beginning of a formula: also in full-width characters, which some spreadsheets treat alike, and after blanks,
 * which some remove (OWASP, CSV Injection).
 */
const SIGN = String.raw`[=+\-@\u{ff1d}\u{ff0b}\u{ff0d}\u{ff20}\u{fe66}\u{fe62}\u{fe63}\u{fe6b}\u{2212}]`;
const FORMULA = new RegExp(String.raw`^[\s\p{Cc}\p{Cf}]*${SIGN}|^[\t\r\n]`, 'u');

/** Where a spreadsheet that does not split lines at commas begins a cell within a text, quotes or not, and a formula follows. */
const PART = new RegExp(String.raw`[;\t\r\n](?=["\s\p{Cc}\p{Cf}]*${SIGN})`, 'gu');

/** A figure below 0 is no formula: with a mark before it, a spreadsheet would leave it out of its sums. */
const FIGURE = /^-\d+(?:\.\d+)?$/;

/** A cell that a spreadsheet does not execute. */
export function cell(text: string): string {
  const parts = text.replace(PART, "$&'");
  const safe = FORMULA.test(text) && !FIGURE.test(text) ? `'${parts}` : parts;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const line = (cells: readonly string[]): string => `${cells.map(cell).join(',')}\r\n`;

/** The rows in their order, without the columns' names. */
export const csvRows = <C extends string>(columns: readonly C[], rows: readonly Record<C, string>[]): string =>
  rows.map((row) => line(columns.map((column) => row[column]))).join('');

/** The columns' names, then the rows in their order. */
export const csv = <C extends string>(columns: readonly C[], rows: readonly Record<C, string>[]): string =>
  line(columns) + csvRows(columns, rows);
