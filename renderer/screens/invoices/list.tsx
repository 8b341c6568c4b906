/** The list: pages are read as they come into view, and only the rows in view are in the document. */

import { type InfiniteData, keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useMemo, useRef } from 'react';
import { dayBounds } from '../../../daemon/domain/calendar.ts';
import type { Result } from '../../bridge.ts';
import { useCall, useData } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { useLanguage, useTimeZone } from '../../i18n.ts';
import { dayIn, fiat, sum, useTimes } from '../../parts/format.ts';
import { type Invoice, InvoiceState } from '../../parts/invoice-state.tsx';
import { Empty, Fiat, Foreign, Problem, Still, shortName, useCoinText } from '../../parts/parts.tsx';
import { go, href, hrefBeside } from '../../router.ts';
import { asked, type Filter, isNarrow } from './filters.ts';
import type { T } from './invoices.tsx';

const PAGE = 50;
const ROW_PX = 37;
const AHEAD_ROWS = 12;
/** Older pages leave the memory, and are read again when they come into view. */
const PAGES_KEPT_MAX = 40;

type Page = Result<'invoice.list'>;

function usePages(business: Business | undefined, filter: Filter) {
  const { bridge } = useData();
  return useInfiniteQuery<Page, Error, InfiniteData<Page>, unknown[], number | null>({
    queryKey: ['invoice.list', 'pages', business?.id, filter],
    enabled: business !== undefined,
    initialPageParam: null,
    queryFn: ({ pageParam, signal }) =>
      bridge.call(
        'invoice.list',
        {
          business: `${business!.id}`,
          limit: PAGE,
          ...asked(filter),
          ...(pageParam === null ? {} : { before: pageParam }),
        },
        signal,
      ),
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
  });
}

const EVERYTHING: Filter = { status: 'all', crypto: '', from: '', to: '' };

type ListProps = { business?: Business; filter?: Filter; given?: Invoice[]; slug: string | undefined; t: T };

export function InvoiceList({ business, filter = EVERYTHING, given, slug, t }: ListProps): ReactNode {
  const pages = usePages(business, filter);
  const rows = given ?? pages.data?.pages.flatMap(({ invoices }) => invoices) ?? [];
  if (!given && pages.error && rows.length === 0)
    return (
      <div className="invoices-inset">
        <Problem error={pages.error} retry={() => void pages.refetch()} />
      </div>
    );
  if (!given && pages.data === undefined)
    return (
      <div className="invoices-inset">
        <Still rows={12} />
      </div>
    );
  if (rows.length === 0 && !pages.hasNextPage && isNarrow(filter)) return <Empty title={t('noneSuch')} />;
  if (rows.length === 0 && !pages.hasNextPage) {
    const action = (
      <a className="button filled" href={href('invoices', 'new')}>
        {t('newInvoice')}
      </a>
    );
    return (
      <Empty title={t('empty')} action={action}>
        {t('emptyNote')}
      </Empty>
    );
  }
  const more = (): void => {
    const full = (pages.data?.pages.length ?? 0) >= PAGES_KEPT_MAX * PAGE;
    if (!given && pages.hasNextPage && !pages.isFetchingNextPage && !full) void pages.fetchNextPage();
  };
  // the filter has the days of the business, the list those of the browser: of chosen days it adds up what it lists
  const isAll =
    !given &&
    filter.crypto === '' &&
    filter.from === '' &&
    filter.to === '' &&
    (filter.status === 'all' || filter.status === 'paid');
  return (
    <Rows
      summed={isAll ? business : undefined}
      rows={rows}
      isWhole={!pages.hasNextPage || given !== undefined}
      more={more}
      slug={slug}
      t={t}
    />
  );
}

/** Whether a pressed key belongs to what has the focus: an amount, a choice, a day. */
const isTaken = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.matches('input:not([type=search]), textarea, select, [role=dialog] *');

/** The arrow keys move between the rows as soon as the list is shown, from the open one or else the first. */
function useArrows(slug: string | undefined): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
      if (step === 0 || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isTaken(event.target)) return;
      const links = [...document.querySelectorAll<HTMLElement>('.invoice-row')];
      const focused = links.indexOf(document.activeElement as HTMLElement);
      const at = focused >= 0 ? focused : links.findIndex((link) => link.dataset.slug === slug);
      links[Math.max(at + step, 0)]?.focus();
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [slug]);
}

/** A row of the list: a day, with the sum of what is paid in it, or an invoice. */
type Line = { key: string | number; day: string; paid: Invoice[] | null } | { key: number; invoice: Invoice };

/** `isWhole`: there are no more invoices, so that the oldest day has all of its. */
function linesOf(rows: readonly Invoice[], isWhole: boolean, timeZone: string): Line[] {
  const days = new Map<string, Invoice[]>();
  for (const invoice of rows) {
    const day = dayIn(invoice.created_at, timeZone);
    const known = days.get(day);
    if (known) known.push(invoice);
    else days.set(day, [invoice]);
  }
  return [...days].flatMap(([day, invoices], at): Line[] => {
    const paid = isWhole || at < days.size - 1 ? invoices.filter(({ status }) => status === 'paid') : null;
    return [{ key: day, day, paid }, ...invoices.map((invoice): Line => ({ key: invoice.id, invoice }))];
  });
}

