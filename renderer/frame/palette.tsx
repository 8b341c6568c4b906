/** Search or do (Ctrl K): screens, commands, and invoices by anything. */
import { type ReactNode, useEffect, useState } from 'react';
import {
  Autocomplete,
  Dialog,
  Header,
  Input,
  Menu,
  MenuItem,
  MenuSection,
  Modal,
  ModalOverlay,
  TextField,
} from 'react-aria-components';
import { useCall, useChange, useConnection, useData } from '../data.tsx';
import { type Translate, useLanguage, useText } from '../i18n.ts';
import { fiat, foreign } from '../parts/format.ts';
import { Icon, type IconName } from '../parts/icons.tsx';
import { go, href } from '../router.ts';
import { ROUTES } from '../routes.tsx';
import { useBusiness } from './business.tsx';
import TEXTS from './texts.ts';

/** `words`: what else it is looked for by. */
type Command = { id: string; icon: IconName; text: string; words?: string; run(): void };

const AMOUNT = /^\d{1,9}([.,]\d{1,2})?$/;
const has = (name: string): boolean => ROUTES.some((route) => route.name === name);

const WORDY = ['home', 'counter', 'invoices', 'inbox', 'withdrawals', 'gas', 'wallet', 'sources', 'rates'] as const;
const WORDY_TOO = ['alerts', 'developers', 'settings', 'first', 'items', 'closing', 'statement'] as const;
const wordsOf = (name: string, t: Translate<keyof (typeof TEXTS)['en']>): string => {
  const known = [...WORDY, ...WORDY_TOO].find((one) => one === name);
  return known ? t(`w_${known}`) : '';
};

const iconOf = (name: (typeof ROUTES)[number]['name']): IconName =>
  name === 'first' ? 'home' : name === 'items' || name === 'closing' || name === 'statement' ? 'counter' : name;

function useCommands(text: string): { go: Command[]; do: Command[] } {
  const t = useText(TEXTS);
  const { bridge } = useData();
  const business = useBusiness();
  const { up } = useConnection();
  const lock = useChange('wallet.lock', 'wallet.');
  const to = (address: string) => () => go(address);
  const named = text.trim().toLowerCase();
  const amount = AMOUNT.test(named) ? named.replace(',', '.') : null;
  const screens = ROUTES.map(
    ({ name }): Command => ({
      id: name,
      icon: iconOf(name),
      text: t(name as 'home'),
      words: wordsOf(name, t),
      run: to(href(name)),
    }),
  );
  const doing: (Command | false)[] = [
    has('invoices') && {
      id: 'new',
      icon: 'plus',
      text: amount ? t('newInvoiceFor', { amount }) : t('newInvoice'),
      run: to(`${href('invoices', 'new')}${amount ? `?amount=${amount}` : ''}`),
    },
    has('counter') &&
      amount !== null && {
        id: 'till',
        icon: 'counter',
        text: t('counterFor', { amount }),
        run: to(`${href('counter')}?amount=${amount}`),
      },
    has('invoices') &&
      named.length > 1 && {
        id: 'search',
        icon: 'search',
        text: t('searchFor', { text: text.trim() }),
        run: to(`${href('invoices')}?q=${encodeURIComponent(text.trim())}`),
      },
    {
      id: 'withdraw',
      icon: 'withdrawals',
      text: t('newWithdrawal'),
      words: t('w_withdrawals'),
      run: to(href('withdrawals', 'new')),
    },
    { id: 'live', icon: 'plus', text: t('goLive'), run: to(href('first', 'live')) },
    { id: 'words', icon: 'wallet', text: t('showWords'), run: to(href('wallet', 'words')) },
    { id: 'backup', icon: 'wallet', text: t('backUp'), words: t('w_backUp'), run: to(href('wallet', 'backup')) },
    { id: 'addresses', icon: 'wallet', text: t('addresses'), run: to(href('wallet', 'addresses')) },
    up &&
      business?.network !== 'sandbox' && {
        id: 'lock',
        icon: 'lock',
        text: t('lockWallet'),
        run: () => lock.mutate({}),
      },
    bridge.signOut !== undefined && {
      id: 'out',
      icon: 'close',
      text: t('signOut'),
      run: () => void bridge.signOut?.().then(() => location.reload()),
    },
  ];
  const always = ['search', 'till', ...(amount ? ['new'] : [])];
  const matches = (one: Command): boolean =>
    always.includes(one.id) || `${one.text} ${one.words ?? ''}`.toLowerCase().includes(named);
  return { go: screens.filter(matches), do: doing.filter((one) => one !== false).filter(matches) };
}

