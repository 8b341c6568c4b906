/** Settings: this browser, who is signed in, the business, and the configuration in force. */
import { type ReactNode, useContext, useState } from 'react';
import type { Result } from '../../bridge.ts';
import { useCall, useChange, useConnection, useData } from '../../data.tsx';
import { useBusiness } from '../../frame/business.tsx';
import { Page } from '../../frame/page.tsx';
import { LANGUAGES, type Language, LanguageContext, type Translate, useText } from '../../i18n.ts';
import { Select } from '../../parts/controls.tsx';
import { useTimes } from '../../parts/format.ts';
import { Answer, Foreign, Head, Notice, Problem, Section, Told } from '../../parts/parts.tsx';
import { href } from '../../router.ts';
import { asksTips, setAsksTips } from '../counter/amount.ts';
import { Reach } from '../reach/reach.tsx';
import { PairTill } from '../reach/till.tsx';
import { BusinessForm } from './business.tsx';
import { Keychain, StartAtLogin } from './desktop.tsx';
import { KeyImages } from './key-images.tsx';
import { ReleaseNotices } from './releases.tsx';
import './settings.css';
import TEXTS from './texts.ts';

export type T = Translate<keyof (typeof TEXTS)['en']>;

export default function Settings(): ReactNode {
  const t = useText(TEXTS);
  const business = useBusiness();
  const {
    bridge: { desktop },
  } = useData();
  return (
    <Page title={t('settings')}>
      <Here t={t} />
      {desktop?.keychain && <Keychain keychain={desktop.keychain} t={t} />}
      {business && <BusinessForm key={business.id} business={business} t={t} />}
      {business && <KeyImages key={`images ${business.id}`} business={business} />}
      <Section title={t('told')} side={<a href={href('developers', 'log')}>{t('toldWhere')}</a>}>
        <p className="quiet">{t('toldNote')}</p>
      </Section>
      <Section title={t('reach')} note={t('reachNote')} id="reach">
        <Reach />
      </Section>
      <Section title={t('tills')} id="tills">
        {business && <PairTill key={business.id} business={business} />}
      </Section>
      <ReleaseNotices t={t} />
      <Sessions t={t} />
      <Configuration t={t} />
    </Page>
  );
}

function Here({ t }: { t: T }): ReactNode {
  const { language, choose } = useContext(LanguageContext);
  const {
    bridge: { desktop },
  } = useData();
  return (
    <Section title={t(desktop ? 'program' : 'here')}>
      <div className="settings-row">
        <Select<Language>
          label={t('language')}
          value={language}
          options={Object.entries(LANGUAGES) as [Language, string][]}
          onChange={choose}
        />
      </div>
      <Tips t={t} />
      {desktop && <StartAtLogin desktop={desktop} t={t} />}
    </Section>
  );
}

function Tips({ t }: { t: T }): ReactNode {
  const [on, setOn] = useState(asksTips);
  const change = (wanted: boolean): void => {
    setAsksTips(wanted);
    setOn(wanted);
  };
  return (
    <label className="check">
      <input type="checkbox" checked={on} onChange={(event) => change(event.target.checked)} />
      <span>{t('tips')}</span>
    </label>
  );
}

/** Edge and Opera name Chrome too, and Chrome names Safari: the first that is found counts. */
const BROWSERS = { Edg: 'Edge', OPR: 'Opera', Firefox: 'Firefox', Chrome: 'Chrome', Safari: 'Safari' };
const SYSTEMS = {
  Android: 'Android',
  iPhone: 'iPhone',
  iPad: 'iPad',
  Windows: 'Windows',
  Mac: 'macOS',
  Linux: 'Linux',
};

/** "Firefox, Windows" of what a browser says about itself; whole where it says nothing known. */
function browserName(agent: string): string {
  const found = [BROWSERS, SYSTEMS].flatMap(
    (table) => Object.entries(table).find(([word]) => agent.includes(word))?.[1] ?? [],
  );
  return found.length === 0 ? agent : found.join(', ');
}

const SESSIONS_SHOWN = 8;
type Signed = Result<'console.list'>['sessions'][number];

/** Those that were used last. */
const shownOf = (sessions: readonly Signed[], all: boolean): readonly Signed[] =>
  [...sessions].sort((a, b) => (a.used_at < b.used_at ? 1 : -1)).slice(0, all ? sessions.length : SESSIONS_SHOWN);

