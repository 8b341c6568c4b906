/** Exports as files of comma-separated values: the invoices of the list, or receipts, payments and fees for the books. */
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { csv } from '../../../daemon/domain/csv.ts';
import { BOOK_COLUMNS, type BookRow } from '../../../daemon/operator/book-columns.ts';
import type { Params, Result } from '../../bridge.ts';
import { useConnection, useData } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { type Language, useLanguage } from '../../i18n.ts';
import { Choices, Select, Sheet } from '../../parts/controls.tsx';
import { Problem } from '../../parts/parts.tsx';
import { saveText } from '../../parts/save.ts';
import { asked, type Filter } from './filter.tsx';
import type { T } from './invoices.tsx';
import { daysOfMonth, monthsUntil } from './months.ts';

const PAGE = 200;
/** About 60 MB of text: more is for the command line. */
const ROWS_MAX = 200_000;
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

/** In the business's time zone. */
const todayOf = ({ time_zone: timeZone }: Business): string =>
  new Intl.DateTimeFormat('sv-SE', { timeZone }).format(new Date());

type Call = ReturnType<typeof useData>['bridge']['call'];
type Work = { call: Call; business: Business; filter: Filter; signal: AbortSignal; told(rows: number): void };

async function invoicesText({ call, business, filter, signal, told }: Work): Promise<string> {
  const rows: ReturnType<typeof rowOf>[] = [];
  let before: number | null = null;
  do {
    const input: Params<'invoice.list'> = { business: `${business.id}`, limit: PAGE, ...asked(filter) };
    const page: Result<'invoice.list'> = await call(
      'invoice.list',
      before === null ? input : { ...input, before },
      signal,
    );
    rows.push(...page.invoices.map(rowOf));
    told(rows.length);
    before = page.next;
  } while (before !== null && rows.length < ROWS_MAX);
  return csv(INVOICE_COLUMNS, rows);
}

async function booksText({ call, business, filter, signal, told }: Work): Promise<string> {
  const rows: BookRow[] = [];
  const days = { from: filter.from || '1970-01-01', to: filter.to || todayOf(business) };
  let cursor: Params<'export.page'>['cursor'];
  do {
    const input = { business: `${business.id}`, ...days, ...(cursor ? { cursor } : {}) };
    const page: Result<'export.page'> = await call('export.page', input, signal);
    rows.push(...page.rows);
    told(rows.length);
    cursor = page.next ?? undefined;
  } while (cursor && rows.length < ROWS_MAX);
  return csv(BOOK_COLUMNS, rows);
}

const nameOfMonth = (month: string, language: Language): string =>
  new Intl.DateTimeFormat(language, { month: 'long', year: 'numeric' }).format(new Date(`${month}-15T12:00:00Z`));

type Kind = 'invoices' | 'books';
type ExportProps = { open: boolean; onClose(): void; business: Business; filter: Filter; t: T };

export function Export({ open, onClose, business, filter, t }: ExportProps): ReactNode {
  const { bridge } = useData();
  const { up } = useConnection();
  const language = useLanguage();
  const [kind, setKind] = useState<Kind>('invoices');
  const [month, setMonth] = useState('');
  const [rows, setRows] = useState<number | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const close = (): void => {
    stop.current?.abort();
    setRows(null);
    setError(null);
    onClose();
  };
  const run = async (): Promise<void> => {
    stop.current = new AbortController();
    const { signal } = stop.current;
    setRows(0);
    setError(null);
    try {
      const chosen = { ...filter, ...daysOfMonth(month) };
      const work = { call: bridge.call, business, filter: chosen, signal, told: setRows };
      const text = await (kind === 'invoices' ? invoicesText(work) : booksText(work));
      if (signal.aborted) return;
      saveText(`${kind}-${month || new Date().toISOString().slice(0, 10)}.csv`, text);
      close();
    } catch (failed) {
      if (!signal.aborted) setError(failed as Error);
      setRows(null);
    }
  };
  const options = [
    { value: 'invoices' as const, title: t('exportInvoices'), text: t('exportInvoicesNote') },
    { value: 'books' as const, title: t('exportBooks'), text: t('exportBooksNote') },
  ];
  return (
    <Sheet title={t('export')} open={open} onClose={close}>
      <div className="form">
        <Choices<Kind> label={t('export')} value={kind} options={options} onChange={setKind} />
        <Select
          label={t('period')}
          value={month}
          options={[
            ['', t(filter.from || filter.to ? 'periodFiltered' : 'periodAll')] as const,
            ...monthsUntil(todayOf(business)).map((one) => [one, nameOfMonth(one, language)] as const),
          ]}
          onChange={setMonth}
        />
        {rows !== null && <p role="status">{t('exporting', { n: rows })}</p>}
        {error && <Problem error={error} />}
        <button type="button" className="button filled" disabled={!up || rows !== null} onClick={() => void run()}>
          {t('exportNow')}
        </button>
      </div>
    </Sheet>
  );
}
