/** The statement of a month: coins, values and VAT, to print and to export. */
import { type ReactNode, useState } from 'react';
import { FLOWS, type Flow, type Statement, statementCsv } from '../../../daemon/operator/statement-table.ts';
import { useCall } from '../../data.tsx';
import { useBusiness } from '../../frame/business.tsx';
import { Page } from '../../frame/page.tsx';
import { type Translate, useLanguage, useText } from '../../i18n.ts';
import { Select } from '../../parts/controls.tsx';
import { exact, fiat, foreign, isZero, useTimes } from '../../parts/format.ts';
import { Icon } from '../../parts/icons.tsx';
import { Answer, CoinName, Empty, Head, Section, Still } from '../../parts/parts.tsx';
import { saveText } from '../../parts/save.ts';
import { href } from '../../router.ts';
import { monthsUntil } from '../invoices/months.ts';
import { percentOf } from '../items/rate.ts';
import './statement.css';
import TEXTS from './texts.ts';

type T = Translate<keyof (typeof TEXTS)['en']>;
type Row = { name: string; amount: string; isEnd?: boolean };

const NUMBER = (name: string) => [name, 'number'] as const;
const NAMES = {
  takings: 'takings',
  received: 'received',
  refunds: 'refunds',
  withdrawals: 'withdrawals',
  fees: 'fees',
  corrected: 'corrected',
} as const satisfies Record<Flow, string>;
/** The figures that a month without them leaves out. */
const SELDOM: readonly Flow[] = ['received', 'corrected'];

export default function StatementScreen(): ReactNode {
  const t = useText(TEXTS);
  const language = useLanguage();
  const business = useBusiness();
  const timeZone = business?.time_zone ?? 'UTC';
  const months = monthsUntil(new Intl.DateTimeFormat('sv-SE', { timeZone }).format(new Date()));
  const [chosen, setChosen] = useState('');
  const month = chosen || `${months[0]}`;
  const nameOf = (one: string): string =>
    new Intl.DateTimeFormat(language, { month: 'long', year: 'numeric' }).format(new Date(`${one}-15T12:00:00Z`));
  const found = useCall(
    'books.statement',
    { business: `${business?.id}`, month },
    { enabled: business !== undefined, calm: true },
  );
  // the figures of the month before stay until those of this month come; they are not shown under its name
  const statement = found.isPlaceholderData ? undefined : found.data;
  return (
    <Page title={t('title')} back={{ to: href('counter'), name: t('counter') }}>
      <div className="statement-tools">
        <Select
          label={t('month')}
          value={month}
          options={months.map((one) => [one, nameOf(one)] as const)}
          onChange={setChosen}
        />
        <button
          type="button"
          className="button"
          disabled={!statement}
          onClick={() => statement && saveText(`statement-${statement.month}.csv`, statementCsv(statement))}
        >
          {t('export')}
        </button>
        <button type="button" className="button" disabled={!statement} onClick={() => print()}>
          <Icon name="print" /> {t('print')}
        </button>
      </div>
      {found.isPlaceholderData ? (
        <Still />
      ) : (
        <Answer of={found}>{(one) => <Shown statement={one} month={nameOf(one.month)} t={t} />}</Answer>
      )}
    </Page>
  );
}

function Shown({ statement, month, t }: { statement: Statement; month: string; t: T }): ReactNode {
  const language = useLanguage();
  const { full } = useTimes();
  const { coins, values, taxes } = statement;
  if (coins.length === 0) return <Empty title={t('nothing')} />;
  const rowsOf = (flows: Statement['coins'][number]['flows'], shown: (amount: string) => string): Row[] =>
    FLOWS.filter((flow) => !SELDOM.includes(flow) || !isZero(flows[flow])).map((flow) => ({
      name: t(NAMES[flow]),
      amount: shown(flows[flow]),
    }));
  return (
    <>
      <p className="quiet">{t('about', { business: foreign(statement.business), month, zone: statement.time_zone })}</p>
      <p className="quiet">{t('asOf', { time: full(statement.as_of) })}</p>
      <Section title={t('coins')} note={t('coinsNote')}>
        <div className="statement-tables">
          {coins.map(({ crypto, opening, closing, flows }) => {
            const shown = (amount: string): string => exact(amount, language);
            const rows = [
              { name: t('opening'), amount: shown(opening), isEnd: true },
              ...rowsOf(flows, shown),
              { name: t('closing'), amount: shown(closing), isEnd: true },
            ];
            return <Figures key={crypto} title={<CoinName crypto={crypto} />} rows={rows} t={t} />;
          })}
        </div>
      </Section>
      {values.map(({ currency, unrated, flows }) => (
        <Section
          key={currency}
          title={t('values', { currency: currency === '' ? t('unknown') : currency })}
          note={t('valuesNote')}
        >
          {currency !== '' && (
            <Figures title={t('figure')} rows={rowsOf(flows, (one) => fiat(one, currency, language))} t={t} />
          )}
          {unrated > 0 && <p className="quiet">{t('unrated', { n: unrated })}</p>}
        </Section>
      ))}
      {taxes.length > 0 && <Taxes taxes={taxes} t={t} />}
    </>
  );
}

function Figures({ title, rows, t }: { title: ReactNode; rows: readonly Row[]; t: T }): ReactNode {
  return (
    <table className="table">
      <thead>
        <tr>
          <th scope="col">{title}</th>
          <th scope="col" className="number">
            {t('amount')}
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, amount, isEnd }) => (
          <tr key={name} className={isEnd ? 'statement-ends' : ''}>
            <td>{name}</td>
            <td className="number">{amount}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Taxes({ taxes, t }: { taxes: Statement['taxes']; t: T }): ReactNode {
  const language = useLanguage();
  const nameOf = (rate: number | 'tip' | null): string =>
    rate === 'tip' ? t('tips') : rate === null ? t('noRate') : percentOf(rate, language);
  return (
    <Section title={t('tax')} note={t('taxNote')}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it */}
      <section className="table-box" tabIndex={0} aria-label={t('tax')}>
        <table className="table">
          <Head columns={[t('rate'), NUMBER(t('net')), NUMBER(t('tax')), NUMBER(t('gross'))]} />
          <tbody>
            {taxes.map(({ currency, rate, net, tax, gross }) => (
              <tr key={`${currency} ${rate}`}>
                <td>{nameOf(rate)}</td>
                {[net, tax, gross].map((amount, at) => (
                  <td key={['net', 'tax', 'gross'][at]} className="number">
                    {fiat(amount, currency, language)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </Section>
  );
}
