/** Withdrawals: the queue and the history; a new one; one of them; and the screen on which money is approved. */
import { lazy, type ReactNode, useState } from 'react';
import { useCall, useConnection } from '../../data.tsx';
import { type Business, useBusiness } from '../../frame/business.tsx';
import { Page } from '../../frame/page.tsx';
import { useText } from '../../i18n.ts';
import { useTimes } from '../../parts/format.ts';
import { Icon } from '../../parts/icons.tsx';
import { useMoney } from '../../parts/money.ts';
import { Answer, Coin, CoinMark, Empty, Fiat, Hash, Told } from '../../parts/parts.tsx';
import { go, href, useHashRoute } from '../../router.ts';
import { One } from './one.tsx';
import { isWaiting, WithdrawalState } from './state.tsx';
import { isIn, isTab, ListTabs, pageOf, type Tab, type Withdrawal } from './tabs.tsx';
import TEXTS from './texts.ts';
import './withdrawals.css';

const Approve = lazy(() => import('./approve.tsx'));
const NewWithdrawal = lazy(() => import('./new.tsx'));
const Forwarding = lazy(() => import('../forwarding/forwarding.tsx'));

const NUMBER = /^[1-9]\d{0,14}$/;

export default function Withdrawals(): ReactNode {
  const { parts, query } = useHashRoute();
  const [name = '', action = ''] = parts;
  if (name === 'new') return <NewWithdrawal />;
  if (name === 'forwarding') return <Forwarding />;
  if (name === 'batch') {
    const ids = (query.get('ids') ?? '').split(',').filter((id) => NUMBER.test(id));
    return <Approve key={ids.join()} task={{ kind: 'batch', ids }} />;
  }
  if (!NUMBER.test(name)) return <List />;
  if (action === 'approve') return <Approve key={name} task={{ kind: 'pay', id: name }} />;
  if (action === 'speed-up' || action === 'cancel' || action === 'anew' || action === 'reclaim') {
    return <Approve key={`${name} ${action}`} task={{ kind: action, id: name }} />;
  }
  return <One key={name} id={name} />;
}

function List(): ReactNode {
  const t = useText(TEXTS);
  const business = useBusiness();
  const chosen = useHashRoute().query.get('tab');
  const tab = isTab(chosen) ? chosen : 'waiting';
  const add = (
    <a className="button filled" href={href('withdrawals', 'new')}>
      <Icon name="plus" /> {t('new')}
    </a>
  );
  return (
    <Page title={t('title')} actions={add}>
      {business && (
        <>
          <ListTabs business={business} value={tab} />
          <Rows key={`${business.id} ${tab}`} business={business} tab={tab} />
        </>
      )}
    </Page>
  );
}

function Rows({ business, tab }: { business: Business; tab: Tab }): ReactNode {
  const t = useText(TEXTS);
  const [before, setBefore] = useState<number[]>([]);
  const [chosen, setChosen] = useState<readonly number[]>([]);
  const last = before.at(-1);
  const list = useCall('withdrawal.list', pageOf(business, last));
  return (
    <Answer of={list}>
      {({ withdrawals, next }) => {
        const rows = withdrawals.filter((one) => isIn(tab, one));
        const pages = (
          <Pages
            newer={before.length > 0 ? () => setBefore(before.slice(0, -1)) : null}
            older={next === null ? null : () => setBefore([...before, next])}
          />
        );
        if (rows.length === 0) {
          return (
            <>
              {next === null ? <Nothing tab={tab} /> : <Empty title={t('emptyPage')}>{t('emptyPageText')}</Empty>}
              {pages}
            </>
          );
        }
        return (
          <>
            <Table rows={rows} chosen={chosen} choose={setChosen} />
            <Together rows={rows} chosen={chosen} />
            {pages}
          </>
        );
      }}
    </Answer>
  );

  function Nothing({ tab: of }: { tab: Tab }): ReactNode {
    const action = (
      <a className="button" href={href('withdrawals', 'new')}>
        <Icon name="plus" /> {t('new')}
      </a>
    );
    return (
      <Empty
        title={t(of === 'waiting' ? 'emptyWaiting' : of === 'moving' ? 'emptyMoving' : 'emptyAll')}
        action={action}
      >
        {t('emptyText')}
      </Empty>
    );
  }
}

