/**
 * The accounts of a hardware wallet or another wallet: the public key of each coin, the addresses to compare with the device, and the business
 * that gets them.
 *
 * Invariant: a key is taken only after its first addresses were compared. The view key leaves the page with the
 * business alone, and is in no message.
 */
import { type ReactNode, useState } from 'react';
import type { AccountKey, ScriptForm } from '../../../daemon/domain/chain.ts';
import { kinOf } from '../../../daemon/domain/evm.ts';
import { inGroups } from '../../../daemon/domain/policy.ts';
import { isMovedElsewhere } from '../../../daemon/domain/watch-only.ts';
import { openBusiness } from '../../../daemon/operator/open-business.ts';
import {
  type FirstAddress,
  FORMS,
  firstAddresses,
  isOfCoins,
  WATCHABLE,
  type Watchable,
} from '../../../daemon/operator/watch-only.ts';
import type { Params } from '../../bridge.ts';
import { useConnection, useData } from '../../data.tsx';
import { type Translate, useText } from '../../i18n.ts';
import { Field, Select } from '../../parts/controls.tsx';
import { ShapeIcon } from '../../parts/icons.tsx';
import { chainName } from '../../parts/names.ts';
import { CoinMark, Facts, Notice, Problem, Reason, State } from '../../parts/parts.tsx';
import { useDoing } from '../wallet/doing.ts';
import { Bring } from './account-bring.tsx';
import { FORM_TEXTS } from './account-forms.ts';
import { type Fault, readTyped, type Typed } from './account-reading.ts';
import TEXTS from './account-texts.ts';
import './accounts.css';
import type { NewBusiness } from './live.tsx';
import { type Past, pastOf, usePast } from './past.tsx';
import { Head } from './steps.tsx';

type T = Translate<keyof (typeof TEXTS)['en']>;
export type Taken = Partial<Record<Watchable, AccountKey>>;
type Props = {
  wanted: Params<'business.add'>;
  /** The accounts that were compared; they stay while the step before is looked at again. */
  taken: Taken;
  setTaken(taken: Taken): void;
  onAdded(added: NewBusiness): void;
};

const BEGIN_CHARS = 4;

/** The coin by whose colour a chain is known. */
const coinOf = (chain: Watchable): string => (chain === 'BSC' ? 'BNB' : chain);

const nextOf = (taken: Taken): Watchable | undefined => WATCHABLE.find((one) => taken[one] === undefined);

export default function Accounts({ wanted, taken, setTaken, onAdded }: Props): ReactNode {
  const t = useText(TEXTS);
  const [chain, setChain] = useState<Watchable>(nextOf(taken) ?? 'BTC');
  const [isOpen, setOpen] = useState(false);
  const { add, error, busy } = useAdding(wanted, onAdded);
  const left = WATCHABLE.filter((one) => taken[one] === undefined);
  const take = (keys: Taken): void => {
    const all = { ...taken, ...keys };
    setTaken(all);
    setChain(nextOf(all) ?? chain);
    setOpen(false);
  };
  const remove = (one: Watchable): void => {
    setTaken(Object.fromEntries(Object.entries(taken).filter(([name]) => name !== one)));
    // the chosen coin may be one that was taken
    if (taken[chain] !== undefined) setChain(one);
  };
  return (
    <>
      <Head title={t('title')} note={t('note')} />
      <div className="accounts">
        <div className="account-form">
          {left.length > 0 && (
            <>
              <Select<Watchable>
                label={t('coin')}
                value={chain}
                options={left.map((one) => [one, chainName(one)] as const)}
                onChange={(one) => {
                  setChain(one);
                  setOpen(false);
                }}
              />
              <OneAccount
                key={`${chain} ${Object.keys(taken).join()}`}
                chain={chain}
                network={wanted.network}
                taken={taken}
                onTyped={setOpen}
                onTaken={take}
                t={t}
              />
            </>
          )}
        </div>
        <Business
          taken={taken}
          chain={chain}
          isOpen={isOpen}
          busy={busy}
          error={error}
          onRemove={remove}
          onAdd={(past) => void add(taken, past)}
          t={t}
        />
      </div>
    </>
  );
}

