/** Cells of a table that a spreadsheet opens. */
import { describe, expect, it } from 'vitest';
import { cell } from '../../daemon/domain/csv.ts';

describe('a cell', () => {
  it.each([
    '=1+1',
    '+1',
    '-1+1',
    '-A1',
    '-1\n',
    '@SUM(A1)',
    '\t=1',
    '\r=1',
    '\n=1',
    ' =1',
    '\u{feff}=1',
    '\u{ff1d}1+1',
    '\u{ff0b}1',
    '\u{ff0d}1',
    '\u{ff20}A',
    '\u{3000}\u{ff1d}1',
  ])('of %j is no formula', (text) => expect(cell(text).replace(/^"/, '').startsWith("'")).toBe(true));
  it.each([
    // German and French spreadsheets, among others, split lines at semicolons, and see no quotes in the middle of a part
    ['7;=1+1', "7;'=1+1"],
    ['7; +1;-1', "7;' +1;'-1"],
    ['7;"=1"', `"7;'""=1"""`],
    ['7\t@A', "7\t'@A"],
    ['7\n=1', `"7\n'=1"`],
  ])('of %j begins no formula where a spreadsheet splits it', (text, expected) => expect(cell(text)).toBe(expected));
  it.each(['Shop', 'a; b=c; 1', '1.50', 'a=b', '2026-01-01', '', '-1', '-0.00000001'])('of %j is itself', (text) =>
    expect(cell(text)).toBe(text),
  );
});
