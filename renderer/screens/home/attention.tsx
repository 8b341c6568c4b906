/** Things that wait for a decision, the most urgent first, each with one button. */
import type { ReactNode } from 'react';
import type { Result } from '../../bridge.ts';
import { useCall } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { useLanguage } from '../../i18n.ts';
import { exact, groups } from '../../parts/format.ts';
import { type Shape, ShapeIcon } from '../../parts/icons.tsx';
import { useInbox } from '../../parts/inbox.ts';
import { chainName } from '../../parts/names.ts';
import { coinName, Problem, Still, shortName, Told } from '../../parts/parts.tsx';
import { href } from '../../router.ts';
import type { T } from './home.tsx';

type Thing = {
  key: string;
  shape: Shape;
  tone: 'main' | 'warn';
  title: string;
  note: ReactNode;
  to: string;
  button: string;
};

const EVERY_MS = 15_000;
const SHOWN = 5;
const READ_MAX = 50;
const GROUPS_SHOWN = 2;
/** The alert about a chain that is in this list by itself. */
const AWAY = 'chain.away';

const REASONS = [
  'late',
  'extra',
  'short',
  'deleted',
  'unexpected',
  'wrong-network',
  'unassigned',
  'locked',
  'overpaid',
] as const;

/** `isWhole`: all that could wait was read. */
type Waiting = { things: Thing[]; isWhole: boolean; error: Error | null };

function useThings(business: Business, t: T): Waiting {
  const restored = useCall('restore.status', {}, { every: EVERY_MS });
  const asked = useCall('withdrawal.list', { state: 'requested', limit: READ_MAX });
  const inbox = useInbox(business.id, { newest: READ_MAX, every: EVERY_MS });
  const status = useCall('status', {}, { every: EVERY_MS });
  const alerts = useCall('alert.list', { limit: READ_MAX }, { every: EVERY_MS });
  const calls = [restored, asked, inbox, status, alerts];
  return {
    things: [
      ...(restored.data?.quarantined ? [quarantine(t)] : []),
      ...useDecisions(business, asked.data?.withdrawals ?? [], inbox.data ?? [], t),
      ...warningsOf(business, status.data?.chains ?? [], alerts.data?.alerts ?? [], t),
    ],
    isWhole: calls.every(({ data }) => data !== undefined),
    error: calls.find(({ error }) => error !== null)?.error ?? null,
  };
}

function quarantine(t: T): Thing {
  const look = { shape: 'warning', tone: 'warn', button: t('details') } as const;
  return { key: 'q', title: t('restored'), note: t('restoredNote'), to: href('wallet'), ...look };
}

type Item = Result<'inbox.list'>['items'][number];
type Withdrawal = Result<'withdrawal.list'>['withdrawals'][number];

function useDecisions(business: Business, asked: Withdrawal[], inbox: Item[], t: T): Thing[] {
  const language = useLanguage();
  const own = (one: { business_id: number }): boolean => one.business_id === business.id;
  const reason = (word: string): string => t(REASONS.find((known) => known === word) ?? 'unexpected');
  return [
    ...asked.filter(own).map(({ id, amount, crypto, address }): Thing => {
      const note = t('approveNote', {
        amount: exact(amount, language),
        crypto: coinName(crypto),
        address: `${groups(address).slice(0, GROUPS_SHOWN).join(' ')}\u00a0…`,
      });
      const to = href('withdrawals', `${id}`);
      return { key: `w${id}`, shape: 'approve', tone: 'main', title: t('approve'), note, to, button: t('review') };
    }),
    ...inbox
      .filter(({ state }) => state === 'open')
      .map((item): Thing => {
        const note = t('unclaimedNote', {
          amount: exact(item.amount, language),
          crypto: shortName(item.crypto),
          reason: reason(item.reason),
        });
        const to = href('inbox', `${item.id}`);
        return {
          key: `i${item.id}`,
          shape: 'inbox',
          tone: 'main',
          title: t(item.reason === 'overpaid' ? 'overpaidTitle' : 'unclaimed'),
          note,
          to,
          button: t('decide'),
        };
      }),
  ];
}

type Chain = Result<'status'>['chains'][number];
type Alert = Result<'alert.list'>['alerts'][number];

function warningsOf(business: Business, chains: Chain[], alerts: Alert[], t: T): Thing[] {
  return [
    ...chains
      .filter((one) => one.network === business.network && (one.error !== null || one.withheld !== null))
      .filter((one) => one.error !== null || one.synced_at !== null)
      .map(({ chain, error }): Thing => {
        const title = t(error === null ? 'behind' : 'noAnswer', { chain: chainName(chain) });
        const note = t(error === null ? 'behindNote' : 'noAnswerNote');
        const to = href('sources');
        return { key: `c${chain}`, shape: 'warning', tone: 'warn', title, note, to, button: t('details') };
      }),
    ...alerts
      .filter(({ network, kind }) => (network === null || network === business.network) && kind !== AWAY)
      .map((alert): Thing => {
        const note = <Told key={alert.id} said={alert.message} />;
        const look = { shape: 'warning', tone: 'warn', button: t('look') } as const;
        return { key: `a${alert.id}`, title: t('alert'), note, to: href('alerts'), ...look };
      }),
  ];
}

/** `quiet`: says nothing where nothing waits. */
export function Attention({ business, quiet = false, t }: { business: Business; quiet?: boolean; t: T }): ReactNode {
  const { things, isWhole, error } = useThings(business, t);
  if (quiet && things.length === 0) return null;
  if (things.length === 0 && !isWhole) {
    return <section className="section">{error ? <Problem error={error} /> : <Still rows={2} />}</section>;
  }
  const shown = things.slice(0, SHOWN);
  return (
    <section className="section">
      <header className="section-head">
        <h2>{things.length === 0 ? t('nothing') : t('needYou', { n: things.length })}</h2>
        {things.length === 0 && <span className="quiet">{t('nothingNote')}</span>}
      </header>
      <ul className="things">
        {shown.map((thing, at) => (
          <li key={thing.key}>
            <span className={`state ${thing.tone}`}>
              <ShapeIcon shape={thing.shape} size={20} />
            </span>
            <p>
              <strong>{thing.title}</strong> <bdi className="thing-note">{thing.note}</bdi>
            </p>
            <a className={at === 0 && !quiet ? 'button filled' : 'button'} href={thing.to}>
              {thing.button}
            </a>
          </li>
        ))}
      </ul>
      {things.length > SHOWN && <p className="quiet">{t('moreThings', { n: things.length - SHOWN })}</p>}
    </section>
  );
}
