/** The messages to shops: webhooks of invoices, and signed events. */
import type { ReactNode } from 'react';
import { useCall, useChange, useConnection } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { useTimes } from '../../parts/format.ts';
import { Answer, Foreign, Problem, Said, Section } from '../../parts/parts.tsx';
import { href } from '../../router.ts';
import type { T } from './developers.tsx';
import { DELIVERIES, type Delivery, Endpoints, SHOWN } from './endpoints.tsx';

export function Log({ business, t }: { business: Business; t: T }): ReactNode {
  return (
    <>
      <Endpoints business={business} t={t} />
      <Ignored business={business} t={t} />
      <Deliveries business={business} t={t} />
      <Webhooks t={t} />
    </>
  );
}

/** Misspelt fields: the API ignores them, so that nobody else tells of them. */
function Ignored({ business, t }: { business: Business; t: T }): ReactNode {
  const { full } = useTimes();
  const { data } = useCall('api.ignored', { business: `${business.id}` });
  if (!data || data.fields.length === 0) return null;
  return (
    <Section title={t('ignored')}>
      <p className="quiet">{t('ignoredNote')}</p>
      <ul className="rows">
        {data.fields.map(({ operation, field, meant, times, at }) => (
          <li key={`${operation} ${field}`}>
            <span className="mono">
              {operation} <Foreign text={field} />
            </span>
            <span className="warn">{meant !== null && t('ignoredMeant', { field: meant })}</span>
            <span className="quiet">
              {full(at)}
              {times > 1 && `, ${t('ignoredTimes', { n: times })}`}
            </span>
          </li>
        ))}
      </ul>
    </Section>
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

function Deliveries({ business, t }: { business: Business; t: T }): ReactNode {
  const { full } = useTimes();
  const { up } = useConnection();
  const list = useCall('delivery.list', DELIVERIES);
  const endpoints = useCall('endpoint.list', {}).data?.endpoints ?? [];
  const urlOf = (one: Delivery): string | null =>
    endpoints.find(({ id, business_id }) => id === one.endpoint_id && business_id === business.id)?.url ?? null;
  const resend = useChange('delivery.resend', 'delivery.');
  return (
    <Section title={t('deliveries')}>
      {resend.error && <Problem error={resend.error} />}
      <Answer of={list}>
        {({ deliveries: all }) => {
          const deliveries = all.filter((one) => urlOf(one) !== null);
          return deliveries.length === 0 ? (
            <p className="quiet">{t('noDeliveries')}</p>
          ) : (
            <ul className="rows">
              {deliveries.map((one) => (
                <li key={one.id}>
                  <span>
                    <span className="mono">{one.type}</span> <Subject of={one.subject} />
                  </span>
                  <span className={one.state === 'delivered' ? 'quiet' : 'warn'}>
                    {one.status === null && one.error === null ? (
                      t('waiting')
                    ) : (
                      <Said text={`${one.status ?? one.error}`} />
                    )}
                    {one.attempts > 1 && `, ${t('attempts', { n: one.attempts })}`}
                  </span>
                  <span className="quiet">{full(one.attempted_at ?? one.created_at)}</span>
                  <button type="button" className="link" disabled={!up} onClick={() => resend.mutate({ id: one.id })}>
                    {t('resend')}
                  </button>
                  <span className="quiet whole-row">
                    <Foreign text={urlOf(one) ?? ''} />
                  </span>
                </li>
              ))}
            </ul>
          );
        }}
      </Answer>
    </Section>
  );
}

/** "invoice Qm4x…" or "withdrawal 118", as a link to it. */
function Subject({ of }: { of: string }): ReactNode {
  const [kind, id = ''] = of.split(' ');
  if (kind !== 'invoice' && kind !== 'withdrawal') return null;
  return (
    <a className="mono" href={href(kind === 'invoice' ? 'invoices' : 'withdrawals', id)}>
      {id}
    </a>
  );
}