/** `summed`: whose days are shown with the sums of all of their invoices. */
type RowsProps = {
  summed: Business | undefined;
  rows: Invoice[];
  isWhole: boolean;
  more(): void;
  slug: string | undefined;
  t: T;
};

function Rows({ summed, rows, isWhole, more, slug, t }: RowsProps): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const timeZone = useTimeZone();
  const lines = useMemo(() => linesOf(rows, isWhole, timeZone), [rows, isWhole, timeZone]);
  const list = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: AHEAD_ROWS,
    getItemKey: (at) => lines[at]!.key,
  });
  const items = list.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= lines.length - AHEAD_ROWS) more();
  });
  useArrows(slug);
  return (
    <>
      <div className="invoice-heads" aria-hidden="true">
        <span>{t('state')}</span>
        <span title={timeZone}>{t('time')}</span>
        <span>{t('invoice')}</span>
        <span>{t('for')}</span>
        <span className="number">{t('amount')}</span>
        <span>{t('coin')}</span>
      </div>
      <div ref={box} className="invoice-rows">
        <ul style={{ height: list.getTotalSize() }}>
          {items.map((item) => {
            const line = lines[item.index]!;
            return (
              <li key={item.key} style={{ transform: `translateY(${item.start}px)` }}>
                {'invoice' in line ? (
                  <Row invoice={line.invoice} open={line.invoice.slug === slug} t={t} />
                ) : (
                  <Day day={line.day} paid={line.paid} business={summed} t={t} />
                )}
              </li>
            );
          })}
        </ul>
      </div>
      <p className="invoice-foot quiet">
        <span>{t('shown', { n: rows.length })}</span>
        <span className="wide-only">{t('keys')}</span>
      </p>
    </>
  );
}

/** Of a whole day of a business, as the service adds it up, also where the list has read only some of its invoices. */
function useSums(business: Business | undefined, day: string): Sums | null {
  const { from, to } = dayBounds(day, useTimeZone());
  const asks = { business: `${business?.id}`, from: new Date(from).toISOString(), to: new Date(to).toISOString() };
  return useCall('invoice.sums', asks, { enabled: business !== undefined }).data ?? null;
}
type Sums = Pick<Result<'invoice.sums'>, 'payments' | 'amounts' | 'whole'>;

/** Of invoices that the list has read. */
function sumsOf(paid: Invoice[]): Sums {
  const by = Map.groupBy(paid, ({ currency }) => currency);
  const amounts = [...by].map(([currency, each]) => ({ currency, amount: sum(each.map(({ amount }) => amount)) }));
  return { payments: paid.length, amounts, whole: true };
}

type DayProps = { day: string; paid: Invoice[] | null; business: Business | undefined; t: T };

/** A day and the sum of its paid invoices, if they are of one currency. */
function Day({ day, paid, business, t }: DayProps): ReactNode {
  const { long } = useTimes();
  const timeZone = useTimeZone();
  const language = useLanguage();
  const whole = useSums(business, day);
  const sums = business === undefined ? paid && sumsOf(paid) : whole;
  const [only, ...others] = sums?.whole ? sums.amounts : [];
  const n = sums?.whole ? sums.payments : 0;
  const amount = only === undefined ? '' : fiat(only.amount, only.currency, language);
  return (
    <p className="invoice-day">
      {day === dayIn(Date.now(), timeZone) && <strong>{t('today')}</strong>}
      <span className="invoice-date">{long(dayBounds(day, timeZone).from)}</span>
      {n > 0 && <span>{others.length === 0 ? t('dayTotal', { n, amount }) : t('dayPaid', { n })}</span>}
    </p>
  );
}

function Row({ invoice, open, t }: { invoice: Invoice; open: boolean; t: T }): ReactNode {
  const { clock } = useTimes();
  const coinText = useCoinText();
  const purpose = invoice.order_id ?? invoice.description;
  return (
    <a
      className="invoice-row"
      data-slug={invoice.slug}
      href={hrefBeside('invoices', invoice.slug)}
      aria-current={open ? 'true' : undefined}
      onKeyDown={(event) => {
        if (event.key === 'Escape') go(hrefBeside('invoices'));
      }}
    >
      <span className="cut-text">
        <InvoiceState invoice={invoice} />
        {invoice.refunded.map((one) => (
          <span key={one.crypto} className="quiet">
            {' '}
            {t('refundedShort', { amount: coinText(one.amount, one.crypto) })}
          </span>
        ))}
        {invoice.over && (
          <span className="warn">
            {' '}
            {t('overShort', { amount: coinText(invoice.over.amount, invoice.over.crypto) })}
          </span>
        )}
      </span>
      <span className="quiet">{clock(invoice.created_at)}</span>
      <span className="mono">{invoice.slug}</span>
      <span className="quiet cut-text">{purpose ? <Foreign text={purpose} /> : '–'}</span>
      <span className="number">
        <Fiat amount={invoice.amount} currency={invoice.currency} />
      </span>
      <span className="quiet">
        {invoice.payment ? shortName(invoice.payment.crypto) : <span title={t('notChosen')}>–</span>}
        {invoice.payment?.sweep?.dear && (
          <span className="warn" title={t('dearNote', { n: invoice.payment.sweep.percent })}>
            {' '}
            {t('dear')}
          </span>
        )}
      </span>
    </a>
  );
}