const FOUND_SHOWN = 5;
const PAUSE_MS = 200;
/** A link or an address is longer than its end is worth looking for. */
const TEXT_CHARS_MAX = 300;

/** Invoices that a typed text names: by number, link, reference, address, transaction or amount. */
function useFound(text: string): Command[] {
  const wanted = useSettled(text.trim(), PAUSE_MS);
  const language = useLanguage();
  const asks = wanted.length > 1 && wanted.length <= TEXT_CHARS_MAX;
  const { data, isPlaceholderData } = useCall('invoice.find', { text: wanted, limit: FOUND_SHOWN }, { enabled: asks });
  if (!asks || !data || isPlaceholderData || wanted !== text.trim()) return [];
  return data.invoices.map((one) => ({
    id: `invoice ${one.slug}`,
    icon: 'invoices',
    text: [one.slug, fiat(one.amount, one.currency, language), foreign(one.order_id ?? '')].join('  '),
    run: () => go(href('invoices', one.slug)),
  }));
}

/** A value once it has not changed for so long. */
function useSettled(value: string, ms: number): string {
  const [settled, settle] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => settle(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

export function Palette({ open, onClose }: { open: boolean; onClose(): void }): ReactNode {
  return (
    <ModalOverlay
      className="overlay palette-overlay"
      isOpen={open}
      onOpenChange={(now) => now || onClose()}
      isDismissable
    >
      <Modal className="palette">
        <PaletteInside onClose={onClose} />
      </Modal>
    </ModalOverlay>
  );
}

function PaletteInside({ onClose }: { onClose(): void }): ReactNode {
  const t = useText(TEXTS);
  const [text, setText] = useState('');
  const commands = useCommands(text);
  const found = useFound(text);
  // screens and commands come before invoices, which nearly any text finds
  const doing = commands.do.filter(({ id }) => id !== 'search');
  const search = commands.do.filter(({ id }) => id === 'search');
  const run = (key: string): void => {
    onClose();
    [...found, ...commands.go, ...commands.do].find(({ id }) => id === key)?.run();
  };
  return (
    <Dialog aria-label={t('searchOrDo')} className="palette-inside">
      <Autocomplete inputValue={text} onInputChange={setText}>
        <TextField aria-label={t('searchOrDo')} autoFocus className="palette-field">
          <Icon name="search" />
          <Input placeholder={t('searchOrDo')} />
        </TextField>
        <Menu
          aria-label={t('commands')}
          className="palette-menu"
          onAction={(key) => run(String(key))}
          renderEmptyState={() => <p className="quiet">{t('paletteEmpty', { text })}</p>}
        >
          {commands.go.length > 0 && <Group title={t('goTo')} commands={commands.go} />}
          {doing.length > 0 && <Group title={t('doing')} commands={doing} />}
          {found.length > 0 && <Group title={t('found')} commands={found} />}
          {search.length > 0 && <Group title={t('invoices')} commands={search} />}
        </Menu>
      </Autocomplete>
    </Dialog>
  );
}

function Group({ title, commands }: { title: string; commands: Command[] }): ReactNode {
  return (
    <MenuSection>
      <Header>{title}</Header>
      {commands.map(({ id, icon, text }) => (
        <MenuItem key={id} id={id} textValue={text} className="palette-item">
          <Icon name={icon} /> {text}
        </MenuItem>
      ))}
    </MenuSection>
  );
}
