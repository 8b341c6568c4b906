/** Which invoices the list shows: state, coin and days, kept in the address. */
import type { ReactNode } from 'react';
import type { Params, Result } from '../../bridge.ts';
import { useCall } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { useLanguage } from '../../i18n.ts';
import { Segments, Select } from '../../parts/controls.tsx';
import { DayField } from '../../parts/day-field.tsx';
import { byCoin } from '../../parts/parts.tsx';
import { go, href } from '../../router.ts';
import type { T } from './invoices.tsx';

const STATUSES = ['all', 'needs-you', 'unpaid', 'paid', 'expired', 'canceled'] as const;
const GROUPS: readonly Status[] = ['needs-you', 'expired'];
type Status = (typeof STATUSES)[number];

/** Empty texts: any. Days as `2026-11-22`. */
export type Filter = { status: Status; crypto: string; from: string; to: string };

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const ANY = '';

export function filterOf(query: URLSearchParams): Filter {
  const day = (name: string): string => (DAY.test(query.get(name) ?? '') ? query.get(name)! : ANY);
  const status = STATUSES.find((one) => one === query.get('status')) ?? 'all';
  return { status, crypto: query.get('coin') ?? ANY, from: day('from'), to: day('to') };
}

function hrefOf({ status, crypto, from, to }: Filter): string {
  const given = { ...(status === 'all' ? {} : { status }), ...(crypto && { coin: crypto }), ...(from && { from }) };
  const query = new URLSearchParams({ ...given, ...(to && { to }) }).toString();
  return `${href('invoices')}${query === '' ? '' : `?${query}`}`;
}

/** Whether the list is one of the groups that are not further narrowed. */
const isGroup = (status: Status): status is 'needs-you' | 'expired' => GROUPS.includes(status);

/** In the form of the operator API. */
export function asked({ status, crypto, from, to }: Filter): Partial<Params<'invoice.list'>> {
  if (isGroup(status)) return { only: status };
  return {
    ...(status === 'all' ? {} : { status }),
    ...(crypto && { crypto }),
    ...(from && { from }),
    ...(to && { to }),
  };
}

export const isNarrow = ({ status, crypto, from, to }: Filter): boolean =>
  status !== 'all' || crypto !== ANY || from !== ANY || to !== ANY;

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
            options={[[ANY, t('everyCoin')] as const, ...coins.map((one) => [one, one] as const)]}
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
