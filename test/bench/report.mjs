/** Turns measurements into the table that is printed. Pure: it measures nothing. */

/** The middle of some numbers; of an even count the mean of the two in the middle. NaN when there are none. */
export function median(values) {
  const sorted = values.filter((value) => Number.isFinite(value)).sort((a, b) => a - b);
  const middle = sorted.length / 2;
  if (sorted.length === 0) return Number.NaN;
  if (sorted.length % 2 === 1) return sorted[Math.floor(middle)];
  return (sorted[middle - 1] + sorted[middle]) / 2;
}

/** A number with separators, with as many decimals as its size deserves. */
export function show(value) {
  if (!Number.isFinite(value)) return '–';
  const decimals = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toLocaleString('en-US', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** Rows of cells in columns, the first to the left and the others to the right. */
export function columns(rows) {
  if (rows.length === 0) return '';
  const widths = rows[0].map((_, i) => Math.max(...rows.map((row) => row[i].length)));
  return rows
    .map((row) => row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  '))
    .map((line) => `  ${line.trimEnd()}\n`)
    .join('');
}

const LOAD_COLUMNS = ['', 'per second', 'p50 ms', 'p99 ms', 'CPU µs each', 'slowest to fastest round'];

/** One line of the load table from the rounds of one measurement. */
function loadRow(label, rounds) {
  const rates = rounds.map((round) => round.perSecond);
  const cells = ['perSecond', 'p50', 'p99', 'cpuUs'].map((name) => show(median(rounds.map((round) => round[name]))));
  return [label, ...cells, `${show(Math.min(...rates))} – ${show(Math.max(...rates))}`];
}

/** `series`: the rounds by label, in the order in which they are shown. */
export function loadTable(series) {
  const rows = [...series].filter(([, rounds]) => rounds.length > 0).map(([label, rounds]) => loadRow(label, rounds));
  return columns([LOAD_COLUMNS, ...rows]);
}

/** Lines of label, value and unit. */
export function valueTable(lines) {
  return columns(lines.map(([label, value, unit]) => [label, `${show(value)} ${unit}`]));
}

/** What was aimed at: `[label, value, '≥' | '≤' | '<', limit]`; those that were not measured are left out. */
export function aimTable(aims) {
  const measured = aims.filter(([, value]) => Number.isFinite(value));
  const met = ([, value, sign, limit]) =>
    sign === '≥' ? value >= limit : sign === '≤' ? value <= limit : value < limit;
  return columns(
    measured.map((aim) => [aim[0], show(aim[1]), `${aim[2]} ${show(aim[3])}`, met(aim) ? 'met' : 'MISSED']),
  );
}
