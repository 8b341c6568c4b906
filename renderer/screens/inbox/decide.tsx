/** The decision about money that no invoice claims, and what became of one to send it back. */
import { type ReactNode, useState } from 'react';
import { useChange, useConnection } from '../../data.tsx';
import { type Translate, useText } from '../../i18n.ts';
import { Choices, Field } from '../../parts/controls.tsx';
import { useTimes } from '../../parts/format.ts';
import { Hash, Problem } from '../../parts/parts.tsx';
import { RefundState } from '../../parts/refund-state.tsx';
import { go, href } from '../../router.ts';
import { holds, RefundLinks, useMakeLink, useRefundLinks } from '../refunds/refund-links.tsx';
import REFUNDS from '../refunds/texts.ts';
import { keepTyped } from '../withdrawals/typed.ts';
import { coinOf, type Item, isElsewhere, type T } from './item.ts';

type Choice = 'link' | 'back' | 'count' | 'keep';
const BUTTON = { back: 'prepare', count: 'countIt', keep: 'keepIt' } as const;

type R = Translate<keyof (typeof REFUNDS)['en']>;

function optionsFor(item: Item, field: ReactNode, t: T, r: R) {
  // a part of a deposit that its invoice counts already
  const isOver = item.reason === 'overpaid';
  return [
    { value: 'link' as const, title: r('byLink'), text: r('byLinkNote') },
    {
      value: 'back' as const,
      title: t(isOver ? 'difference' : 'back'),
      text: t(isOver ? 'differenceNote' : 'backNote'),
      more: field,
    },
    {
      value: 'count' as const,
      title: t('count'),
      text: item.invoice ? t('countNote', { invoice: item.invoice }) : t('countNone'),
    },
    { value: 'keep' as const, title: t('keep'), text: t(isOver ? 'keepDifference' : 'keepNote') },
  ].filter(({ value }) => value !== 'count' || (item.invoice !== null && !isElsewhere(item) && !isOver));
}

/** The choices for money that nobody has decided about. */
export function Decide({ item, t }: { item: Item; t: T }): ReactNode {
  const r = useText(REFUNDS);
  const { up } = useConnection();
  const [choice, setChoice] = useState<Choice>('link');
  const [address, setAddress] = useState('');
  const [tried, setTried] = useState(false);
  const refund = useChange('inbox.refund', 'inbox.', 'withdrawal.');
  const accept = useChange('inbox.accept', 'inbox.', 'invoice.', 'takings.');
  const keep = useChange('inbox.keep', 'inbox.');
  const make = useMakeLink();
  const links = useRefundLinks({ inbox: item.id });
  const error = make.error ?? refund.error ?? accept.error ?? keep.error;
  const busy = make.isPending || refund.isPending || accept.isPending || keep.isPending;
  const decide = (): void => {
    setTried(true);
    if (choice === 'link') make.mutate({ inbox: item.id });
    else if (choice === 'count') accept.mutate({ id: item.id });
    else if (choice === 'keep') keep.mutate({ id: item.id });
    else if (address.trim() !== '') {
      const to = address.trim();
      const review = ({ id }: { id: number }): void => {
        keepTyped(id, { to, crypto: item.crypto });
        go(href('withdrawals', `${id}`, 'approve'));
      };
      refund.mutate({ id: item.id, address: to }, { onSuccess: ({ withdrawal }) => review(withdrawal) });
    }
  };
  const field = (
    <Field
      className="mono"
      label={t('customer', { coin: coinOf(item) })}
      value={address}
      maxLength={200}
      spellCheck={false}
      hint={t('notFrom')}
      error={tried && choice === 'back' && address.trim() === '' ? t('addressNeeded') : undefined}
      onChange={(event) => setAddress(event.target.value)}
    />
  );
  const options = optionsFor(item, field, t, r);
  if (links.some(holds)) return <RefundLinks of={{ inbox: item.id }} />;
  return (
    <section className="inbox-decide">
      <h2>{t('question')}</h2>
      <Choices<Choice> label={t('question')} value={choice} options={options} onChange={setChoice} />
      {error && <Problem error={error} />}
      <div className="actions">
        <button type="button" className="button filled large" disabled={!up || busy} onClick={decide}>
          {choice === 'link' ? r('make') : t(BUTTON[choice])}
        </button>
        <a className="button large" href={href('home')}>
          {t('later')}
        </a>
        <span className="quiet">{t('stays')}</span>
      </div>
    </section>
  );
}

type DecidedProps = { refund: NonNullable<Item['refund']>; decidedAt: string | null; t: T };

/** How far the refund is. The way to its withdrawal is always there. */
export function Decided({ refund, decidedAt, t }: DecidedProps): ReactNode {
  const { up } = useConnection();
  const { full } = useTimes();
  const reject = useChange('withdrawal.reject', 'inbox.', 'withdrawal.');
  const { id, state, tx_id: txId, deadline_at: deadline } = refund;
  const waits = state === 'requested';
  return (
    <section className="panel inbox-decided">
      <h2>
        <RefundState state={state} />
      </h2>
      <p className="quiet">
        {decidedAt && t('decidedAt', { time: full(decidedAt) })} {waits && t('nothingSent')}{' '}
        {waits && deadline && t('endsAt', { time: full(deadline) })}
      </p>
      {txId && <Hash text={txId} />}
      {reject.error && <Problem error={reject.error} />}
      <div className="actions">
        <a
          className={waits ? 'button filled' : 'button'}
          href={waits ? href('withdrawals', `${id}`, 'approve') : href('withdrawals', `${id}`)}
        >
          {t(waits ? 'review' : 'openWithdrawal', { id })}
        </a>
        {waits && (
          <button
            type="button"
            className="button"
            disabled={!up || reject.isPending}
            onClick={() => reject.mutate({ id: `${id}` })}
          >
            {t('anew')}
          </button>
        )}
      </div>
    </section>
  );
}
