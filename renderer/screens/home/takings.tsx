/** Takings by day and month, by coin. */
import { type ReactNode, useState } from 'react';
import { useCall } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { useLanguage, useText } from '../../i18n.ts';
import { type Bar, Bars } from '../../parts/bars.tsx';
import { Segments } from '../../parts/controls.tsx';
import { fiat } from '../../parts/format.ts';
import type { Money } from '../../parts/money.ts';
import { Answer, byCoin, Section } from '../../parts/parts.tsx';
import PARTS from '../../parts/texts.ts';
import type { T } from './home.tsx';
import { daysOf, monthsOf, type Period, totalOf } from './periods.ts';

const COUNT = { day: 30, month: 12 } as const;
/** Enough days for the periods shown. */
const DAYS = { day: 62, month: 366 } as const;
const NOON = 'T12:00:00Z';

/** The names of the last periods, the oldest first, as the service writes them. */
function periodsUntilNow(by: 'day' | 'month', timeZone: string): string[] {
  const today = new Intl.DateTimeFormat('sv-SE', { timeZone }).format(new Date());
  return Array.from({ length: COUNT[by] }, (_, at) => {
    const date = new Date(`${by === 'day' ? today : `${today.slice(0, 7)}-15`}${NOON}`);
    const back = COUNT[by] - 1 - at;
    if (by === 'day') date.setUTCDate(date.getUTCDate() - back);
    else date.setUTCMonth(date.getUTCMonth() - back);
    return date.toISOString().slice(0, by === 'day' ? 10 : 7);
  });
}

/** Takings of the last days, in the shown currency. */
export function useDays(business: Business, money: Money, count: number) {
  const found = useCall('takings.list', { business: `${business.id}`, by: 'day', periods: count });
  return { ...found, data: money.isRead ? found.data && daysOf(found.data.periods, money.fromUsd) : undefined };
}

export function Takings({ business, money, t }: { business: Business; money: Money; t: T }): ReactNode {
  const parts = useText(PARTS);
  const [by, setBy] = useState<'day' | 'month'>('day');
  const [table, setTable] = useState(false);
  const found = useDays(business, money, DAYS[by]);
  const names = periodsUntilNow(by, business.time_zone);
  const shown = (days: Period[]): Period[] =>
    (by === 'day' ? days : monthsOf(days)).filter(({ period }) => names.includes(period));
  const options = [
    ['day', parts('day')],
    ['month', parts('month')],
  ] as const;
  const side = (
    <>
      <Segments<'day' | 'month'> label={t('by')} value={by} options={options} onChange={setBy} />
      <button type="button" className="link wide-only" aria-pressed={table} onClick={() => setTable(!table)}>
        {parts(table ? 'plot' : 'table')}
      </button>
    </>
  );
  const language = useLanguage();
  const amount = found.data ? fiat(totalOf(shown(found.data)), money.currency, language) : '–';
  const note = t(by === 'day' ? 'days' : 'months', { n: COUNT[by], amount });
  return (
    <Section title={t('takings')} note={note} side={side}>
      <Answer of={found}>
        {(days) => <Drawn periods={shown(days)} names={names} by={by} money={money} table={table} t={t} />}
      </Answer>
    </Section>
  );
}

type DrawnProps = {
  periods: Period[];
  /** Of all periods shown, the oldest first. */
  names: string[];
  by: 'day' | 'month';
  money: Money;
  table: boolean;
  t: T;
};

function Drawn({ periods, names, by, money, table, t }: DrawnProps): ReactNode {
  const language = useLanguage();
  const cryptos = [...new Set(periods.flatMap(({ coins }) => Object.keys(coins)))].sort(byCoin);
  if (cryptos.length === 0) return <p className="quiet">{t('noTakings')}</p>;
  const format = new Intl.DateTimeFormat(
    language === 'en' ? 'en-GB' : language,
    by === 'day' ? { day: 'numeric', month: 'short', timeZone: 'UTC' } : { month: 'short', timeZone: 'UTC' },
  );
  const bars = names.map((period, at): Bar => {
    const full = format.format(new Date(`${period}${by === 'day' ? '' : '-15'}${NOON}`));
    return {
      key: period,
      name: at === names.length - 1 ? t(by === 'day' ? 'todayName' : 'thisMonth') : full,
      full,
      parts: periods.find((one) => one.period === period)?.coins ?? {},
    };
  });
  return (
    <>
      <Bars bars={bars} cryptos={cryptos} currency={money.currency} title={t('takingsTitle')} table={table} />
      {money.currency !== 'USD' && <p className="quiet">{t('atTodays')}</p>}
    </>
  );
}
