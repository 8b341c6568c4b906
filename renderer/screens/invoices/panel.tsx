/** One invoice: its state, its timeline, why it is not paid, and what can be done. */
import { type ReactNode, useState } from 'react';
import type { Result } from '../../bridge.ts';
import { useCall, useChange, useConnection, useData } from '../../data.tsx';
import { useLanguage } from '../../i18n.ts';
import { Sheet } from '../../parts/controls.tsx';
import { type Deferred, useDeferred } from '../../parts/deferred.ts';
import { fiat, sum, useTimes } from '../../parts/format.ts';
import { Icon, ShapeIcon } from '../../parts/icons.tsx';
import { DetailState } from '../../parts/invoice-state.tsx';
import { useMoney } from '../../parts/money.ts';
import { Answer, Coin, Copy, Facts, Fiat, Foreign, Hash, Problem, useCoinText } from '../../parts/parts.tsx';
import { QrCode } from '../../parts/qr.tsx';
import { href, hrefBeside } from '../../router.ts';
import { RefundLinks } from '../refunds/refund-links.tsx';
import type { T } from './invoices.tsx';
import { Refund } from './refund.tsx';
import { Timeline } from './timeline.tsx';
import { Why } from './why.tsx';

export type Detail = Result<'invoice.show'>['invoice'];

const READ_EVERY_MS = 10_000;

export function InvoicePanel({ slug, t }: { slug: string; t: T }): ReactNode {
  const found = useCall('invoice.show', { invoice: slug }, { every: READ_EVERY_MS });
  return (
    <aside className="invoice-panel" aria-label={`${t('ofInvoice')} ${slug}`}>
      <Answer of={found}>{({ invoice }) => <Inside invoice={invoice} t={t} />}</Answer>
    </aside>
  );
}

function Inside({ invoice, t }: { invoice: Detail; t: T }): ReactNode {
  const { session } = useData();
  const coinText = useCoinText();
  const { payment } = invoice;
  const receivedIn = (crypto: string): string => {
    const counted = invoice.credits.filter((one) => one.claim === 'invoice' && !one.gone && one.crypto === crypto);
    return coinText(sum(counted.map(({ amount }) => amount)), crypto);
  };
  return (
    <>
      <header className="invoice-head">
        <div className="invoice-tools">
          <DetailState invoice={invoice} />
          <span className="invoice-links">
            <Copy text={invoice.invoice_url} label={t('link')} />
            {session.place === 'browser' && (
              <a
                href={invoice.invoice_url}
                target="_blank"
                rel="noreferrer"
                aria-label={invoice.status === 'paid' ? undefined : t('openPageNote')}
              >
                {t(invoice.status === 'paid' ? 'receipt' : 'openPage')}
              </a>
            )}
            <Code invoice={invoice} t={t} />
          </span>
          <a className="plain-icon" href={hrefBeside('invoices')} aria-label={t('close')}>
            <Icon name="close" />
          </a>
        </div>
        <p className="invoice-amount">
          <Fiat amount={invoice.amount} currency={invoice.currency} />
        </p>
        <p className="quiet">
          {payment && (
            <>
              <Coin amount={payment.amount} crypto={payment.crypto} whole /> ·{' '}
            </>
          )}
          {t('ofInvoice')} <span className="mono">{invoice.slug}</span>
        </p>
        {invoice.refunded.map((one) => (
          <p key={one.crypto}>
            {t('refundedOf', { part: coinText(one.amount, one.crypto), whole: receivedIn(one.crypto) })}
          </p>
        ))}
        {invoice.over && (
          <p className="invoice-over">
            <ShapeIcon shape="approve" /> {t('over')}{' '}
            <Coin amount={invoice.over.amount} crypto={invoice.over.crypto} whole />.{' '}
            <a href={href('inbox', `${invoice.over.inbox}`)}>{t('overDecide')}</a>
          </p>
        )}
      </header>
      {invoice.status === 'paid' && <RefundLinks of={{ invoice: invoice.slug }} />}
      <Timeline invoice={invoice} t={t} />
      <Why invoice={invoice} t={t} />
      <Actions invoice={invoice} t={t} />
      <Details invoice={invoice} t={t} />
    </>
  );
}

function Code({ invoice, t }: { invoice: Detail; t: T }): ReactNode {
  const [open, setOpen] = useState(false);
  const amount = fiat(invoice.amount, invoice.currency, useLanguage());
  return (
    <>
      <button type="button" className="link" onClick={() => setOpen(true)}>
        {t('qr')}
      </button>
      <Sheet title={t('scan', { amount })} open={open} onClose={() => setOpen(false)}>
        <QrCode text={invoice.invoice_url} label={t('qr')} />
        <p className="mono center">{invoice.invoice_url}</p>
        <button type="button" className="button print-hide" onClick={() => print()}>
          <Icon name="print" /> {t('print')}
        </button>
      </Sheet>
    </>
  );
}

