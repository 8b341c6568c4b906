/** Connects this computer with a server, by the code that `signer invite` prints there. */
import { type ClipboardEvent, type FormEvent, type ReactNode, useState } from 'react';
import type { RejectCode } from '../../../daemon/domain/rejections.ts';
import type { ServerState } from '../../../daemon/operator/desktop.ts';
import { useDesk } from '../../data.tsx';
import { useLanguage, useText } from '../../i18n.ts';
import { Field } from '../../parts/controls.tsx';
import { Copy, Notice, Problem } from '../../parts/parts.tsx';
import { pageOf } from '../../place.ts';
import { JOIN_ERRORS_DE } from './errors-de.ts';
import { find, take, useServers } from './known.ts';
import TEXTS from './texts.ts';

const INVITE = 'countinghouse signer invite';
const CODE_CHARS = 24;
const GROUP_CHARS = 4;

/** A code as it was typed so far, without dashes and blanks. */
const lettersOf = (typed: string): string => typed.toUpperCase().replace(/[\s-]/g, '');

/** Of a server's address as it was typed; null: it is none. */
function originOf(typed: string): string | null {
  const text = typed.includes('://') ? typed.trim() : `https://${typed.trim()}`;
  return URL.canParse(text) ? new URL(text).origin : null;
}

const codeIn = (error: Error): RejectCode | null => ('code' in error ? (error.code as RejectCode) : null);

export function Connect(): ReactNode {
  const t = useText(TEXTS);
  const [joined, setJoined] = useState<ServerState | null>(null);
  return (
    <main className="desk-page" id="content" tabIndex={-1}>
      {joined ? <Connected server={joined} /> : <JoinForm onJoined={setJoined} />}
      <aside className="desk-aside">
        <h2>{t('thenTitle')}</h2>
        <ul>
          {(['calls', 'keys', 'off', 'end'] as const).map((key) => (
            <li key={key}>
              <strong>{t(`then_${key}`)}</strong>
              <p>{t(`then_${key}Text`)}</p>
            </li>
          ))}
        </ul>
      </aside>
    </main>
  );
}

type Typed = { address: string; code: string; name: string; proxy: string };

/** `as`: the name here of the server whose place the new one takes, with its words; `at`: the address that is filled in. */
type JoinProps = { onJoined(server: ServerState): void; as?: string; at?: string };

export function JoinForm({ onJoined, as, at = '' }: JoinProps): ReactNode {
  const t = useText(TEXTS);
  const { desktop } = useDesk();
  const list = useServers();
  const [typed, setTyped] = useState<Partial<Typed>>({});
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState(false);
  const { address = at, code = '' } = typed;
  const sameAddress = list?.servers.find(({ url }) => url === originOf(address));
  const known = find(list, as ?? null) ?? sameAddress;
  const { name = known?.computer ?? list?.computer ?? '', proxy = known?.proxy ?? '' } = typed;
  const missing = Math.ceil((CODE_CHARS - lettersOf(code).length) / GROUP_CHARS);
  const why = address.trim() === '' ? t('noAddress') : missing > 0 ? t('missing', { n: missing }) : null;
  const isReady = !busy && why === null && name.trim() !== '';
  const join = async (takesPlace: boolean): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const server = await desktop.join({ address, code, name, proxy, takesPlace, ...(as !== undefined && { as }) });
      take(await desktop.servers());
      onJoined(server);
    } catch (failed) {
      setError(failed as Error);
      setBusy(false);
    }
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isReady) void join(as !== undefined);
  };
  return (
    <form onSubmit={submit}>
      {as === undefined && (
        <>
          <h1>{t('connectTitle')}</h1>
          <p>{t('connectNote')}</p>
        </>
      )}
      <Fields typed={{ address, code, name, proxy }} change={(field) => setTyped({ ...typed, ...field })} />
      {sameAddress && as === undefined && <p>{t('again')}</p>}
      {error && <NotJoined error={error} />}
      {error && codeIn(error) === 'signer.other_server' && (
        <button type="button" className="button" disabled={!isReady} onClick={() => void join(true)}>
          {t('takesPlace')}
        </button>
      )}
      <p>
        <button type="submit" className="button filled large" disabled={!isReady}>
          {t(busy ? 'connecting' : 'connect')}
        </button>{' '}
        {why && <span className="quiet">{why}</span>}
      </p>
    </form>
  );
}