function useAdding(wanted: Params<'business.add'>, onAdded: Props['onAdded']) {
  const { bridge } = useData();
  const { error, busy, run } = useDoing();
  const add = (accounts: Taken, past: Past | null): Promise<boolean> =>
    run(async () => {
      const derived = { accounts, used: false };
      onAdded(await openBusiness(bridge.call, { ...wanted, ...pastOf(past) }, async () => derived));
    });
  return { add, error, busy };
}

type OneProps = {
  chain: Watchable;
  network: Params<'business.add'>['network'];
  taken: Taken;
  onTyped(isOpen: boolean): void;
  onTaken(keys: Taken): void;
  t: T;
};

const NONE_SAME: readonly number[] = [];

/** One key: typed, read, compared and taken. */
function OneAccount({ chain, network, taken, onTyped, onTaken, t }: OneProps): ReactNode {
  const [typed, setTyped] = useState<Typed>({ chain, text: '', viewKey: '', form: null });
  const [wasPrivate, setPrivate] = useState(false);
  const [same, setSame] = useState(NONE_SAME);
  const [isBoth, setBoth] = useState(true);
  const found = readTyped(typed, network);
  const kin = kinOf(chain);
  const other = kin !== null && taken[kin] === undefined ? kin : null;
  const type = (change: Partial<Typed>): void => {
    const now = { ...typed, ...change };
    const isPrivate = readTyped(now, network).fault === 'account.private';
    setPrivate(isPrivate);
    setTyped(isPrivate ? { ...now, text: '', viewKey: '' } : now);
    setSame(NONE_SAME);
    onTyped(!isPrivate && `${now.text}${now.viewKey}`.trim() !== '');
  };
  const { key } = found;
  const addresses = key === null ? [] : firstAddresses(chain, network, key);
  const left = addresses.filter(({ number }) => !same.includes(number)).length;
  return (
    <>
      <KeyFields typed={typed} fault={found.fault} type={type} t={t} />
      <Bring chain={chain} network={network} onFound={type} />
      {wasPrivate && <Refused fault="account.private" chain={chain} network={network} t={t} />}
      {found.fault && <Refused fault={found.fault} chain={chain} network={network} t={t} />}
      {key !== null && (
        <>
          <Says chain={chain} account={key} first={addresses[0]!} t={t} />
          <Compare addresses={addresses} same={same} choose={setSame} t={t} />
          {other !== null && (
            <label className="check">
              <input type="checkbox" checked={isBoth} onChange={(event) => setBoth(event.target.checked)} />
              <span>{t('alsoOn', { chain: chainName(other) })}</span>
            </label>
          )}
          <div className="actions">
            <button
              type="button"
              className="button filled large"
              disabled={left > 0}
              onClick={() => onTaken({ [chain]: key, ...(other !== null && isBoth && { [other]: key }) })}
            >
              {t('take')}
            </button>
            {left > 0 && <span className="quiet">{t('left', { n: left })}</span>}
          </div>
        </>
      )}
    </>
  );
}

type FieldsProps = { typed: Typed; fault: Fault | null; type(change: Partial<Typed>): void; t: T };

