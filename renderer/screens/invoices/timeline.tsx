/** The events of one invoice, in order, and those still to come. */
import type { ReactNode } from 'react';
import type { WithdrawalState } from '../../../daemon/domain/withdrawal.ts';
import { type Language, type Translate, useLanguage, useText, useTimeZone } from '../../i18n.ts';
import { dayIn, exact, fiat, inOrder, isZero, useTimes } from '../../parts/format.ts';
import { type Shape, ShapeIcon } from '../../parts/icons.tsx';
import { Foreign, Hash, shortName } from '../../parts/parts.tsx';
import { REFUND_LOOKS } from '../../parts/refund-state.tsx';
import PARTS from '../../parts/texts.ts';
import { href } from '../../router.ts';
import type { T } from './invoices.tsx';
import type { Detail } from './panel.tsx';

type Step = {
  key: string;
  title: ReactNode;
  at?: string;
  when?: string;
  note?: ReactNode;
  shape?: Shape;
  tone?: string;
  share?: number;
};

const ORIGIN = {
  merchant: 'byShop',
  client: 'byBrowser',
  operator: 'byHand',
  counter: 'byCounter',
  link: 'byLink',
} as const;

/** Claims of deposits of which nothing or only a part waits in the inbox. */
const COUNTED: readonly string[] = ['invoice', 'moved', 'overpaid'];

function past(invoice: Detail, t: T, language: 'en' | 'de', clock: (at: string) => string): Step[] {
  const { payment, credits, order_id: order } = invoice;
  const made = t(ORIGIN[invoice.origin as keyof typeof ORIGIN] ?? 'byShop');
  const created =
    order === null ? (
      made
    ) : (
      <>
        <Foreign text={order} />, {made}
      </>
    );
  const steps: Step[] = [{ key: 'created', title: t('created'), at: invoice.created_at, note: created }];
  if (payment) {
    const coin = shortName(payment.crypto);
    const rate = fiat(payment.quote.rate, invoice.currency, language);
    const note = t('chosenNote', { coin, rate, time: clock(payment.quote.ends_at) });
    steps.push({ key: 'chosen', title: t('chosen', { coin }), at: payment.created_at, note });
  }
  for (const credit of credits) {
    const need = credit.required_confirmations;
    const have = Math.min(credit.confirmations, need);
    const amount = t('whole', { amount: exact(credit.amount, language), coin: shortName(credit.crypto) });
    const depth = need > 0 ? ` · ${t('confirmations', { have, need })}` : '';
    const block = credit.block_height === null ? '' : ` · ${t('block', { block: credit.block_height })}`;
    const note = (
      <>
        {amount}
        {depth}
        {block}
        <br />
        <Hash text={credit.tx_id} />
        {credit.claim !== null && !COUNTED.includes(credit.claim) && (
          <div>
            {t('notCounted')} <a href={href('inbox')}>{t('toInbox')}</a>
          </div>
        )}
      </>
    );
    const look: Pick<Step, 'shape' | 'tone'> = credit.gone ? { shape: 'failed', tone: 'bad' } : {};
    const part =
      !credit.gone && !credit.confirmed ? { shape: 'part' as const, tone: 'main', share: need ? have / need : 0 } : {};
    const title = t(credit.gone ? 'seenGone' : 'seen');
    steps.push({ key: `${credit.id}`, title, at: credit.first_seen_at, note, ...look, ...part });
  }
  const { absence } = invoice;
  if (absence) {
    const note = t('absenceNote', { servers: absence.servers });
    steps.push({ key: 'absence', title: t('absenceStep'), at: absence.until, note });
  }
  if (invoice.unchecked_since !== null) {
    const look = { shape: 'warning', tone: 'warn' } as const;
    const note = t('uncheckedNote');
    steps.push({ key: 'unchecked', title: t('uncheckedStep'), at: invoice.unchecked_since, note, ...look });
  }
  return steps;
}

