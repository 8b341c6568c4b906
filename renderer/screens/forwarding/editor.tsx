/** One plan: its terms, what it would send as of now, and the permission for the wallet. */
import { type FormEvent, type ReactNode, useState } from 'react';
import type { Asset } from '../../../daemon/domain/assets.ts';
import { useCall, useConnection, useData, useServerName } from '../../data.tsx';
import { type Business, useBusiness } from '../../frame/business.tsx';
import { Page } from '../../frame/page.tsx';
import { Select } from '../../parts/controls.tsx';
import { Elsewhere } from '../../parts/elsewhere.tsx';
import { foreign } from '../../parts/format.ts';
import { Answer, coinName, Empty, Foreign, Problem } from '../../parts/parts.tsx';
import { go, href } from '../../router.ts';
import { useTries } from '../../tries.ts';
import { isWrongPassphrase, Passphrase } from '../gas/passphrase.tsx';
import { AddressBook } from '../withdrawals/address-book.tsx';
import { readDestination } from './destination.ts';
import { End } from './end.tsx';
import { FeeFields, KeyFields, TimeFields, WhatFields } from './fields.tsx';
import { coinsOf, type Plan, type Terms, usePlans, useSigning, useWords } from './plans.ts';
import { Preview } from './preview.tsx';
import { type Typed, termsOf, typedOf } from './terms.ts';
import './forwarding.css';

/** The coins whose accounts have extended public keys. */
const KEYED: ReadonlySet<string> = new Set(['BTC', 'LTC', 'BCH']);
const BY_KEY = 'key';

/** `name`: the coin of a plan, or `new`. */
export default function Editor({ name }: { name: string }): ReactNode {
  const { t } = useWords();
  const business = useBusiness();
  const title = name === 'new' ? t('new') : t('changeTitle', { coin: coinName(name) });
  return (
    <Page
      title={title}
      note={<span className="wide-only">{t('newNote')}</span>}
      back={{ to: href('withdrawals', 'forwarding'), name: t('forwarding') }}
    >
      {business && <Chosen key={business.id} business={business} name={name} />}
    </Page>
  );
}

function Chosen({ business, name }: { business: Business; name: string }): ReactNode {
  const { t } = useWords();
  const plans = usePlans(business);
  const [chosen, setChosen] = useState('');
  return (
    <Answer of={plans}>
      {({ plans: all }) => {
        const isNew = name === 'new';
        const planned = all.map(({ crypto }) => crypto);
        const coins = coinsOf(business).filter(({ symbol }) => (isNew ? !planned.includes(symbol) : symbol === name));
        const asset = coins.find(({ symbol }) => symbol === chosen) ?? coins[0];
        if (!asset) return <Empty title={t('noCoins')}>{t('noCoinsText')}</Empty>;
        const before = all.find(({ crypto }) => crypto === asset.symbol) ?? null;
        const choose = isNew && (
          <Select
            label={t('coin')}
            value={asset.symbol}
            options={coins.map(({ symbol }) => [symbol, coinName(symbol)] as const)}
            onChange={setChosen}
          />
        );
        return <Form key={asset.symbol} business={business} asset={asset} before={before} coin={choose} />;
      }}
    </Answer>
  );
}

type FormProps = { business: Business; asset: Asset; before: Plan | null; coin: ReactNode };

