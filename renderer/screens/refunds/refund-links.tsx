/** Refund links of an invoice or of a deposit: what to give to the customer, and how far each is. */
import type { ReactNode } from 'react';
import type { Result } from '../../bridge.ts';
import { useCall, useChange, useConnection } from '../../data.tsx';
import { type Translate, useText } from '../../i18n.ts';
import { Sure } from '../../parts/controls.tsx';
import { useTimes } from '../../parts/format.ts';
import type { Shape } from '../../parts/icons.tsx';
import { Copy, Hash, Problem, State, Told, type Tone, useCoinText } from '../../parts/parts.tsx';
import { QrCode } from '../../parts/qr.tsx';
import { href } from '../../router.ts';
import TEXTS from './texts.ts';
import './refunds.css';

type T = Translate<keyof (typeof TEXTS)['en']>;
export type RefundLink = Result<'refundLink.make'>['link'];

/** An invoice by its name, or an item of the inbox by its number. */
export type Of = { invoice: string } | { inbox: number };

const READ_EVERY_MS = 10_000;
/** Links of one refund that are shown: the last one, and those that came to nothing before it are not. */
const SHOWN = 3;

/** The links for something, the newest first. Ended ones to which nothing came are left out. */
export function useRefundLinks(of: Of): RefundLink[] {
  const found = useCall('refundLink.list', { ...of, limit: 20 }, { every: READ_EVERY_MS });
  return (found.data?.links ?? []).filter(({ state }) => state !== 'over').slice(0, SHOWN);
}

/** Whether a link still holds the money: nobody else may decide about it. */
export const holds = ({ state, withdrawal }: RefundLink): boolean =>
  withdrawal === null && (state === 'waits' || state === 'given');

export const useMakeLink = () => useChange('refundLink.make', 'refundLink.', 'inbox.', 'invoice.');

const LOOKS: Record<RefundLink['state'], [Shape, Tone]> = {
  waits: ['waiting', 'quiet'],
  given: ['approve', 'main'],
  approved: ['waiting', 'quiet'],
  sent: ['seen', 'main'],
  done: ['done', 'good'],
  refused: ['ended', 'quiet'],
  over: ['ended', 'quiet'],
};

export function RefundLinks({ of }: { of: Of }): ReactNode {
  const links = useRefundLinks(of);
  return links.map((link) => <Card key={link.id} link={link} />);
}

function Card({ link }: { link: RefundLink }): ReactNode {
  const t = useText(TEXTS);
  const coinText = useCoinText();
  const [shape, tone] = LOOKS[link.state];
  const isBlocked = link.state === 'given' && link.withdrawal === null;
  return (
    <section className="panel refund-link" aria-label={t('copy')}>
      <header>
        <h2>{link.amount === null ? t('whole') : t('title', { amount: coinText(link.amount, link.crypto) })}</h2>
        <State shape={shape} tone={tone}>
          {t(isBlocked ? 'blocked' : link.state)}
        </State>
      </header>
      {link.state === 'waits' && <Waiting link={link} t={t} />}
      {link.address !== null && (
        <p>
          {t('typed')} <Hash text={link.address} />
        </p>
      )}
      {link.withdrawal !== null && <Withdrawal link={link} id={link.withdrawal} t={t} />}
      {isBlocked && <Blocked link={link} t={t} />}
    </section>
  );
}

type Props = { link: RefundLink; t: T };

function Waiting({ link, t }: Props): ReactNode {
  const { full } = useTimes();
  const { up } = useConnection();
  const end = useChange('refundLink.end', 'refundLink.', 'inbox.', 'invoice.');
  return (
    <div className="refund-waiting">
      <div>
        <p className="quiet">{t('giveIt')}</p>
        <p className="mono refund-url">{link.url.replace(/^https?:\/\//, '')}</p>
        <p>
          <Copy text={link.url} label={t('copy')} />
        </p>
        <p className="quiet">
          {t('until', { time: full(link.ends_at) })}{' '}
          <Sure
            label={t('end')}
            question={t('endSure')}
            yes={t('endYes')}
            disabled={!up || end.isPending}
            onYes={() => end.mutate({ id: link.id })}
          />
        </p>
        {end.error && <Problem error={end.error} />}
      </div>
      <QrCode text={link.url} label={t('qrLabel')} />
    </div>
  );
}

function Withdrawal({ link, id, t }: Props & { id: number }): ReactNode {
  const waits = link.state === 'given';
  return (
    <p>
      <a
        className={waits ? 'button filled' : 'button'}
        href={waits ? href('withdrawals', `${id}`, 'approve') : href('withdrawals', `${id}`)}
      >
        {t(waits ? 'review' : 'show', { id })}
      </a>
    </p>
  );
}

function Blocked({ link, t }: Props): ReactNode {
  const { up } = useConnection();
  const prepare = useChange('refundLink.prepare', 'refundLink.', 'inbox.', 'invoice.', 'withdrawal.');
  return (
    <>
      {link.problem && (
        <p className="bad">
          {t('problem')} <Told said={link.problem} />
        </p>
      )}
      <div className="actions">
        <button
          type="button"
          className="button filled"
          disabled={!up || prepare.isPending}
          onClick={() => prepare.mutate({ id: link.id })}
        >
          {t('prepare')}
        </button>
      </div>
    </>
  );
}