function Pages({ newer, older }: { newer: (() => void) | null; older: (() => void) | null }): ReactNode {
  const t = useText(TEXTS);
  if (!newer && !older) return null;
  return (
    <nav className="actions list-pages" aria-label={t('pages')}>
      <button type="button" className="button" disabled={!newer} onClick={() => newer?.()}>
        {t('newer')}
      </button>
      <button type="button" className="button" disabled={!older} onClick={() => older?.()}>
        {t('older')}
      </button>
    </nav>
  );
}

type TableProps = { rows: readonly Withdrawal[]; chosen: readonly number[]; choose(ids: readonly number[]): void };

function Table({ rows, chosen, choose }: TableProps): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  const waiting = rows.some(isWaiting);
  return (
    <div className="table-box">
      <table className="table withdrawals-table">
        <thead>
          <tr>
            {waiting && (
              <th>
                <span className="unseen">{t('choose')}</span>
              </th>
            )}
            <th>{t('state')}</th>
            <th>{t('number')}</th>
            <th>{t('asked')}</th>
            <th className="number">{t('amount')}</th>
            <th className="number">{t('worth')}</th>
            <th>{t('to')}</th>
            <th>
              <span className="unseen">{t('do')}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((one) => (
            <Row key={one.id} one={one} times={times} waiting={waiting} chosen={chosen} choose={choose} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

type RowProps = Omit<TableProps, 'rows'> & { one: Withdrawal; times: ReturnType<typeof useTimes>; waiting: boolean };

function Row({ one, times, waiting, chosen, choose }: RowProps): ReactNode {
  const t = useText(TEXTS);
  const money = useMoney();
  const worth = one.usd_value === null ? null : money.fromUsd(one.usd_value);
  const isChosen = chosen.includes(one.id);
  const flip = (): void => choose(isChosen ? chosen.filter((id) => id !== one.id) : [...chosen, one.id]);
  return (
    <tr className={isChosen ? 'chosen' : ''}>
      {waiting && (
        <td className="at-check">
          {isWaiting(one) && !one.sweep && (
            <input
              type="checkbox"
              checked={isChosen}
              onChange={flip}
              aria-label={t('chooseOne', { id: `${one.id}` })}
            />
          )}
        </td>
      )}
      <td className="at-state">
        <WithdrawalState of={one} />
      </td>
      <td className="at-number">
        <a href={href('withdrawals', `${one.id}`)}>{one.id}</a>
      </td>
      <td className="at-time">{times.short(one.created_at)}</td>
      <td className="number at-amount">
        <CoinMark crypto={one.crypto} />
        <Coin amount={one.amount} crypto={one.crypto} />
      </td>
      <td className="number quiet at-worth">
        {worth === null ? '–' : <Fiat amount={worth} currency={money.currency} />}
      </td>
      <td className="at-to">
        <Hash text={one.address} />
        {isWaiting(one) && one.problem && one.state === 'approved' && (
          <p className="warn">
            <Told said={one.problem} />
          </p>
        )}
      </td>
      <td className="row-end">
        {isWaiting(one) && (
          <a className="button" href={href('withdrawals', `${one.id}`, 'approve')}>
            {t('review')}
          </a>
        )}
      </td>
    </tr>
  );
}

/** Several withdrawals of one coin as one transaction. */
function Together({ rows, chosen }: { rows: readonly Withdrawal[]; chosen: readonly number[] }): ReactNode {
  const t = useText(TEXTS);
  const connection = useConnection();
  if (chosen.length < 2) return null;
  const coins = new Set(rows.filter(({ id }) => chosen.includes(id)).map(({ crypto }) => crypto));
  const fits = coins.size === 1;
  return (
    <div className="actions together">
      <button
        type="button"
        className="button filled"
        disabled={!fits || !connection.up}
        onClick={() => go(`${href('withdrawals', 'batch')}?ids=${chosen.join(',')}`)}
      >
        {t('together', { n: chosen.length })}
      </button>
      <span className="quiet">{t(fits ? 'togetherNote' : 'togetherCoins')}</span>
    </div>
  );
}
