/** Which invoices the list shows: state, coin and days, kept in the address. */
import type { ReactNode } from 'react';
import type { Params } from '../../bridge.ts';
import type { Business } from '../../frame/business.tsx';
import { Segments, Select } from '../../parts/controls.tsx';
import { byCoin } from '../../parts/parts.tsx';
import { go, href } from '../../router.ts';
import type { T } from './invoices.tsx';

const STATUSES = ['all', 'unpaid', 'paid', 'canceled'] as const;
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

/** In the form of the operator API. */
export const asked = ({ status, crypto, from, to }: Filter): Partial<Params<'invoice.list'>> => ({
  ...(status === 'all' ? {} : { status }),
  ...(crypto && { crypto }),
  ...(from && { from }),
  ...(to && { to }),
});

export const isNarrow = ({ status, crypto, from, to }: Filter): boolean =>
  status !== 'all' || crypto !== ANY || from !== ANY || to !== ANY;

export function FilterBar({ filter, business, t }: { filter: Filter; business: Business; t: T }): ReactNode {
  const change = (part: Partial<Filter>): void => go(hrefOf({ ...filter, ...part }));
  const coins = [...new Set([...business.cryptos, ...business.balances.map(({ crypto }) => crypto)])].sort(byCoin);
  const day = (name: 'from' | 'to'): ReactNode => (
    <label className="filter-day">
      <span className="quiet">{t(name)}</span>
      <input
        type="date"
        className="input"
        value={filter[name]}
        onChange={(event) => change({ [name]: event.target.value })}
      />
    </label>
  );
  return (
    <div className="invoices-filter">
      <Segments<Status>
        label={t('filter')}
        value={filter.status}
        options={STATUSES.map((one) => [one, t(one)] as const)}
        onChange={(status) => change({ status })}
      />
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
    </div>
  );
}