function Actions({ invoice, t }: { invoice: Detail; t: T }): ReactNode {
  const { up } = useConnection();
  const [asking, setAsking] = useState(false);
  const [refunding, setRefunding] = useState(false);
  const cancel = useChange('invoice.cancel', 'invoice.');
  const mark = useChange('invoice.markPaid', 'invoice.', 'takings.');
  const resend = useChange('webhook.resend', 'invoice.', 'webhook.');
  const canceling = useDeferred(() => cancel.mutate({ invoice: invoice.slug }));
  const open = invoice.status === 'unpaid';
  const markPaid = (): void => mark.mutate({ invoice: invoice.slug }, { onSuccess: () => setAsking(false) });
  const error = cancel.error ?? mark.error ?? resend.error;
  const { webhook, refundable } = invoice;
  if (!open && !webhook && refundable.length === 0) return null;
  return (
    <section className="section">
      <h2>{t('actions')}</h2>
      {open && canceling.left !== null ? (
        <Undo deferred={canceling} up={up} t={t} />
      ) : open && asking ? (
        <MarkPaid busy={!up || mark.isPending} mark={markPaid} keep={() => setAsking(false)} t={t} />
      ) : (
        <div className="actions">
          {open && (
            <button type="button" className="button" disabled={!up} onClick={() => setAsking(true)}>
              {t('markIt')}
            </button>
          )}
          {open && (
            <button type="button" className="button" disabled={!up || cancel.isPending} onClick={canceling.start}>
              {t('cancelIt')}
            </button>
          )}
          {refundable.length > 0 && (
            <button
              type="button"
              className={invoice.over ? 'button filled' : 'button'}
              disabled={!up}
              onClick={() => setRefunding(true)}
            >
              {t(invoice.over ? 'refundDifference' : 'refund')}
            </button>
          )}
          {webhook && (
            <button
              type="button"
              className="button"
              disabled={!up || resend.isPending}
              onClick={() => resend.mutate({ id: webhook.id })}
            >
              {t('tellAgain')}
            </button>
          )}
        </div>
      )}
      {error && <Problem error={error} />}
      <Refund invoice={invoice} open={refunding} onClose={() => setRefunding(false)} t={t} />
    </section>
  );
}

type MarkProps = { busy: boolean; mark(): void; keep(): void; t: T };

function MarkPaid({ busy, mark, keep, t }: MarkProps): ReactNode {
  return (
    <div className="panel confirm">
      <p>
        <strong>{t('sure')}</strong> {t('markNote')}
      </p>
      <div className="actions">
        <button type="button" className="button filled" disabled={busy} onClick={mark}>
          {t('markIt')}
        </button>
        <button type="button" className="button" onClick={keep}>
          {t('keep')}
        </button>
      </div>
    </div>
  );
}

function Undo({ deferred, up, t }: { deferred: Deferred; up: boolean; t: T }): ReactNode {
  return (
    <div className="panel confirm">
      <p>
        <strong role="status">{t('canceling')}</strong> {t('cancelNote')}{' '}
        <span className="figure quiet" aria-hidden="true">
          {t('inSeconds', { n: deferred.left ?? 0 })}
        </span>
      </p>
      <div className="actions">
        <button type="button" className="button filled" onClick={deferred.undo}>
          {t('undo')}
        </button>
        <button type="button" className="button" disabled={!up} onClick={deferred.now}>
          {t('cancelNow')}
        </button>
      </div>
    </div>
  );
}

function Details({ invoice, t }: { invoice: Detail; t: T }): ReactNode {
  const { full } = useTimes();
  const { textOfUsd } = useMoney();
  const sweep = invoice.payment?.sweep ?? null;
  const rows: ([ReactNode, ReactNode] | false)[] = [
    invoice.order_id !== null && [t('reference'), <Foreign key="r" text={invoice.order_id} />],
    invoice.description !== null && [t('note'), <Foreign key="n" text={invoice.description} />],
    invoice.payment !== null && [t('address'), <Hash key="a" text={invoice.payment.address} />],
    sweep !== null && [
      t('collecting'),
      <span key="c" className={sweep.dear ? 'warn' : ''}>
        {t(sweep.dear ? 'collectingDear' : 'collectingCost', {
          n: sweep.percent,
          cost: textOfUsd(sweep.cost_usd),
        })}
      </span>,
    ],
    [t('coinAsked'), invoice.crypto === 'ALL' ? t('anyCoin') : invoice.crypto],
    [t('due'), full(invoice.due_at)],
    ...invoice.refunds.map(({ id, crypto, amount }): [ReactNode, ReactNode] => [
      t('refunded'),
      <a key={id} href={href('withdrawals', `${id}`)}>
        <Coin amount={amount} crypto={crypto} whole />
      </a>,
    ]),
    [t('business'), <Foreign key="b" text={invoice.business} />],
    ...Object.entries(invoice.metadata ?? {}).map(([name, value]): [ReactNode, ReactNode] => [
      <Foreign key={name} text={name} />,
      <Foreign key={`${name} value`} text={value} />,
    ]),
  ];
  return (
    <section className="section">
      <h2>{t('facts')}</h2>
      <Facts rows={rows.filter((row) => row !== false)} />
    </section>
  );
}
