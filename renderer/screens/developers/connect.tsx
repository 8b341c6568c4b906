/** API keys and client IDs. */
import { type FormEvent, type ReactNode, useState } from 'react';
import { useCall, useChange, useConnection } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { Field } from '../../parts/controls.tsx';
import { useTimes } from '../../parts/format.ts';
import { Answer, Copy, Foreign, Notice, Problem, Section } from '../../parts/parts.tsx';
import type { T } from './developers.tsx';

type Props = { business: Business; t: T };

export function Connect({ business, t }: Props): ReactNode {
  return (
    <>
      <Keys business={business} t={t} />
      <Clients business={business} t={t} />
    </>
  );
}

/** A call that a developer can paste into a terminal. */
export const curl = (url: string, key: string): string =>
  `curl -X POST ${url}/api/v1/merchant/invoice -H "MB-API-KEY: ${key}" -H "Content-Type: application/json" -d '{"amount":25}'`;

export function Code({ text }: { text: string }): ReactNode {
  return (
    <div className="code">
      <code>{text}</code>
      <Copy text={text} />
    </div>
  );
}

function Keys({ business, t }: Props): ReactNode {
  const { full } = useTimes();
  const { up } = useConnection();
  const [name, setName] = useState('');
  const keys = useCall('key.list', { business: `${business.id}` });
  const url = useCall('status', {}).data?.url ?? '';
  const add = useChange('key.add', 'key.');
  const revoke = useChange('key.revoke', 'key.');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (name.trim() === '') return;
    add.mutate({ business: `${business.id}`, name: name.trim() }, { onSuccess: () => setName('') });
  };
  return (
    <Section title={t('keys')} note={t('keysNote')}>
      {add.data && (
        <Notice tone="good" title={t('onceTitle')}>
          <p>{t('once')}</p>
          <Code text={add.data.key.key} />
          <p>{t('snippet')}</p>
          <Code text={curl(url, add.data.key.key)} />
        </Notice>
      )}
      <Answer of={keys}>
        {({ keys: all }) =>
          all.length === 0 ? (
            <p className="quiet">{t('noKeys')}</p>
          ) : (
            <ul className="rows">
              {all.map((key) => (
                <li key={key.id}>
                  <span>
                    <strong>
                      <Foreign text={key.name} />
                    </strong>{' '}
                    <span className="mono quiet">{key.hint}…</span>
                  </span>
                  <span className="quiet">{key.scopes.join(', ')}</span>
                  <span className="quiet">
                    {t('used')}: {key.last_used_at ? full(key.last_used_at) : t('never')}
                  </span>
                  <Revoke name={key.name} onRevoke={() => revoke.mutate({ id: key.id })} t={t} />
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
      <form className="inline-form" onSubmit={submit}>
        <Field
          label={t('newKey')}
          value={name}
          maxLength={100}
          placeholder={t('name')}
          onChange={(event) => setName(event.target.value)}
        />
        <button type="submit" className="button" disabled={!up || add.isPending}>
          {t('make')}
        </button>
      </form>
      {(add.error ?? revoke.error) && <Problem error={(add.error ?? revoke.error)!} />}
    </Section>
  );
}

function Revoke({ name, onRevoke, t }: { name: string; onRevoke(): void; t: T }): ReactNode {
  const { up } = useConnection();
  const [asking, setAsking] = useState(false);
  if (!asking) {
    return (
      <button type="button" className="link" disabled={!up} onClick={() => setAsking(true)}>
        {t('revoke')}
      </button>
    );
  }
  return (
    <span className="revoke">
      <Foreign text={t('revokeSure', { name })} />{' '}
      <button type="button" className="button" onClick={onRevoke}>
        {t('revokeNow')}
      </button>{' '}
      <button type="button" className="link" onClick={() => setAsking(false)}>
        {t('leave')}
      </button>
    </span>
  );
}

function Clients({ business, t }: Props): ReactNode {
  const { up } = useConnection();
  const [name, setName] = useState('');
  const [origins, setOrigins] = useState('');
  const clients = useCall('client.list', { business: `${business.id}` });
  const add = useChange('client.add', 'client.');
  const revoke = useChange('client.revoke', 'client.');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (name.trim() === '') return;
    const list = origins.split(',').flatMap((one) => one.trim() || []);
    add.mutate({ business: `${business.id}`, name: name.trim(), origins: list }, { onSuccess: () => setName('') });
  };
  return (
    <Section title={t('clients')} note={t('clientsNote')}>
      <Answer of={clients}>
        {({ clients: all }) =>
          all.length === 0 ? (
            <p className="quiet">{t('noClients')}</p>
          ) : (
            <ul className="rows">
              {all.map((client) => (
                <li key={client.id}>
                  <strong>
                    <Foreign text={client.name} />
                  </strong>
                  <span>
                    <span className="mono">{client.client_id}</span> <Copy text={client.client_id} />
                  </span>
                  <span className="quiet">
                    <Foreign text={client.origins.join(', ')} />
                  </span>
                  <Revoke name={client.name} onRevoke={() => revoke.mutate({ client: `${client.id}` })} t={t} />
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
      <form className="inline-form" onSubmit={submit}>
        <Field
          label={t('newClient')}
          value={name}
          maxLength={100}
          placeholder={t('name')}
          onChange={(event) => setName(event.target.value)}
        />
        <Field label={t('origins')} value={origins} onChange={(event) => setOrigins(event.target.value)} />
        <button type="submit" className="button" disabled={!up || add.isPending}>
          {t('make')}
        </button>
      </form>
      {(add.error ?? revoke.error) && <Problem error={(add.error ?? revoke.error)!} />}
    </Section>
  );
}
