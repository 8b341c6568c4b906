/** The texts of exported files: the invoices of a list, and entries of the books. */
import { csv } from '../../../daemon/domain/csv.ts';
import { BOOK_COLUMNS, type BookRow } from '../../../daemon/operator/book-columns.ts';
import type { Bridge, Params, Result } from '../../bridge.ts';
import { dayIn } from '../../parts/format.ts';
import { asked, type Filter } from './filters.ts';

const PAGE = 200;
/** About 60 MB of text: more is for the command line. */
export const ROWS_MAX = 200_000;
const INVOICE_COLUMNS = [
  'invoice',
  'created_at',
  'status',
  'amount',
  'currency',
  'coin',
  'coin_amount',
  'received',
  'order_id',
  'description',
  'origin',
  'due_at',
] as const;

type Invoice = Result<'invoice.list'>['invoices'][number];

const rowOf = (one: Invoice): Record<(typeof INVOICE_COLUMNS)[number], string> => ({
  invoice: one.slug,
  created_at: one.created_at,
  status: one.status,
  amount: one.amount,
  currency: one.currency,
  coin: one.payment?.crypto ?? '',
  coin_amount: one.payment?.amount ?? '',
  received: one.payment?.received ?? '',
  order_id: one.order_id ?? '',
  description: one.description ?? '',
  origin: one.origin,
  due_at: one.due_at,
});

type Business = { id: number; time_zone: string };
type Work = { call: Bridge['call']; business: Business; filter: Filter; signal: AbortSignal; told(rows: number): void };

/** A group of invoices is listed whatever its days. */
function isIn({ from, to }: Filter, { time_zone: timeZone }: Business, { created_at }: Invoice): boolean {
  const day = dayIn(created_at, timeZone);
  return (from === '' || day >= from) && (to === '' || day <= to);
}

/** The invoices of the list. Null: there are more than `ROWS_MAX`. */
export async function invoicesText({ call, business, filter, signal, told }: Work): Promise<string | null> {
  const rows: ReturnType<typeof rowOf>[] = [];
  let before: number | null = null;
  do {
    const input: Params<'invoice.list'> = { business: `${business.id}`, limit: PAGE, ...asked(filter) };
    const page: Result<'invoice.list'> = await call(
      'invoice.list',
      before === null ? input : { ...input, before },
      signal,
    );
    rows.push(...page.invoices.filter((one) => isIn(filter, business, one)).map(rowOf));
    told(rows.length);
    before = page.next;
  } while (before !== null && rows.length <= ROWS_MAX);
  return rows.length > ROWS_MAX ? null : csv(INVOICE_COLUMNS, rows);
}

/** The entries of the books. Null: there are more than `ROWS_MAX`. */
export async function booksText({ call, business, filter, signal, told }: Work): Promise<string | null> {
  const rows: BookRow[] = [];
  const days = { from: filter.from || '1970-01-01', to: filter.to || dayIn(Date.now(), business.time_zone) };
  let cursor: Params<'export.page'>['cursor'];
  do {
    const input = { business: `${business.id}`, ...days, ...(cursor ? { cursor } : {}) };
    const page: Result<'export.page'> = await call('export.page', input, signal);
    rows.push(...page.rows);
    told(rows.length);
    cursor = page.next ?? undefined;
  } while (cursor && rows.length <= ROWS_MAX);
  return rows.length > ROWS_MAX ? null : csv(BOOK_COLUMNS, rows);
}
