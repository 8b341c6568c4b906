/** The tabs above the lists of withdrawals and of the plans that begin some. */
import type { ReactNode } from 'react';
import type { Params, Result } from '../../bridge.ts';
import { useCall } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { useText } from '../../i18n.ts';
import { Segments } from '../../parts/controls.tsx';
import { go, href } from '../../router.ts';
import { isWaiting } from './state.tsx';
import TEXTS from './texts.ts';
import './withdrawals.css';

export type Withdrawal = Result<'withdrawal.list'>['withdrawals'][number];
export type Tab = 'waiting' | 'moving' | 'all';

const PAGE = 50;
const MOVING = ['approved', 'signed', 'broadcast'];

export const isTab = (text: string | null): text is Tab => text === 'waiting' || text === 'moving' || text === 'all';

export const isIn = (tab: Tab, one: Withdrawal): boolean =>
  tab === 'all' || (tab === 'waiting' ? isWaiting(one) : MOVING.includes(one.state) && !isWaiting(one));

export const pageOf = (business: Business, before?: number): Params<'withdrawal.list'> => ({
  limit: PAGE,
  business: `${business.id}`,
  ...(before === undefined ? {} : { before }),
});

export function ListTabs({ business, value }: { business: Business; value: Tab | 'forwarding' }): ReactNode {
  const t = useText(TEXTS);
  const page = useCall('withdrawal.list', pageOf(business)).data;
  /** Of the newest page, which has those that wait unless they were forgotten. */
  const counted = (of: Tab, name: string): string => {
    const n = page?.withdrawals.filter((one) => isIn(of, one)).length ?? 0;
    return n === 0 ? name : `${name} (${n}${page?.next === null ? '' : '+'})`;
  };
  return (
    <div className="list-tabs">
      <Segments<Tab | 'forwarding'>
        label={t('filter')}
        value={value}
        options={[
          ['waiting', counted('waiting', t('tabWaiting'))],
          ['moving', counted('moving', t('tabMoving'))],
          ['all', t('tabAll')],
          ['forwarding', t('tabForwarding')],
        ]}
        onChange={(tab) =>
          go(tab === 'forwarding' ? href('withdrawals', 'forwarding') : `${href('withdrawals')}?tab=${tab}`)
        }
      />
    </div>
  );
}
