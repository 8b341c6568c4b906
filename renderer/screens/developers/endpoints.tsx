/** Where signed events of a business go: listed, tried, paused, removed, and added. */
import { type FormEvent, type ReactNode, useState } from 'react';
import { EVENT_TYPES, type EventType } from '../../../daemon/domain/merchant.ts';
import type { Result } from '../../bridge.ts';
import { useCall, useChange, useConnection } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { Field, Sure } from '../../parts/controls.tsx';
import { useTimes } from '../../parts/format.ts';
import { Answer, Foreign, Notice, Problem, Said, Section, State, type StateProps } from '../../parts/parts.tsx';
import { Code } from './connect.tsx';
import type { T } from './developers.tsx';

export const SHOWN = 50;

/** The newest deliveries, of every business. */
export const DELIVERIES = { limit: SHOWN };
export type Delivery = Result<'delivery.list'>['deliveries'][number];

type Endpoint = Result<'endpoint.list'>['endpoints'][number];
type Secret = { url: string; secret: string };
type Props = { business: Business; t: T };

const READ_EVERY_MS = 10_000;
const PAUSED = 'paused by the operator';

export function Endpoints({ business, t }: Props): ReactNode {
  const list = useCall('endpoint.list', {}, { every: READ_EVERY_MS });
  const deliveries = useCall('delivery.list', DELIVERIES).data?.deliveries ?? [];
  const [secret, setSecret] = useState<Secret | null>(null);
  return (
    <Section title={t('endpoints')} note={t('endpointsNote')}>
      {secret && (
        <Notice tone="good" title={t('secretTitle')}>
          <p>
            <Foreign text={t('secretNote', { url: secret.url })} />
          </p>
          <Code text={secret.secret} />
        </Notice>
      )}
      <Answer of={list}>
        {({ endpoints }) => {
          const own = endpoints.filter((one) => one.business_id === business.id);
          if (own.length === 0) return <p className="quiet">{t('noEndpoints')}</p>;
          return (
            <ul className="rows endpoints">
              {own.map((one) => (
                <Row
                  key={one.id}
                  one={one}
                  last={deliveries.find((sent) => sent.endpoint_id === one.id && sent.attempted_at !== null)}
                  showSecret={setSecret}
                  t={t}
                />
              ))}
            </ul>
          );
        }}
      </Answer>
      <Add business={business} showSecret={setSecret} t={t} />
    </Section>
  );
}

type RowProps = { one: Endpoint; last: Delivery | undefined; showSecret(secret: Secret | null): void; t: T };

function Row({ one, last, showSecret, t }: RowProps): ReactNode {
  const { short } = useTimes();
  const { up } = useConnection();
  const { id, url } = one;
  const test = useChange('endpoint.test');
  const pause = useChange('endpoint.pause', 'endpoint.');
  const enable = useChange('endpoint.enable', 'endpoint.', 'delivery.');
  const rotate = useChange('endpoint.rotate');
  const remove = useChange('endpoint.remove', 'endpoint.');
  const fault = test.error ?? pause.error ?? enable.error ?? rotate.error ?? remove.error;
  return (
    <li>
      <span>
        <strong className="endpoint-url">
          <Foreign text={url} />
        </strong>
        <SentTypes one={one} t={t} />
      </span>
      <span>
        <EndpointState one={one} wasSent={last !== undefined} t={t} />
        {last?.attempted_at && (
          <span className="quiet">
            {t('lastAnswer', { time: short(last.attempted_at) })} <Said text={`${last.status ?? last.error ?? ''}`} />
          </span>
        )}
      </span>
      <span className="actions">
        <button type="button" className="button" disabled={!up || test.isPending} onClick={() => test.mutate({ id })}>
          {t('test')}
        </button>
        {one.disabled_at === null ? (
          <button type="button" className="link" disabled={!up} onClick={() => pause.mutate({ id })}>
            {t('pause')}
          </button>
        ) : (
          <button type="button" className="link" disabled={!up} onClick={() => enable.mutate({ id })}>
            {t('resume')}
          </button>
        )}
        <Sure
          label={t('rotate')}
          question={t('rotateSure')}
          yes={t('rotateNow')}
          disabled={!up}
          onYes={() => rotate.mutate({ id }, { onSuccess: ({ endpoint }) => showSecret(endpoint) })}
        />
        <Sure
          label={t('remove')}
          question={t('removeSure', { url })}
          yes={t('removeNow')}
          disabled={!up}
          onYes={() => remove.mutate({ id }, { onSuccess: () => showSecret(null) })}
        />
      </span>
      <ChangeTypes key={one.types.join()} one={one} t={t} />
      <div className="whole-row" role="status">
        {test.data && <Tested answer={test.data} t={t} />}
      </div>
      {fault && (
        <div className="whole-row">
          <Problem error={fault} />
        </div>
      )}
    </li>
  );
}