function KeyFields({ typed, fault, type, t }: FieldsProps): ReactNode {
  const { chain, text, viewKey, form } = typed;
  const isMonero = chain === 'XMR';
  const hasForms = isOfCoins(chain);
  const asksForm = hasForms && (form !== null || fault === 'account.choose' || fault === 'account.script');
  return (
    <>
      <label className="field">
        <span className="account-label">{t(isMonero ? 'address' : hasForms ? 'key' : 'evmKey')}</span>
        <textarea
          className="input mono account-key"
          rows={3}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          aria-invalid={fault !== null && fault !== 'account.choose' && fault !== 'account.view_key' ? true : undefined}
          value={text}
          onChange={(event) => type({ text: event.target.value })}
        />
        <span className="quiet">{t(isMonero ? 'addressHint' : hasForms ? 'keyHint' : 'evmHint')}</span>
      </label>
      {isMonero && (
        <Field
          label={t('viewKey')}
          hint={t('viewKeyHint')}
          type="password"
          className="mono"
          autoComplete="off"
          spellCheck={false}
          aria-invalid={fault === 'account.view_key' ? true : undefined}
          value={viewKey}
          onChange={(event) => type({ viewKey: event.target.value })}
        />
      )}
      {asksForm && (
        <Select<ScriptForm | ''>
          label={t('form')}
          value={form ?? ''}
          options={[['', t('formOfKey')] as const, ...FORMS[chain].map((one) => [one, t(FORM_TEXTS[one])] as const)]}
          onChange={(chosen) => type({ form: chosen === '' ? null : chosen })}
        />
      )}
    </>
  );
}

/** Why a key is not taken, and what to do. */
function Refused({ fault, chain, network, t }: { fault: Fault; chain: Watchable; network: string; t: T }): ReactNode {
  const coin = chainName(chain);
  const texts: Readonly<Record<Fault, readonly [title: string, text: string]>> = {
    'account.private': [t('private'), t('privateText')],
    'account.checksum': [t('checksum'), t('checksumText')],
    'account.key': [t('unknown'), t(chain === 'XMR' ? 'unknownXmr' : isOfCoins(chain) ? 'unknownText' : 'unknownEvm')],
    'account.network': [t('network'), t('networkText', { network, coin })],
    'account.depth': [t('depth'), t('depthText')],
    'account.choose': [t('choose'), t('chooseText')],
    'account.script': [t('script'), isOfCoins(chain) ? t('scriptText', { coin }) : t('scriptEvm')],
    'account.subaddress': [t('subaddress'), t('primaryText')],
    'account.integrated': [t('integrated'), t('primaryText')],
    'account.view_key': [t('view_key'), t('view_keyText')],
  };
  const [title, text] = texts[fault];
  return (
    <Notice tone={fault === 'account.choose' ? 'main' : 'bad'} title={title}>
      {text}
    </Notice>
  );
}

type SaysProps = { chain: Watchable; account: AccountKey; first: FirstAddress; t: T };

/** The key in words. */
function Says({ chain, account, first, t }: SaysProps): ReactNode {
  const watch = account.kind === 'secp256k1' ? account.watch : undefined;
  const begin = inGroups(first.address).join('').slice(0, BEGIN_CHARS);
  const rows: [ReactNode, ReactNode][] = [
    [
      t('account'),
      <span key="account">
        <CoinMark crypto={coinOf(chain)} />
        {chainName(chain)}
      </span>,
    ],
    [t('addresses'), watch?.form ? t('begin', { form: t(FORM_TEXTS[watch.form]), begin }) : t('beginsWith', { begin })],
  ];
  const origin = watch?.origin;
  if (origin) {
    const { fingerprint, path } = origin;
    rows.push([t('device'), t('fingerprint', { fingerprint, path: path === '' ? 'm' : `m/${path}` })]);
  }
  return (
    <section className="account-part">
      <header className="section-head">
        <h3>{t('says')}</h3>
        <span className="side">
          <State shape="done" tone="good">
            {t('sound')}
          </State>
        </span>
      </header>
      <Facts rows={rows} />
    </section>
  );
}

type CompareProps = {
  addresses: readonly FirstAddress[];
  same: readonly number[];
  choose(same: readonly number[]): void;
  t: T;
};

