/** Tables and lists as plain text with aligned columns. */
import { MS_PER_MINUTE } from '../domain/time.ts';
import { clean } from './io.ts';

const GAP = '  ';

/** Characters that take two columns: East Asian wide ones and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u;
const COMBINING = /^\p{Mark}$/u;

/** The columns of a text on a terminal. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += COMBINING.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}

/**
 * A table with a heading. A title that begins with '>' aligns its column to the right. Without rows, returns `none`.
 */
export function table(titles: readonly string[], rows: readonly (readonly string[])[], none: string): string {
  if (rows.length === 0) return `${none}\n`;
  const right = titles.map((title) => title.startsWith('>'));
  const lines = [titles.map((title) => title.replace(/^>/, '')), ...rows.map((row) => row.map(clean))];
  const widths = titles.map((_, column) => Math.max(...lines.map((line) => widthOf(line[column] ?? ''))));
  const text = lines.map((line) =>
    line
      .map((cell, column) => {
        const space = ' '.repeat((widths[column] ?? 0) - widthOf(cell));
        return right[column] ? space + cell : cell + space;
      })
      .join(GAP)
      .trimEnd(),
  );
  return `${text.join('\n')}\n`;
}

/** Labels and values, one pair per line; pairs whose value is null are left out. */
export function pairs(rows: readonly (readonly [label: string, value: string | null])[]): string {
  const shown = rows.filter((row): row is [string, string] => row[1] !== null);
  const width = Math.max(0, ...shown.map(([label]) => widthOf(label)));
  return shown.map(([label, value]) => `${label.padEnd(width)}${GAP}${clean(value)}\n`).join('');
}

/** The local time: 2026-11-30 23:59. */
export function when(iso: string | null): string {
  if (iso === null) return '-';
  const at = new Date(iso);
  const local = new Date(at.getTime() - at.getTimezoneOffset() * MS_PER_MINUTE).toISOString();
  return `${local.slice(0, 10)} ${local.slice(11, 16)}`;
}

/** Each line, if it has text, two columns further in. */
export const indent = (text: string): string => text.replace(/^(?=.)/gm, '  ');

export const BYTES_PER_MB = 1_000_000;

export const megabytes = (bytes: number): string => `${(bytes / BYTES_PER_MB).toFixed(1)} MB`;

/** A duration in its two largest units: 3 h 12 min. */
export function span(seconds: number): string {
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [Math.floor(seconds) % 60, 's'],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  const shown = first < 0 ? parts.slice(-1) : parts.slice(first, first + 2).filter(([count]) => count > 0);
  return shown.map(([count, unit]) => `${count} ${unit}`).join(' ');
}
