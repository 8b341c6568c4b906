/** The menu: a sidebar, an icon rail or a bottom bar, by the window's width (style.css). */

import { type ReactNode, useContext, useState } from 'react';
import { Focusable, Tooltip, TooltipTrigger } from 'react-aria-components';
import { findAsset } from '../../daemon/domain/assets.ts';
import { MS_PER_SECOND } from '../../daemon/domain/time.ts';
import { DeskContext, useCall, useChange, useConnection } from '../data.tsx';
import { type Translate, useLanguage, useText } from '../i18n.ts';
import { foreign, span } from '../parts/format.ts';
import { Icon, type IconName } from '../parts/icons.tsx';
import { useInbox } from '../parts/inbox.ts';
import { href, useHashRoute } from '../router.ts';
import { FIRST, ROUTES, type Route } from '../routes.tsx';
import { type Business, nameOf, useBusinesses } from './business.tsx';
import { useNow } from './page.tsx';
import TEXTS from './texts.ts';

type T = Translate<keyof (typeof TEXTS)['en']>;

const COUNTED_EVERY_MS = 30_000;
const COUNTED_MAX = 99;

/** How many things wait for a decision, by screen. */
function useCounts(): Partial<Record<string, number>> {
  const { business } = useBusinesses();
  const inbox = useInbox(business?.id, { newest: 100, every: COUNTED_EVERY_MS });
  const state = 'requested';
  const withdrawals = useCall('withdrawal.list', { state, limit: 100 }, { every: COUNTED_EVERY_MS });
  const own = (one: { business_id: number }): boolean => one.business_id === business?.id;
  return {
    inbox: inbox.data?.filter(({ state }) => state === 'open').length ?? 0,
    withdrawals: withdrawals.data?.withdrawals.filter(own).length ?? 0,
  };
}

export function Menu({ onSearch }: { onSearch(): void }): ReactNode {
  const t = useText(TEXTS);
  const desk = useContext(DeskContext);
  const counts = useCounts();
  const { screen } = useHashRoute();
  const [open, setOpen] = useState(false);
  const item = (route: Route): ReactNode => (
    <MenuItem
      key={route.name}
      route={route}
      t={t}
      count={counts[route.name] ?? 0}
      current={(screen || FIRST) === route.name}
      onGo={() => setOpen(false)}
    />
  );
  const hidden = ROUTES.filter(({ place }) => place === 'above' || place === 'below');
  const rest = hidden.reduce((sum, { name }) => sum + (counts[name] ?? 0), 0);
  return (
    <nav className={open ? 'menu open' : 'menu'} aria-label={t('main')}>
      {desk && <desk.Servers />}
      <Shop />
      <ul className="menu-items">
        {ROUTES.filter(({ place }) => place === 'bar' || place === 'above').map(item)}
        <li className="menu-gap" aria-hidden="true" />
        {ROUTES.filter(({ place }) => place === 'below').map(item)}
        <li className="menu-more">
          <button type="button" className="menu-item" aria-expanded={open} onClick={() => setOpen(!open)}>
            <Icon name="more" />
            <span className="menu-name">{t('more')}</span>
            <Count count={rest} label={t('waitingFor', { n: rest })} />
          </button>
        </li>
      </ul>
      <div className="menu-foot">
        <button type="button" className="menu-search" onClick={onSearch} aria-keyshortcuts="Control+K">
          <Icon name="search" />
          <span className="menu-name">{t('search')}</span>
          <kbd className="menu-name">{t('searchKeys')}</kbd>
        </button>
        <Lock />
      </div>
    </nav>
  );
}

type ItemProps = { route: Route; t: T; count: number; current: boolean; onGo(): void };

function MenuItem({ route, t, count, current, onGo }: ItemProps): ReactNode {
  const name = t(route.name as keyof (typeof TEXTS)['en']);
  return (
    <li className={route.place === 'bar' ? 'in-bar' : ''}>
      <Tip text={name}>
        <a className="menu-item" href={href(route.name)} aria-current={current ? 'page' : undefined} onClick={onGo}>
          <Icon name={route.name as IconName} />
          <span className="menu-name">{name}</span>
          <Count count={count} label={t('waitingFor', { n: count })} />
        </a>
      </Tip>
    </li>
  );
}