const takes = (one: Endpoint, type: string): boolean => one.types.length === 0 || one.types.includes(type);

function SentTypes({ one: { types }, t }: { one: Endpoint; t: T }): ReactNode {
  if (types.length === 0) return <span className="quiet">{t('allEvents')}</span>;
  return <span className="quiet mono">{types.join(', ')}</span>;
}

function ChangeTypes({ one, t }: { one: Endpoint; t: T }): ReactNode {
  const { up } = useConnection();
  const change = useChange('endpoint.types', 'endpoint.');
  const [types, setTypes] = useState<readonly EventType[]>(EVENT_TYPES.filter((type) => takes(one, type)));
  const save = (): void => change.mutate({ id: one.id, types: [...types] });
  return (
    <details className="endpoint-types whole-row">
      <summary>{t('changeTypes')}</summary>
      <Types types={types} onTypes={setTypes} />
      <button type="button" className="button" disabled={!up || change.isPending || types.length === 0} onClick={save}>
        {t('saveTypes')}
      </button>
      {change.error && <Problem error={change.error} />}
    </details>
  );
}

type TypesProps = { types: readonly EventType[]; onTypes(types: readonly EventType[]): void };

function Types({ types, onTypes }: TypesProps): ReactNode {
  return EVENT_TYPES.map((type) => (
    <label key={type} className="check">
      <input
        type="checkbox"
        checked={types.includes(type)}
        onChange={({ target }) => onTypes(target.checked ? [...types, type] : types.filter((one) => one !== type))}
      />
      <span className="mono">{type}</span>
    </label>
  ));
}

const isTaken = ({ status }: { status: number | null }): boolean => status !== null && status >= 200 && status < 300;

function Tested({ answer, t }: { answer: Result<'endpoint.test'>; t: T }): ReactNode {
  const { status, error, milliseconds } = answer;
  if (isTaken(answer)) return <p className="good">{t('testGood', { status: `${status}`, ms: milliseconds })}</p>;
  return (
    <p className="bad">
      {t('testBad')} <Said text={`${status ?? error ?? ''}`} />
    </p>
  );
}

function EndpointState({ one, wasSent, t }: { one: Endpoint; wasSent: boolean; t: T }): ReactNode {
  const { full } = useTimes();
  const { disabled_at, disabled_why, failing_since } = one;
  const at = disabled_at ?? failing_since;
  const time = at === null ? '' : full(at);
  const [look, word]: [Omit<StateProps, 'children'>, Parameters<T>[0]] =
    disabled_at !== null
      ? disabled_why === PAUSED
        ? [{ shape: 'ended', tone: 'quiet' }, 'paused']
        : [{ shape: 'failed', tone: 'bad' }, 'stopped']
      : failing_since !== null
        ? [{ shape: 'warning', tone: 'warn' }, 'failing']
        : wasSent
          ? [{ shape: 'done', tone: 'good' }, 'works']
          : [{ shape: 'waiting', tone: 'quiet' }, 'untried'];
  return <State {...look}>{t(word, { time })}</State>;
}

function Add({ business, showSecret, t }: Props & { showSecret(secret: Secret): void }): ReactNode {
  const { up } = useConnection();
  const add = useChange('endpoint.add', 'endpoint.');
  const [url, setUrl] = useState('');
  const [types, setTypes] = useState<readonly EventType[]>([]);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (url.trim() === '') return;
    const wanted = { business: `${business.id}`, url: url.trim(), types: [...types] };
    add.mutate(wanted, {
      onSuccess: ({ endpoint }) => {
        setUrl('');
        setTypes([]);
        showSecret(endpoint);
      },
    });
  };
  return (
    <form onSubmit={submit}>
      <div className="inline-form">
        <Field
          label={t('newEndpoint')}
          type="url"
          placeholder="https://shop.example/events"
          maxLength={2_048}
          value={url}
          onChange={(event) => setUrl(event.target.value)}
        />
        <button type="submit" className="button" disabled={!up || add.isPending || url.trim() === ''}>
          {t('make')}
        </button>
      </div>
      <details className="endpoint-types">
        <summary>{t('onlySome')}</summary>
        <Types types={types} onTypes={setTypes} />
      </details>
      {add.error && <Problem error={add.error} />}
    </form>
  );
}
