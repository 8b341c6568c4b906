/** The choice of the invoices that the list shows: state, coin and days, kept in the address. */
import type { ReactNode } from 'react';
import type { Result } from '../../bridge.ts';
import { useCall } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { useLanguage } from '../../i18n.ts';
import { Segments, Select } from '../../parts/controls.tsx';
import { DayField } from '../../parts/day-field.tsx';
import { byCoin, coinName } from '../../parts/parts.tsx';
import { go, href } from '../../router.ts';
import { ANY, type Filter, isGroup, isNarrow, STATUSES, type Status } from './filters.ts';
import type { T } from './invoices.tsx';

function hrefOf({ status, crypto, from, to }: Filter): string {
  const given = { ...(status === 'all' ? {} : { status }), ...(crypto && { coin: crypto }), ...(from && { from }) };
  const query = new URLSearchParams({ ...given, ...(to && { to }) }).toString();
  return `${href('invoices')}${query === '' ? '' : `?${query}`}`;
}

type CountedProps = { status: Status; counts: Result<'invoice.counts'> | undefined; t: T };

/** The name of a filter and how many invoices it shows; up to a limit, beyond which nobody counts. */
function Counted({ status, counts, t }: CountedProps): ReactNode {
  const language = useLanguage();
  if (counts === undefined) return t(status);
  const n = status === 'all' ? counts.unpaid + counts.paid + counts.canceled : counts[status];
  const isWhole = [counts.unpaid, counts.paid, counts.canceled].every((one) => one < counts.most);
  const sign = isWhole || (status !== 'all' && n < counts.most) ? '' : '+';
  return (
    <>
      {t(status)} <bdi className="quiet">{`${n.toLocaleString(language)}${sign}`}</bdi>
    </>
  );
}

export function FilterBar({ filter, business, t }: { filter: Filter; business: Business; t: T }): ReactNode {
  const change = (part: Partial<Filter>): void => go(hrefOf({ ...filter, ...part }));
  const coins = [...new Set([...business.cryptos, ...business.balances.map(({ crypto }) => crypto)])].sort(byCoin);
  const counts = useCall('invoice.counts', { business: `${business.id}` }).data;
  const day = (name: 'from' | 'to'): ReactNode => (
    <DayField label={t(name)} inline value={filter[name]} onChange={(to) => change({ [name]: to })} />
  );
  return (
    <div className="invoices-filter">
      <Segments<Status>
        label={t('filter')}
        value={filter.status}
        options={STATUSES.map((one) => [one, <Counted key={one} status={one} counts={counts} t={t} />] as const)}
        onChange={(status) => change(isGroup(status) ? { status, crypto: ANY, from: ANY, to: ANY } : { status })}
      />
      {!isGroup(filter.status) && (
        <div className="filter-more">
          <Select
            label={t('coin')}
            hideLabel
            value={filter.crypto}
            options={[[ANY, t('everyCoin')] as const, ...coins.map((one) => [one, coinName(one)] as const)]}
            onChange={(crypto) => change({ crypto })}
          />
          {day('from')}
          {day('to')}
          {isNarrow(filter) && (
            <a className="link" href={href('invoices')}>
              {t('noFilter')}
            </a>
          )}
        </div>
      )}
    </div>
  );
}
