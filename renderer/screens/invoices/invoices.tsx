/** Invoices: search and filter, the list, one invoice beside it, and a new one. */
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useCall } from '../../data.tsx';
import { useBusiness } from '../../frame/business.tsx';
import { Page } from '../../frame/page.tsx';
import { type Translate, useText } from '../../i18n.ts';
import { Icon } from '../../parts/icons.tsx';
import { Answer, Empty } from '../../parts/parts.tsx';
import { current, go, href, useHashRoute } from '../../router.ts';
import { Export } from './export.tsx';
import { FilterBar } from './filter.tsx';
import { type Filter, filterOf } from './filters.ts';
import './invoices.css';
import { InvoiceList } from './list.tsx';
import { NewInvoice } from './new.tsx';
import { InvoicePanel } from './panel.tsx';
import TEXTS from './texts.ts';

export type T = Translate<keyof (typeof TEXTS)['en']>;

const NEW = 'new';

export default function Invoices(): ReactNode {
  const t = useText(TEXTS);
  const { parts, query } = useHashRoute();
  const business = useBusiness();
  const [exporting, setExporting] = useState(false);
  const filter = filterOf(query);
  const [slug] = parts;
  const text = searchOf(query);
  const actions = (
    <>
      <button type="button" className="button" onClick={() => setExporting(true)}>
        {t('export')}
      </button>
      <a className="button" href={href('invoices', NEW)} aria-label={t('newInvoice')}>
        <Icon name="plus" /> <span className="wide-only">{t('newInvoice')}</span>
      </a>
    </>
  );
  const open = slug !== undefined && slug !== NEW;
  return (
    <Page title={t('invoices')} actions={actions} flush>
      <div className={open ? 'invoices open' : 'invoices'}>
        <div className="invoices-list">
          <Search text={text} t={t} />
          {text === '' ? <Listed filter={filter} slug={slug} t={t} /> : <Found text={text} slug={slug} t={t} />}
        </div>
        {open && <InvoicePanel key={slug} slug={slug} t={t} />}
      </div>
      {business && (
        <Export open={exporting} onClose={() => setExporting(false)} business={business} filter={filter} t={t} />
      )}
      <NewInvoice open={slug === NEW} amount={query.get('amount') ?? ''} t={t} />
    </Page>
  );
}

const PAUSE_MS = 200;

const searchOf = (query: URLSearchParams): string => query.get('q') ?? '';

const hrefOfSearch = (wanted: string): string =>
  wanted === '' ? href('invoices') : `${href('invoices')}?q=${encodeURIComponent(wanted)}`;

/** Searches as one types, once the typing pauses; Enter does at once. */
function Search({ text, t }: { text: string; t: T }): ReactNode {
  const [typed, setTyped] = useState(text);
  const [from, setFrom] = useState(text);
  if (from !== text) {
    // the address has changed: by this search, by the command palette, or by going back
    setFrom(text);
    if (typed.trim() !== text) setTyped(text);
  }
  const pending = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(pending.current), []);
  const search = (wanted: string, afterMs = 0): void => {
    clearTimeout(pending.current);
    // one entry of the history for a search, not one for each letter
    const run = (): void => {
      const shown = searchOf(current().query);
      if (wanted.trim() !== shown) go(hrefOfSearch(wanted.trim()), { replace: shown !== '' && wanted.trim() !== '' });
    };
    if (afterMs === 0) run();
    else pending.current = setTimeout(run, afterMs);
  };
  const change = (wanted: string): void => {
    setTyped(wanted);
    search(wanted, wanted === '' ? 0 : PAUSE_MS);
  };
  return (
    <search className="invoices-search">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          search(typed);
        }}
      >
        <Icon name="search" size={18} />
        <input
          className="input"
          type="search"
          data-search
          aria-label={t('search')}
          placeholder={t('search')}
          value={typed}
          onChange={(event) => change(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape') change('');
          }}
        />
        <kbd>/</kbd>
      </form>
    </search>
  );
}

type ListedProps = { filter: Filter; slug: string | undefined; t: T };

function Listed({ filter, slug, t }: ListedProps): ReactNode {
  const business = useBusiness();
  if (!business) return null;
  const key = [business.id, ...Object.values(filter)].join(' ');
  return (
    <>
      <FilterBar filter={filter} business={business} t={t} />
      <InvoiceList key={key} business={business} filter={filter} slug={slug} t={t} />
    </>
  );
}

function Found({ text, slug, t }: { text: string; slug: string | undefined; t: T }): ReactNode {
  const found = useCall('invoice.find', { text });
  return (
    <Answer of={found}>
      {({ invoices }) =>
        invoices.length === 0 ? <Nothing text={text} t={t} /> : <InvoiceList given={invoices} slug={slug} t={t} />
      }
    </Answer>
  );
}

function Nothing({ text, t }: { text: string; t: T }): ReactNode {
  const explained = useCall('invoice.explain', { text });
  const verdict = explained.data?.verdict;
  return (
    <Empty
      title={t('nothing', { text })}
      action={
        <a className="button" href={href('invoices')}>
          {t('clear')}
        </a>
      }
    >
      {t('nothingNote')}
      {verdict !== undefined && (
        <>
          {' '}
          <strong>{t(`v_${verdict}`)}</strong> {t(`v_${verdict}_n`, { network: explained.data?.network ?? '' })}
        </>
      )}
    </Empty>
  );
}
