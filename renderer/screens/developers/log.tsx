/** The messages to shops: webhooks of invoices, and signed events. */
import type { ReactNode } from 'react';
import { useCall, useChange, useConnection } from '../../data.tsx';
import { useTimes } from '../../parts/format.ts';
import { Answer, Foreign, Problem, Section } from '../../parts/parts.tsx';
import { href } from '../../router.ts';
import type { T } from './developers.tsx';

const SHOWN = 50;

export function Log({ t }: { t: T }): ReactNode {
  return (
    <>
      <Webhooks t={t} />
      <Deliveries t={t} />
    </>
  );
}

function Webhooks({ t }: { t: T }): ReactNode {
  const { full } = useTimes();
  const { up } = useConnection();
  const list = useCall('webhook.list', { limit: SHOWN });
  const resend = useChange('webhook.resend', 'webhook.', 'invoice.');
  return (
    <Section title={t('webhooks')}>
      {resend.error && <Problem error={resend.error} />}
      <Answer of={list}>
        {({ webhooks }) =>
          webhooks.length === 0 ? (
            <p className="quiet">{t('noWebhooks')}</p>
          ) : (
            <ul className="rows">
              {webhooks.map((webhook) => {
                const last = webhook.attempts.at(-1);
                return (
                  <li key={webhook.id}>
                    <a className="mono" href={href('invoices', webhook.invoice)}>
                      {webhook.invoice}
                    </a>
                    <span className={last?.error ? 'warn' : 'quiet'}>
                      <Foreign text={last ? `${last.status ?? last.error ?? ''}` : webhook.state} />
                    </span>
                    <span className="quiet">{full(last?.started_at ?? webhook.created_at)}</span>
                    <button
                      type="button"
                      className="link"
                      disabled={!up || resend.isPending}
                      onClick={() => resend.mutate({ id: webhook.id })}
                    >
                      {t('resend')}
                    </button>
                    <span className="quiet whole-row">
                      <Foreign text={webhook.url} />
                    </span>
                  </li>
                );
              })}
            </ul>
          )
        }
      </Answer>
    </Section>
  );
}

function Deliveries({ t }: { t: T }): ReactNode {
  const { full } = useTimes();
  const { up } = useConnection();
  const list = useCall('delivery.list', { limit: SHOWN });
  const resend = useChange('delivery.resend', 'delivery.');
  return (
    <Section title={t('deliveries')}>
      {resend.error && <Problem error={resend.error} />}
      <Answer of={list}>
        {({ deliveries }) =>
          deliveries.length === 0 ? (
            <p className="quiet">{t('noDeliveries')}</p>
          ) : (
            <ul className="rows">
              {deliveries.map((one) => (
                <li key={one.id}>
                  <span className="mono">{one.type}</span>
                  <span className={one.error ? 'warn' : 'quiet'}>
                    <Foreign text={`${one.status ?? one.error ?? one.state}`} />
                  </span>
                  <span className="quiet">{full(one.attempted_at ?? one.created_at)}</span>
                  <button type="button" className="link" disabled={!up} onClick={() => resend.mutate({ id: one.id })}>
                    {t('resend')}
                  </button>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Section>
  );
}
