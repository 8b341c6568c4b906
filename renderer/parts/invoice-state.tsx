/** The state of an invoice: shape and word. */
import type { ReactNode } from 'react';
import type { Result } from '../bridge.ts';
import { type Translate, useText } from '../i18n.ts';
import { isZero, scaled } from './format.ts';
import { State, type StateProps } from './parts.tsx';
import TEXTS from './texts.ts';

export type Invoice = Result<'invoice.list'>['invoices'][number];
type Detail = Result<'invoice.show'>['invoice'];
type Look = Omit<StateProps, 'children'> & { word: keyof (typeof TEXTS)['en'] };

type StateFields = Pick<Invoice, 'status' | 'payment' | 'expired'>;

const DONE: Look = { shape: 'done', tone: 'good', word: 'paid' };
const ENDED: Look = { shape: 'ended', tone: 'quiet', word: 'cancelled' };

function lookOf(invoice: StateFields): Look {
  const { status, payment } = invoice;
  if (status === 'paid') return DONE;
  if (invoice.expired) return { ...ENDED, word: 'expired' };
  if (status === 'canceled') return ENDED;
  if (!payment || isZero(payment.received)) return { shape: 'waiting', tone: 'quiet', word: 'waiting' };
  if (payment.status === 'overdue') return { shape: 'warning', tone: 'warn', word: 'late' };
  if (scaled(payment.received) < scaled(payment.amount)) return { shape: 'warning', tone: 'warn', word: 'short' };
  return { shape: 'seen', tone: 'main', word: 'seen' };
}

export function InvoiceState({ invoice }: { invoice: StateFields }): ReactNode {
  const t = useText(TEXTS);
  const { word, ...look } = lookOf(invoice);
  return <State {...look}>{t(word)}</State>;
}

/** With the count of confirmations, which only a whole invoice has. */
export function DetailState({ invoice }: { invoice: Detail }): ReactNode {
  const t = useText(TEXTS);
  const { word, ...look } = lookOf(invoice);
  const { payment } = invoice;
  if (word !== 'seen' || !payment || payment.confirmations === 0) return <State {...look}>{t(word)}</State>;
  return <Confirming have={payment.confirmations} need={payment.required_confirmations} t={t} />;
}

type ConfirmingProps = { have: number; need: number; t: Translate<'confirming'> };

function Confirming({ have, need, t }: ConfirmingProps): ReactNode {
  return (
    <State shape="part" tone="main" share={need === 0 ? 1 : have / need}>
      {t('confirming', { have: Math.min(have, need), need })}
    </State>
  );
}
