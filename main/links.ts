/** Links that other programs open: `countinghouse:withdrawals/118`. They only show a screen; nothing is done by them. */
import { LINK_SCHEME } from './limits.ts';

const SCREENS: ReadonlySet<string> = new Set([
  ...['home', 'counter', 'invoices', 'inbox', 'withdrawals', 'gas', 'wallet'],
  ...['sources', 'developers', 'settings', 'alerts', 'rates'],
]);
const PART = /^[A-Za-z0-9_-]{1,40}$/;
const PARTS_MAX = 3;

/** The place in the console that a link names, such as "withdrawals/118"; null for anything else. */
export function placeOfLink(link: string): string | null {
  if (!link.startsWith(`${LINK_SCHEME}:`)) return null;
  const path = link
    .slice(LINK_SCHEME.length + 1)
    .replace(/^\/\//, '')
    .replace(/\/$/, '');
  const parts = path.split('/');
  const [screen = ''] = parts;
  const isPlace = SCREENS.has(screen) && parts.length <= PARTS_MAX && parts.every((part) => PART.test(part));
  return isPlace ? parts.join('/') : null;
}

/** The first link among a program's arguments. */
export const linkAmong = (args: readonly string[]): string | null =>
  args.reduce<string | null>((found, one) => found ?? placeOfLink(one), null);
