/** Exports as files of comma-separated values: the invoices of the list, or receipts, payments and fees for the books. */
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useConnection, useData } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { type Language, useLanguage } from '../../i18n.ts';
import { Choices, Select, Sheet } from '../../parts/controls.tsx';
import { dayIn } from '../../parts/format.ts';
import { Notice, Problem } from '../../parts/parts.tsx';
import { saveText } from '../../parts/save.ts';
import { booksText, invoicesText, ROWS_MAX } from './files.ts';
import type { Filter } from './filters.ts';
import type { T } from './invoices.tsx';
import { daysOfMonth, monthsUntil } from './months.ts';

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
  const [tooMany, setTooMany] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const close = (): void => {
    stop.current?.abort();
    setRows(null);
    setTooMany(false);
    setError(null);
    onClose();
  };
  const run = async (): Promise<void> => {
    stop.current = new AbortController();
    const { signal } = stop.current;
    setRows(0);
    setTooMany(false);
    setError(null);
    try {
      const chosen = { ...filter, ...daysOfMonth(month) };
      const work = { call: bridge.call, business, filter: chosen, signal, told: setRows };
      const text = await (kind === 'invoices' ? invoicesText(work) : booksText(work));
      if (signal.aborted) return;
      setRows(null);
      // a part of the figures would pass for all of them
      if (text === null) return setTooMany(true);
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
            ...monthsUntil(dayIn(Date.now(), business.time_zone)).map(
              (one) => [one, nameOfMonth(one, language)] as const,
            ),
          ]}
          onChange={setMonth}
        />
        {rows !== null && <p role="status">{t('exporting', { n: rows })}</p>}
        {tooMany && <Notice tone="warn" title={t('exportTooMany', { n: ROWS_MAX })} />}
        {error && <Problem error={error} />}
        <button type="button" className="button filled" disabled={!up || rows !== null} onClick={() => void run()}>
          {t('exportNow')}
        </button>
      </div>
    </Sheet>
  );
}
