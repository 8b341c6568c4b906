/** A closing of the counter's day as a file of comma-separated values: one row a figure. */
import { csv } from '../domain/csv.ts';
import type { Result } from './operator.ts';

export type Closing = Result<'closing.next'>['closing'];

const COLUMNS = ['closing', 'from', 'to', 'currency', 'kind', 'name', 'count', 'net', 'tax', 'amount'] as const;
type Row = Record<(typeof COLUMNS)[number], string>;

const rateText = (rate: number | null): string => (rate === null ? '' : `${rate / 100} %`);

/** Sales, tips, refunds and what was taken, then items, coins, rates and fees. */
export function closingCsv({ number, from, to, parts }: Pick<Closing, 'number' | 'from' | 'to' | 'parts'>): string {
  const rows = parts.flatMap(({ currency, ...part }): Row[] => {
    const row = (kind: string, amount: string, more: Partial<Row> = {}): Row => ({
      closing: `${number}`,
      from: from ?? '',
      to,
      currency,
      kind,
      name: '',
      count: '',
      net: '',
      tax: '',
      amount,
      ...more,
    });
    return [
      row('sales', part.sales.sum, { count: `${part.sales.count}` }),
      row('tips', part.tips),
      row('refunds', part.refunds.sum, { count: `${part.refunds.count}` }),
      row('taken', part.taken),
      ...part.items.map(({ name, quantity, sum }) => row('item', sum, { name, count: `${quantity}` })),
      ...part.coins.map(({ crypto, payments, sum }) => row('coin', sum, { name: crypto ?? '', count: `${payments}` })),
      row('difference', part.difference),
      ...part.taxes.map(({ rate, net, tax, gross }) => row('tax', gross, { name: rateText(rate), net, tax })),
      row('kept_tips', part.kept_tips),
      ...part.fees.map(({ crypto, amount }) => row('refund_fee', amount, { name: crypto })),
    ];
  });
  return csv(COLUMNS, rows);
}
