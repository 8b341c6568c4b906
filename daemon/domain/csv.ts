/** Comma-separated values (RFC 4180) for spreadsheets. */

/**
 * The beginning of a formula: also in full-width characters, which some spreadsheets treat alike, and after blanks,
 * which some remove (OWASP, CSV Injection).
 */
const FORMULA =
  /^[\s\p{Cc}\p{Cf}]*[=+\-@\u{ff1d}\u{ff0b}\u{ff0d}\u{ff20}\u{fe66}\u{fe62}\u{fe63}\u{fe6b}\u{2212}]|^[\t\r\n]/u;

/** A figure below 0 is no formula: with a mark before it, a spreadsheet would leave it out of its sums. */
const FIGURE = /^-\d+(?:\.\d+)?$/;

/** A cell that a spreadsheet does not execute. */
export function cell(text: string): string {
  const safe = FORMULA.test(text) && !FIGURE.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const line = (cells: readonly string[]): string => `${cells.map(cell).join(',')}\r\n`;

/** The rows in their order, without the columns' names. */
export const csvRows = <C extends string>(columns: readonly C[], rows: readonly Record<C, string>[]): string =>
  rows.map((row) => line(columns.map((column) => row[column]))).join('');

/** The columns' names, then the rows in their order. */
export const csv = <C extends string>(columns: readonly C[], rows: readonly Record<C, string>[]): string =>
  line(columns) + csvRows(columns, rows);