function ending(invoice: Detail, t: T, language: Language): Step[] {
  const { payment, webhook, status } = invoice;
  const told = webhook?.attempts.at(-1);
  const answered = told?.status !== null && told?.status !== undefined;
  const shop: Step[] = told
    ? [
        {
          key: 'told',
          title: t(answered ? 'told' : 'notTold'),
          at: told.started_at,
          note: answered ? t('toldNote', { status: `${told.status}` }) : told.error && <Foreign text={told.error} />,
          ...(answered ? {} : { shape: 'warning' as const, tone: 'warn' }),
        },
      ]
    : [tellingOf(invoice, t)];
  if (status === 'paid') {
    const title = t(payment?.marked_paid ? 'markedPaid' : 'paidStep');
    return [{ key: 'paid', title, at: invoice.updated_at, shape: 'done', tone: 'good' }, ...shop];
  }
  if (status === 'canceled')
    return [{ key: 'end', title: t('cancelledStep'), at: invoice.updated_at, shape: 'ended', tone: 'quiet' }];
  const overdue: Step[] =
    payment?.status === 'overdue'
      ? [{ key: 'over', title: t('expiredStep'), at: payment.deadline_at, shape: 'ended', tone: 'quiet' }]
      : [];
  if (!payment || isZero(payment.received)) return [...overdue, { key: 'paid', title: t('paidStep'), when: '' }];
  if (!isZero(payment.remaining)) {
    const title = t('shortStep', { amount: exact(payment.remaining, language), coin: shortName(payment.crypto) });
    const short: Step = { key: 'short', title, at: payment.updated_at, shape: 'warning', tone: 'warn' };
    return [short, ...overdue, { key: 'paid', title: t('paidStep'), when: t('whenRest') }];
  }
  const when = t('whenConfirmed', { n: payment.required_confirmations });
  return [...overdue, { key: 'paid', title: t('paidStep'), when }, tellingOf(invoice, t)];
}

/** That the shop will be told; or that there is none to tell. */
const tellingOf = ({ webhook_url: url, status }: Detail, t: T): Step =>
  url === null
    ? { key: 'told', title: t('noShop'), note: t('noShopNote'), when: '' }
    : { key: 'told', title: t('told'), when: status === 'paid' ? '' : t('whenPaid') };

/** Each refund: asked for, approved, and how far it is. */
function refundsOf(invoice: Detail, t: T, parts: Translate<`refund_${WithdrawalState}`>, language: Language): Step[] {
  return invoice.refunds.flatMap((refund): Step[] => {
    const { id, state } = refund;
    const amount = t('whole', { amount: exact(refund.amount, language), coin: shortName(refund.crypto) });
    const link = (
      <a key="l" href={href('withdrawals', `${id}`)}>
        {t('withdrawalNo', { id })}
      </a>
    );
    const asked: Step = {
      key: `r${id}`,
      title: t('refundAsked'),
      at: refund.created_at,
      note: [`${amount} · `, link],
    };
    const approved: Step[] =
      refund.approved_at && state !== 'rejected' && state !== 'requested'
        ? [{ key: `a${id}`, title: t('refundApproved'), at: refund.approved_at }]
        : [];
    const [shape, tone] = REFUND_LOOKS[state];
    const note = refund.tx_id ? <Hash key="h" text={refund.tx_id} /> : undefined;
    const now: Step = {
      key: `s${id}`,
      title: state === 'completed' ? t('refundDone', { amount }) : parts(`refund_${state}`),
      at: refund.updated_at,
      shape,
      tone,
      ...(note ? { note } : {}),
    };
    return [asked, ...approved, ...(state === 'approved' ? [] : [now])];
  });
}

export function Timeline({ invoice, t }: { invoice: Detail; t: T }): ReactNode {
  const language = useLanguage();
  const parts = useText(PARTS);
  const { clock, day } = useTimes();
  const steps = inOrder([
    ...past(invoice, t, language, clock),
    ...ending(invoice, t, language),
    ...refundsOf(invoice, t, parts, language),
  ]);
  const timeZone = useTimeZone();
  const today = dayIn(invoice.created_at, timeZone) === dayIn(Date.now(), timeZone);
  return (
    <ol className="timeline" aria-label={t('history')}>
      {steps.map(({ key, title, at, when, note, shape, tone, share }) => (
        <li key={key} className={at ? '' : 'to-come'}>
          <span className={`timeline-mark ${tone ?? ''}`}>
            {shape ? <ShapeIcon shape={shape} share={share ?? 0} /> : <span className="dot" />}
          </span>
          <div>
            <p>
              <strong>{title}</strong>
              <span className="quiet">{at ? (today ? clock(at, true) : `${day(at)}, ${clock(at)}`) : when}</span>
            </p>
            {note && <div className="quiet">{note}</div>}
          </div>
        </li>
      ))}
    </ol>
  );
}
