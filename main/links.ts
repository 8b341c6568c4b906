/**
 * Links. Those that other programs open (`countinghouse:withdrawals/118`) only show a screen; nothing is done by them. Those of
 * the page open in the system's browser once the user agrees, because an address could carry what the page shows.
 */
import { dialog, shell } from 'electron';
import { LINK_SCHEME } from './limits.ts';
import type { ShellText } from './texts.ts';

const SCREENS: ReadonlySet<string> = new Set([
  'home',
  'counter',
  'invoices',
  'inbox',
  'withdrawals',
  'gas',
  'wallet',
  'sources',
  'developers',
  'settings',
  'alerts',
  'rates',
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

/** Asks about one address at a time; others are passed over meanwhile. */
export function askedOpener(text: ShellText): (address: string) => void {
  let asking = false;
  const open = async (address: string): Promise<void> => {
    const buttons = [text('cancel'), text('openLink')];
    const question = { type: 'question', message: text('leaves'), detail: address } as const;
    const { response } = await dialog.showMessageBox({ ...question, buttons, defaultId: 0, cancelId: 0 });
    if (response === 1) await shell.openExternal(address);
  };
  return (address) => {
    if (asking) return;
    asking = true;
    void open(address)
      .catch(() => {})
      .finally(() => {
        asking = false;
      });
  };
}