function Count({ count, label }: { count: number; label: string }): ReactNode {
  if (count === 0) return null;
  return (
    <span className="count">
      <span aria-hidden="true">{count > COUNTED_MAX ? `${COUNTED_MAX}+` : count}</span>
      <span className="unseen">{label}</span>
    </span>
  );
}

/** The name beside a sign of the icon rail; the wider menu has it already (style.css). */
function Tip({ text, children }: { text: string; children: Parameters<typeof Focusable>[0]['children'] }): ReactNode {
  return (
    <TooltipTrigger delay={300} closeDelay={0}>
      <Focusable>{children}</Focusable>
      <Tooltip className="tip" placement="right" offset={8}>
        {text}
      </Tooltip>
    </TooltipTrigger>
  );
}

const NETWORK_TEXT = { mainnet: 'live', testnet: 'testnet', regtest: 'testnet', sandbox: 'sandbox' } as const;

/** The business, and the choice between several. */
function Shop(): ReactNode {
  const t = useText(TEXTS);
  const { business, all, choose } = useBusinesses();
  if (!business) return <div className="shop" />;
  const name = foreign(nameOf(business));
  const label = (one: Business): string => `${foreign(nameOf(one))} (${t(NETWORK_TEXT[one.network])})`;
  return (
    <div className="shop">
      <span className="shop-sign" aria-hidden="true">
        {[...name][0]?.toUpperCase()}
      </span>
      <span className="menu-name">
        <bdi className="shop-name">{name}</bdi>
        <span className="quiet">{t(NETWORK_TEXT[business.network])}</span>
      </span>
      {all.length > 1 && (
        <select
          aria-label={t('shop')}
          title={label(business)}
          value={business.id}
          onChange={(event) => choose(Number(event.target.value))}
        >
          {all.map((one) => (
            <option key={one.id} value={one.id}>
              {label(one)}
            </option>
          ))}
        </select>
      )}
    </div>
  );
}

/** Whether another wallet has the keys of all coins that a business takes. */
const isElsewhere = ({ cryptos, watch_only }: Business): boolean =>
  cryptos.length > 0 && cryptos.every((one) => watch_only.some((chain) => chain === findAsset(one)?.chain));

/** Who signs for such a business. */
function OtherWallet({ business }: { business: Business }): ReactNode {
  const t = useText(TEXTS);
  return (
    <div className="menu-lock" title={t('otherWallet')}>
      <Icon name="lock" />
      <span className="menu-name">
        {t('otherWallet')}
        <span className="quiet">{t('signs', { coins: business.cryptos.join(', ') })}</span>
      </span>
    </div>
  );
}

/** The wallet's lock. */
function Lock(): ReactNode {
  const t = useText(TEXTS);
  const language = useLanguage();
  const { up } = useConnection();
  const { business } = useBusinesses();
  const wallet = useCall('wallet.status', {}, { every: COUNTED_EVERY_MS }).data?.wallet;
  const lock = useChange('wallet.lock', 'wallet.');
  const now = useNow(wallet?.state === 'unlocked');
  if (!wallet || !business) return null;
  if (isElsewhere(business)) return <OtherWallet business={business} />;
  const real = business.network !== 'sandbox';
  const open = wallet.state === 'unlocked' || !real;
  const left = wallet.locks_at && span((Date.parse(wallet.locks_at) - now) / MS_PER_SECOND, language);
  const note = !real
    ? t('noLock')
    : open
      ? left
        ? t('locksIn', { time: left })
        : t('unlockedBySelf')
      : t('lockedNote');
  const title = real ? t(open ? 'unlocked' : wallet.state === 'none' ? 'noWallet' : 'locked') : t('sandboxWallet');
  return (
    <div className="menu-lock" title={title}>
      <Icon name={open ? 'unlocked' : 'lock'} />
      <span className="menu-name">
        {title}
        {wallet.state !== 'none' && <span className="quiet">{note}</span>}
      </span>
      {real && open && (
        <button type="button" className="link menu-name" disabled={!up} onClick={() => lock.mutate({})}>
          {t('lock')}
        </button>
      )}
      {real && !open && ROUTES.some(({ name }) => name === 'wallet') && (
        <a className="link menu-name" href={wallet.state === 'none' ? href('first', 'live') : href('wallet')}>
          {t(wallet.state === 'none' ? 'create' : 'unlock')}
        </a>
      )}
    </div>
  );
}