function Compare({ addresses, same, choose, t }: CompareProps): ReactNode {
  return (
    <section className="account-part">
      <h3>{t('compare')}</h3>
      <p className="quiet">{t('compareNote')}</p>
      <ol className="account-addresses">
        {addresses.map(({ number, address }) => {
          const isSame = same.includes(number);
          return (
            <li key={number}>
              <span className="quiet">{number}</span>
              <code>
                {inGroups(address).map((group, at) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: the groups keep their places
                  <span key={at}>{group} </span>
                ))}
              </code>
              <label className="check">
                <input
                  type="checkbox"
                  aria-label={t('isSame', { n: number })}
                  checked={isSame}
                  onChange={() => choose(isSame ? same.filter((one) => one !== number) : [...same, number])}
                />
                <span>{t('same')}</span>
              </label>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

type BusinessProps = {
  taken: Taken;
  chain: Watchable;
  /** A key is typed that was not taken. */
  isOpen: boolean;
  busy: boolean;
  error: Error | null;
  onRemove(chain: Watchable): void;
  onAdd(past: Past | null): void;
  t: T;
};

/** The accounts that were taken, what the one in work can do, and the button that adds the business. */
function Business({ taken, chain, isOpen, busy, error, onRemove, onAdd, t }: BusinessProps): ReactNode {
  const { up } = useConnection();
  const [wasUsed, setUsed] = useState(false);
  const all = WATCHABLE.filter((one) => taken[one] !== undefined);
  const { past, isRight, fields } = usePast(taken.XMR !== undefined);
  const isReady = all.length > 0 && !isOpen && (!wasUsed || isRight);
  return (
    <aside className="panel account-panel">
      <h3>{t('have')}</h3>
      {all.length === 0 ? (
        <p className="quiet">{t('none')}</p>
      ) : (
        <ul className="account-list">
          {all.map((one) => (
            <li key={one}>
              <span>
                <CoinMark crypto={coinOf(one)} />
                {chainName(one)}
              </span>
              <button type="button" className="link" onClick={() => onRemove(one)}>
                {t('remove')}
                <span className="unseen"> {chainName(one)}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
      <Abilities chain={all.length > 0 && !isOpen ? all.at(-1)! : chain} t={t} />
      {all.length > 0 && (
        <>
          <label className="check">
            <input type="checkbox" checked={wasUsed} onChange={(event) => setUsed(event.target.checked)} />
            <span>{t('used')}</span>
          </label>
          {wasUsed && (
            <div className="first-import">
              <p className="quiet">{t('usedNote')}</p>
              {fields}
            </div>
          )}
        </>
      )}
      {error && <NotAdded error={error} t={t} />}
      <button
        type="button"
        className="button filled large"
        disabled={!up || busy || !isReady}
        onClick={() => onAdd(wasUsed ? past : null)}
      >
        {t(busy ? 'adding' : 'add')}
      </button>
      {!isReady && <p className="quiet">{t(isOpen ? 'addOpen' : 'addFirst')}</p>}
    </aside>
  );
}

function NotAdded({ error, t }: { error: Error; t: T }): ReactNode {
  if (!('code' in error) || error.code !== 'account.in_use') return <Problem error={error} />;
  return (
    <Notice tone="bad" title={t('in_use')}>
      <p>
        <Reason error={error} />
      </p>
      <p>{t('in_useText')}</p>
    </Notice>
  );
}

function Abilities({ chain, t }: { chain: Watchable; t: T }): ReactNode {
  const isMoved = isMovedElsewhere(chain);
  const can = (isGood: boolean, text: string): ReactNode => (
    <li className={isGood ? 'good' : 'quiet'}>
      <ShapeIcon shape={isGood ? 'done' : 'ended'} />
      <span>{text}</span>
    </li>
  );
  return (
    <>
      <h3>{t('can', { coin: chainName(chain) })}</h3>
      <ul className="account-can">
        {can(true, t('receives'))}
        {isMoved ? can(false, t(chain === 'XMR' ? 'movesUnseen' : 'moves')) : can(true, t('carries'))}
        {!isMoved && can(false, t('bySelf'))}
      </ul>
      <p className="account-thief">
        {t('thief')} {chain === 'XMR' && t('thiefSees')} {t('thiefShows')}
      </p>
    </>
  );
}