function Sessions({ t }: { t: T }): ReactNode {
  const { bridge } = useData();
  const { up } = useConnection();
  const list = useCall('console.list', {});
  const end = useChange('console.end', 'console.');
  const [all, setAll] = useState(false);
  const side = bridge.signOut && (
    <button type="button" className="link" onClick={() => void bridge.signOut?.().then(() => location.reload())}>
      {t('signOut')}
    </button>
  );
  return (
    <Section title={t('sessions')} side={side}>
      <Answer of={list}>
        {({ sessions }) =>
          sessions.length === 0 ? (
            <p className="quiet">{t('none')}</p>
          ) : (
            <div className="table-box">
              <table className="table">
                <thead>
                  <tr>
                    <th scope="col">{t('since')}</th>
                    <th scope="col" className="wide-only">
                      {t('used')}
                    </th>
                    <th scope="col">{t('may')}</th>
                    <th scope="col" className="wide-only">
                      Browser
                    </th>
                    <th scope="col" className="number">
                      <span className="unseen">{t('end')}</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {shownOf(sessions, all).map((one) => (
                    <SessionRow key={one.id} one={one} up={up} onEnd={() => end.mutate({ id: one.id })} t={t} />
                  ))}
                </tbody>
              </table>
              {!all && sessions.length > SESSIONS_SHOWN && (
                <button type="button" className="link" onClick={() => setAll(true)}>
                  {t('allSessions', { n: sessions.length })}
                </button>
              )}
            </div>
          )
        }
      </Answer>
      {end.error && <Problem error={end.error} />}
    </Section>
  );
}

type SessionProps = { one: Signed; up: boolean; onEnd(): void; t: T };

function SessionRow({ one, up, onEnd, t }: SessionProps): ReactNode {
  const { full } = useTimes();
  return (
    <tr>
      <td>{full(one.created_at)}</td>
      <td className="wide-only">{full(one.used_at)}</td>
      <td>{t(one.till ? 'tillOnly' : one.scope === 'counter' ? 'counterOnly' : 'everything')}</td>
      <td className="quiet wide-only cut-cell">
        <Foreign text={browserName(one.name)} />
      </td>
      <td className="number">
        <button type="button" className="link" disabled={!up} onClick={onEnd}>
          {t('end')}
        </button>
      </td>
    </tr>
  );
}

const ORIGINS = ['default', 'file', 'env', 'flag'] as const;

function Configuration({ t }: { t: T }): ReactNode {
  const [text, setText] = useState('');
  const [changed, setChanged] = useState(true);
  const found = useCall('settings.show', {});
  const warnings = useCall('status', {}).data?.warnings ?? [];
  const wanted = text.trim().toLowerCase();
  return (
    <Section title={t('configuration')} note={t('configNote')}>
      {warnings.length > 0 && (
        <Notice tone="warn" title={t('warnings')}>
          <ul>
            {warnings.map((warning) => (
              <li key={JSON.stringify(warning)}>
                <Told said={warning} />
              </li>
            ))}
          </ul>
        </Notice>
      )}
      <div className="settings-search">
        <input
          className="input"
          type="search"
          data-search
          aria-label={t('filter')}
          placeholder={t('filter')}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <label className="check">
          <input type="checkbox" checked={changed} onChange={(event) => setChanged(event.target.checked)} />
          <span>{t('changedOnly')}</span>
        </label>
      </div>
      <Answer of={found}>
        {({ settings }) => (
          <table className="table settings-table">
            <Head columns={[t('key'), t('value'), t('origin')]} />
            <tbody>
              {settings
                .filter(({ key, origin }) => key.toLowerCase().includes(wanted) && (!changed || origin !== 'default'))
                .map(({ key, value, origin }) => (
                  <tr key={key}>
                    <th scope="row" className="mono">
                      {key}
                    </th>
                    <td className="mono">
                      <Foreign text={value} />
                    </td>
                    <td className="quiet">{t(ORIGINS.find((known) => known === origin) ?? 'default')}</td>
                  </tr>
                ))}
            </tbody>
          </table>
        )}
      </Answer>
    </Section>
  );
}
