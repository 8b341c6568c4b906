/** The statement of a month as a file of comma-separated values: one row a figure. */
import type { Result } from '../contract/operator.ts';
import { csv } from '../domain/csv.ts';

export type Statement = Result<'books.statement'>;
export type Flow = keyof Statement['coins'][number]['flows'];

/** The figures between the opening and the closing balance, in their order. */
export const FLOWS: readonly Flow[] = ['takings', 'received', 'refunds', 'withdrawals', 'fees', 'corrected'];

const COLUMNS = ['month', 'business', 'part', 'unit', 'name', 'amount', 'net', 'vat'] as const;
type Row = Record<(typeof COLUMNS)[number], string>;

/** A rate as a percentage without its sign, `tip`, or `none`. */
export const rateText = (rate: number | 'tip' | null): string =>
  typeof rate === 'number' ? `${rate / 100}` : (rate ?? 'none');

/** `part`: coin, value, vat or unrated. `unit`: the coin or the currency. `amount` of VAT: gross. */
export function statementCsv({ month, business, coins, values, taxes }: Statement): string {
  const row = (part: string, unit: string, name: string, amount: string, net = '', vat = ''): Row => ({
    month,
    business,
    part,
    unit,
    name,
    amount,
    net,
    vat,
  });
  return csv(COLUMNS, [
    ...coins.flatMap(({ crypto, opening, closing, flows }) => [
      row('coin', crypto, 'opening', opening),
      ...FLOWS.map((flow) => row('coin', crypto, flow, flows[flow])),
      row('coin', crypto, 'closing', closing),
    ]),
    ...values.flatMap(({ currency, unrated, flows }) => [
      ...FLOWS.map((flow) => row('value', currency, flow, flows[flow])),
      row('unrated', currency, 'lines', `${unrated}`),
    ]),
    ...taxes.map(({ currency, rate, net, tax, gross }) => row('vat', currency, rateText(rate), gross, net, tax)),
  ]);
}