function NotJoined({ error }: { error: Error }): ReactNode {
  const t = useText(TEXTS);
  const language = useLanguage();
  const code = codeIn(error);
  const german = language === 'de' && code !== null ? JOIN_ERRORS_DE[code] : undefined;
  if (german === undefined) return <Problem error={error} means={t('nothingKept')} />;
  return (
    <Notice tone="bad" title={t('notConnected')}>
      {german}. {t('nothingKept')}
    </Notice>
  );
}

type FieldsProps = { typed: Typed; change(field: Partial<Typed>): void };

/** The three steps. */
function Fields({ typed, change }: FieldsProps): ReactNode {
  const t = useText(TEXTS);
  const paste = (event: ClipboardEvent<HTMLInputElement>): void => {
    const text = event.clipboardData.getData('text');
    // the lines that the terminal prints may be pasted whole
    const found = /(?:\w{4}[\s-]*){6}\s*$/.exec(text.trim())?.[0];
    if (!found || lettersOf(found).length !== CODE_CHARS) return;
    event.preventDefault();
    change({ code: found.trim() });
  };
  return (
    <ol className="desk-steps">
      <li>
        <div>
          <strong>{t('askCode')}</strong>
          <p className="quiet">{t('askCodeText')}</p>
          <p className="command">
            <code>{INVITE}</code> <Copy text={INVITE} />
          </p>
        </div>
      </li>
      <li>
        <div>
          <strong>{t('typeIt')}</strong>
          <Field
            label={t('server')}
            value={typed.address}
            placeholder="pay.shop.example"
            spellCheck={false}
            onPaste={paste}
            onChange={(event) => change({ address: event.target.value })}
          />
          <Field
            label={t('code')}
            className="mono"
            value={typed.code}
            spellCheck={false}
            autoCapitalize="characters"
            hint={t('codeHint')}
            onPaste={paste}
            onChange={(event) => change({ code: event.target.value })}
          />
          <Field
            label={t('proxy')}
            value={typed.proxy}
            spellCheck={false}
            hint={t('proxyHint')}
            onPaste={paste}
            onChange={(event) => change({ proxy: event.target.value })}
          />
        </div>
      </li>
      <li>
        <div>
          <strong>{t('nameIt')}</strong>
          <Field
            label={t('computerName')}
            value={typed.name}
            hint={t('computerHint')}
            onChange={(event) => change({ name: event.target.value })}
          />
        </div>
      </li>
    </ol>
  );
}

/** Who holds what now. */
function Connected({ server: { name, wallet } }: { server: ServerState }): ReactNode {
  const t = useText(TEXTS);
  const rows = [
    ['words', true, false],
    ['passphrase', false, false],
    ['limits', true, false],
    ['journal', true, false],
    ['public', true, true],
    ['books', false, true],
  ] as const;
  const has = (yes: boolean): ReactNode => <td>{t(yes ? 'yes' : 'no')}</td>;
  return (
    <div>
      <p className="state good" role="status">
        {t('connectedWith', { server: name })}
      </p>
      <h1>{t('connectedTitle')}</h1>
      <p>{t('connectedNote')}</p>
      <table className="desk-list">
        <thead>
          <tr>
            <th>{t('who')}</th>
            <th>{t('thisComputer')}</th>
            <th>{t('server')}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([key, here, there]) => (
            <tr key={key}>
              <td>
                <strong>{t(`holds_${key}`)}</strong>
                <span className="quiet">{t(`holds_${key}Text`)}</span>
              </td>
              {has(here)}
              {has(there)}
            </tr>
          ))}
        </tbody>
      </table>
      <p>
        <a className="button filled large" href={pageOf(name, wallet === 'none' ? 'first/live' : 'home')}>
          {t(wallet === 'none' ? 'makeWords' : 'openServer')}
        </a>
      </p>
      <p className="quiet">{t('ownPages')}</p>
    </div>
  );
}