function Form({ business, asset, before, coin }: FormProps): ReactNode {
  const { t } = useWords();
  const [typed, setTyped] = useState(() => typedOf(asset, before));
  // the plan as it was when it was opened, since that is what was compared
  const [old] = useState(before);
  const book = useCall('addressBook.list', { business: `${business.id}` }).data?.addresses ?? [];
  const own = book.filter(({ chain }) => chain === asset.chain);
  const type = (change: Partial<Typed>): void => setTyped({ ...typed, ...change });
  const found = readDestination(typed, asset, business.network);
  const terms = found.fault ? null : termsOf(asset, { ...typed, address: found.address });
  const known = typed.byKey ? undefined : own.find(({ address }) => address === typed.address);
  const name = typed.byKey ? t('ofKey') : known?.label;
  const hasKeys = KEYED.has(asset.symbol);
  return (
    <div className="forward-editor">
      <div className="forward-terms">
        <WhatFields asset={asset} typed={typed} type={type} coin={coin} />
        <section className="section">
          <h2>{t('to')}</h2>
          {!typed.byKey && <p className="quiet">{t('ofBook')}</p>}
          <Select
            label={t('address')}
            value={typed.byKey ? BY_KEY : known ? typed.address : ''}
            options={[
              ['', t('chooseAddress')] as const,
              ...own.map(({ address, label }) => [address, `${foreign(label)} · ${address.slice(0, 10)}…`] as const),
              ...(hasKeys ? [[BY_KEY, t('byKey')] as const] : []),
            ]}
            onChange={(chosen) => {
              const byKey = chosen === BY_KEY;
              type({ byKey, address: byKey ? '' : chosen });
            }}
          />
          {typed.byKey && <KeyFields typed={typed} type={type} found={found} />}
        </section>
        {!typed.byKey && (
          <AddressBook business={business} crypto={asset.symbol} choose={(address) => type({ address })} />
        )}
        <TimeFields asset={asset} typed={typed} type={type} timeZone={business.time_zone} />
        <FeeFields asset={asset} typed={typed} type={type} />
        {old && <End business={business} asset={asset} plan={old} />}
      </div>
      <aside className="forward-preview" aria-label={t('preview')}>
        {terms && name !== undefined ? (
          <>
            <Preview business={business} asset={asset} terms={terms} name={name} before={old} />
            <Permit business={business} asset={asset} terms={terms} name={name} />
          </>
        ) : (
          <p className="quiet">{t('fill')}</p>
        )}
      </aside>
    </div>
  );
}

type PermitProps = { business: Business; asset: Asset; terms: Terms; name: string };

/** The permission in one sentence, the passphrase for it where the wallet needs one, and the button. */
function Permit({ business, asset, terms, name }: PermitProps): ReactNode {
  const { t } = useWords();
  const { bridge, client, session } = useData();
  const connection = useConnection();
  const sign = useSigning();
  const isReal = business.network !== 'sandbox';
  const tries = useTries(isReal);
  // a server, which may be in the hands of a thief, has the address book and the former plan
  const asks = useServerName() !== null;
  const destination = `${terms.address} ${terms.from}`;
  const [compared, setCompared] = useState('');
  const [passphrase, setPassphrase] = useState('');
  const [working, setWorking] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  if (!session.approvals) {
    return <Elsewhere commands={[`forward set ${business.id} ${asset.symbol} …`]} />;
  }
  async function save(): Promise<void> {
    const { address, from = 0, fee_share = null, fee_max = null, fee_day } = terms;
    const limits = { address, from, feeShare: fee_share, feeMax: fee_max, feeDay: fee_day };
    const signed = await sign(passphrase, { business, asset }, limits);
    await bridge.call('forwarding.set', { business: `${business.id}`, crypto: asset.symbol, terms, signed });
    await client.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[0]).startsWith('forwarding.') });
    go(href('withdrawals', 'forwarding'));
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setWorking(true);
    setError(null);
    void save()
      .catch((failed: Error) => {
        setError(failed);
        tries.read();
      })
      .finally(() => {
        setPassphrase('');
        setWorking(false);
      });
  };
  const isFree = connection.up && !working && tries.wait === 0;
  const isReady = isFree && (!isReal || passphrase !== '') && (!asks || compared === destination);
  return (
    <form className="form" onSubmit={submit}>
      <p>
        {t('allow')}{' '}
        <strong>
          <Foreign text={t('allowText', { name })} />
        </strong>
      </p>
      {asks && (
        <label className="check">
          <input
            type="checkbox"
            checked={compared === destination}
            onChange={({ target }) => setCompared(target.checked ? destination : '')}
          />
          <span>{t('compared')}</span>
        </label>
      )}
      {isReal && (
        <Passphrase label={t('passphrase')} value={passphrase} type={setPassphrase} error={error} wait={tries.wait} />
      )}
      {error && !isWrongPassphrase(error) && <Problem error={error} means={t('notSaved')} changes />}
      <button type="submit" className="button filled large" disabled={!isReady}>
        {t(working ? 'saving' : 'save')}
      </button>
    </form>
  );
}
