/** API keys and client IDs. */
import { type FormEvent, type ReactNode, useState } from 'react';
import type { Params } from '../../bridge.ts';
import { useCall, useChange, useConnection, useData } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { Field, Sure } from '../../parts/controls.tsx';
import { useTimes } from '../../parts/format.ts';
import { type Price, useExample } from '../../parts/money.ts';
import { Answer, Copy, Foreign, Notice, Problem, Section } from '../../parts/parts.tsx';
import type { T } from './developers.tsx';

type Props = { business: Business; t: T };
type Scope = NonNullable<Params<'key.add'>['scopes']>[number];

/** Where the configuration turns approvals in the browser off. */
const WITHOUT_WITHDRAWALS: Scope[] = ['invoices', 'balance'];

export function Connect({ business, t }: Props): ReactNode {
  return (
    <>
      <Keys business={business} t={t} />
      <Clients business={business} t={t} />
    </>
  );
}

/** A call that a developer can paste into a terminal. */
export const curl = (url: string, key: string, { amount, currency }: Price): string =>
  `curl -X POST ${url}/api/v1/merchant/invoice -H "MB-API-KEY: ${key}" -H "Content-Type: application/json" -d '{"amount":${amount},"currency":"${currency}"}'`;

/** A button for a page of the shop, which sells without a server of its own. */
export const button = (url: string, clientId: string, { amount, currency }: Price): string =>
  `<button id="pay">Pay ${amount} ${currency}</button>
<script src="${url}/js/sdk.js"></script>
<script>const shop = Countinghouse.createClient({ clientId: '${clientId}' });
pay.onclick = () => shop.createInvoice({ amount: ${amount}, currency: '${currency}' })
  .then((invoice) => location.assign(invoice.invoice_url), (error) => alert(error.message));</script>`;

export function Code({ text }: { text: string }): ReactNode {
  return (
    <div className="code">
      <code>{text}</code>
      <Copy text={text} />
    </div>
  );
}

/** The rows of what has a name and can be revoked. */
function Rows<One extends { id: number; name: string }>(props: {
  all: readonly One[];
  none: string;
  revoke(one: One): void;
  t: T;
  children(one: One): ReactNode;
}): ReactNode {
  const { all, none, revoke, t, children } = props;
  const { up } = useConnection();
  if (all.length === 0) return <p className="quiet">{none}</p>;
  return (
    <ul className="rows">
      {all.map((one) => (
        <li key={one.id}>
          {children(one)}
          <Sure
            label={t('revoke')}
            question={t('revokeSure', { name: one.name })}
            yes={t('revokeNow')}
            disabled={!up}
            onYes={() => revoke(one)}
          />
        </li>
      ))}
    </ul>
  );
}

/** The form that makes another one under a name. `make` is given what to do once it is made. */
function NewOne(props: {
  label: string;
  isPending: boolean;
  make(name: string, options: { onSuccess(): void }): void;
  t: T;
  children?: ReactNode;
}): ReactNode {
  const { label, isPending, make, t, children } = props;
  const { up } = useConnection();
  const [name, setName] = useState('');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (name.trim() !== '') make(name.trim(), { onSuccess: () => setName('') });
  };
  return (
    <form className="inline-form" onSubmit={submit}>
      <Field
        label={label}
        value={name}
        maxLength={100}
        placeholder={t('name')}
        onChange={(event) => setName(event.target.value)}
      />
      {children}
      <button type="submit" className="button" disabled={!up || isPending}>
        {t('make')}
      </button>
    </form>
  );
}

function Keys({ business, t }: Props): ReactNode {
  const { full } = useTimes();
  const keys = useCall('key.list', { business: `${business.id}` });
  const url = useCall('status', {}).data?.url ?? '';
  const example = useExample(business);
  const add = useChange('key.add', 'key.');
  const revoke = useChange('key.revoke', 'key.');
  const fault = add.error ?? revoke.error;
  const { session } = useData();
  const scopes = session.approvals || business.network === 'sandbox' ? {} : { scopes: WITHOUT_WITHDRAWALS };
  return (
    <Section title={t('keys')} note={t('keysNote')}>
      {add.data && (
        <Notice tone="good" title={t('onceTitle')}>
          <p>{t('once')}</p>
          <Code text={add.data.key.key} />
          <p>{t('snippet', { price: example.text })}</p>
          <Code text={curl(url, add.data.key.key, example)} />
        </Notice>
      )}
      <Answer of={keys}>
        {({ keys: all }) => (
          <Rows all={all} none={t('noKeys')} revoke={({ id }) => revoke.mutate({ id })} t={t}>
            {(key) => (
              <>
                <span>
                  <strong>
                    <Foreign text={key.name} />
                  </strong>{' '}
                  <span className="mono quiet">{key.hint}…</span>
                </span>
                <span className="quiet">{key.scopes.map((scope) => t(`scope_${scope}`)).join(', ')}</span>
                <span className="quiet">
                  {t('used')}: {key.last_used_at ? full(key.last_used_at) : t('never')}
                </span>
              </>
            )}
          </Rows>
        )}
      </Answer>
      <NewOne
        label={t('newKey')}
        isPending={add.isPending}
        make={(name, options) => add.mutate({ business: `${business.id}`, name, ...scopes }, options)}
        t={t}
      />
      {'scopes' in scopes && <p className="quiet">{t('noWithdrawals')}</p>}
      {fault && <Problem error={fault} />}
    </Section>
  );
}

function Clients({ business, t }: Props): ReactNode {
  const [origins, setOrigins] = useState('');
  const url = useCall('status', {}).data?.url ?? '';
  const example = useExample(business);
  const clients = useCall('client.list', { business: `${business.id}` });
  const add = useChange('client.add', 'client.');
  const revoke = useChange('client.revoke', 'client.');
  const fault = add.error ?? revoke.error;
  const list = origins.split(',').flatMap((one) => one.trim() || []);
  return (
    <Section title={t('clients')} note={t('clientsNote')}>
      {add.data && (
        <Notice tone="good" title={add.data.client.client_id}>
          <p>{t('pasteButton', { price: example.text })}</p>
          <Code text={button(url, add.data.client.client_id, example)} />
        </Notice>
      )}
      <Answer of={clients}>
        {({ clients: all }) => (
          <Rows all={all} none={t('noClients')} revoke={({ id }) => revoke.mutate({ client: `${id}` })} t={t}>
            {(client) => (
              <>
                <strong>
                  <Foreign text={client.name} />
                </strong>
                <span>
                  <span className="mono">{client.client_id}</span> <Copy text={client.client_id} />
                </span>
                <span className="quiet">
                  <Foreign text={client.origins.join(', ')} />
                </span>
              </>
            )}
          </Rows>
        )}
      </Answer>
      <NewOne
        label={t('newClient')}
        isPending={add.isPending}
        make={(name, options) => add.mutate({ business: `${business.id}`, name, origins: list }, options)}
        t={t}
      >
        <Field
          label={t('origins')}
          placeholder={t('originsSuch')}
          value={origins}
          onChange={(event) => setOrigins(event.target.value)}
        />
      </NewOne>
      {fault && <Problem error={fault} />}
    </Section>
  );
}
