/** The screens by name, in the order of the menu. Each is one file, loaded when it is first opened. */
import { type ComponentType, lazy } from 'react';
import type { IconName } from './parts/icons.tsx';
import type { HashRoute } from './router.ts';

type Screen = () => Promise<{ default: ComponentType }>;

export type Route = {
  name: IconName | 'first' | 'items' | 'closing' | 'statement';
  screen: ComponentType;
  /** Where the menu has it: above the gap, below it, in the phone's bottom bar too, or nowhere. */
  place: 'bar' | 'above' | 'below' | 'hidden';
  /** Covers the whole window, without menu and header. */
  alone?: boolean;
};

const route = (name: Route['name'], place: Route['place'], load: Screen, alone = false): Route => ({
  name,
  place,
  screen: lazy(load),
  alone,
});

export const ROUTES: readonly Route[] = [
  route('home', 'bar', () => import('./screens/home/home.tsx')),
  route('counter', 'bar', () => import('./screens/counter/counter.tsx'), true),
  route('items', 'hidden', () => import('./screens/items/items.tsx')),
  route('closing', 'hidden', () => import('./screens/closing/closing.tsx')),
  route('statement', 'hidden', () => import('./screens/statement/statement.tsx')),
  route('invoices', 'bar', () => import('./screens/invoices/invoices.tsx')),
  route('links', 'above', () => import('./screens/links/links.tsx')),
  route('inbox', 'bar', () => import('./screens/inbox/inbox.tsx')),
  route('withdrawals', 'above', () => import('./screens/withdrawals/withdrawals.tsx')),
  route('gas', 'above', () => import('./screens/gas/gas.tsx')),
  route('wallet', 'above', () => import('./screens/wallet/wallet.tsx')),
  route('sources', 'below', () => import('./screens/sources/sources.tsx')),
  route('rates', 'below', () => import('./screens/rates/rates.tsx')),
  route('alerts', 'below', () => import('./screens/alerts/alerts.tsx')),
  route('developers', 'below', () => import('./screens/developers/developers.tsx')),
  route('first', 'hidden', () => import('./screens/first-run/first-run.tsx'), true),
  route('settings', 'below', () => import('./screens/settings/settings.tsx')),
];

export const FIRST = 'home';

const DECISIONS = ['approve', 'speed-up', 'cancel', 'anew', 'reclaim'];

/** Whether an address is of a screen on which money is approved. */
export const isDecision = ({ screen, parts: [name, action = ''] }: HashRoute): boolean =>
  screen === 'withdrawals' && (name === 'batch' || DECISIONS.includes(action));
