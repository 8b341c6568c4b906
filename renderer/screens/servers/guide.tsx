/** The way out of the alarm: from the server that shows a foreign address to a new one with the same books, without the words leaving here. */
import { type ReactNode, useState } from 'react';
import type { PassedBackup, ServerState } from '../../../daemon/operator/desktop.ts';
import { useDesk } from '../../data.tsx';
import { useText } from '../../i18n.ts';
import { Field } from '../../parts/controls.tsx';
import { useTimes } from '../../parts/format.ts';
import { Copy, coinName, Foreign, Notice, Problem, Said } from '../../parts/parts.tsx';
import { pageOf } from '../../place.ts';
import { go } from '../../router.ts';
import { AlarmHead, guideAt, SignForm } from './alarm.tsx';
import { JoinForm } from './connect.tsx';
import TEXTS from './guide-texts.ts';
import { find, useServers } from './known.ts';
import { usePassphrase } from './passphrase.ts';

const STEPS = ['off', 'warn', 'books', 'connect', 'sign', 'confirm'] as const;
const RESTORE = 'countinghouse restore FILE --pass-file -';
const CONFIRM = 'countinghouse restore confirm';

type PartProps = { server: ServerState };

const PARTS: Record<(typeof STEPS)[number], (props: PartProps) => ReactNode> = {
  off: Off,
  warn: Warn,
  books: Books,
  connect: Connect,
  sign: Sign,
  confirm: Confirm,
};

/** `asked`: the step that the page's address names. */
export function Guide({ name, asked }: { name: string; asked: string | undefined }): ReactNode {
  const t = useText(TEXTS);
  const server = find(useServers(), name);
  if (!server) return null;
  const step = STEPS.find((one) => one === asked) ?? 'off';
  const at = STEPS.indexOf(step);
  const [before, after] = [STEPS[at - 1], STEPS[at + 1]];
  const Part = PARTS[step];
  const Title = server.alarm ? 'h2' : 'h1';
  return (
    <>
      {server.alarm && <AlarmHead name={name} alarm={server.alarm} />}
      <main className="desk-page" id="content" tabIndex={-1}>
        <div className="desk-guide">
          <Title>{t(step)}</Title>
          <Part key={step} server={server} />
          <p className="desk-onward">
            {before && (
              <a className="button" href={guideAt(name, before)}>
                {t('back')}
              </a>
            )}
            {after ? (
              <a className="button" href={guideAt(name, after)}>
                {t('next')}
              </a>
            ) : (
              <a className="button" href={pageOf(name, 'home')}>
                {t('toServer')}
              </a>
            )}
          </p>
        </div>
        <aside className="desk-aside">
          <h2>{t('guide')}</h2>
          <ol className="desk-steps">
            {STEPS.map((one) => (
              <li key={one} aria-current={one === step ? 'step' : undefined}>
                <a href={guideAt(name, one)}>{t(one)}</a>
              </li>
            ))}
          </ol>
        </aside>
      </main>
    </>
  );
}

function Off({ server: { line, since } }: PartProps): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  return (
    <>
      <p>{t('offText')}</p>
      <p role="status">{line === 'connected' ? t('offStill', { time: times.short(since) }) : t('offNow')}</p>
    </>
  );
}

function Warn({ server: { alarm } }: PartProps): ReactNode {
  const t = useText(TEXTS);
  const seen = alarm?.seen ?? [];
  // the list, the page and its code may have shown the same
  const each = new Map(seen.map((one) => [`${one.invoice} ${one.shown}`, one]));
  return (
    <>
      <p>{t('warnText')}</p>
      {alarm && seen.length === 0 && <p>{t('warnNone')}</p>}
      {[...each].map(([key, { invoice, chain, shown }]) => {
        const text = t('warning', { invoice: invoice ?? '–', address: shown });
        return (
          <section className="section" key={key}>
            <p>{coinName(chain)}</p>
            <p>
              <Foreign text={text} />
            </p>
            <Copy text={text} label={t('copyWarning')} />
          </section>
        );
      })}
    </>
  );
}

function Books({ server: { name } }: PartProps): ReactNode {
  const t = useText(TEXTS);
  const { desktop } = useDesk();
  const [file, setFile] = useState<string | null>(null);
  const [made, setMade] = useState<PassedBackup | null>(null);
  const work = (typed: string) => desktop.backupPass({ server: name, passphrase: typed, file: file! });
  const { passphrase, setPassphrase, error, setError, busy, submit } = usePassphrase(work, setMade, file !== null);
  const isReady = !busy && file !== null && passphrase !== '';
  const choose = async (): Promise<void> => {
    const chosen = await desktop.chooseBackup();
    if (chosen === null) return;
    setFile(chosen);
    setMade(null);
  };
  return (
    <>
      <p>{t('booksText')}</p>
      <form className="form" onSubmit={submit}>
        <p>
          <button type="button" className="button" onClick={() => void choose().catch(setError)}>
            {t('chooseBackup')}
          </button>{' '}
          {file !== null && <Foreign text={file} />}
        </p>
        <Field
          label={t('passphrase')}
          type="password"
          value={passphrase}
          onChange={(event) => setPassphrase(event.target.value)}
        />
        {error && <Problem error={error} />}
        <button type="submit" className="button filled" disabled={!isReady}>
          {t(busy ? 'comparing' : 'makePass')}
        </button>
      </form>
      {made && <Made made={made} />}
    </>
  );
}

function Made({ made: { pass, made_at, problems, watch_only: watchOnly } }: { made: PassedBackup }): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  if (pass === null) {
    return (
      <Notice tone="bad" title={t('noPass')}>
        {problems.map((text) => (
          <p key={text}>
            <Said text={text} />
          </p>
        ))}
        <p>{t('noPassText')}</p>
      </Notice>
    );
  }
  return (
    <>
      <Notice tone="good" title={t('passMade', { time: times.full(made_at) })}>
        {watchOnly.length > 0 && <p>{t('watchOnly')}</p>}
        {watchOnly.map((text) => (
          <p key={text} className="mono">
            <Foreign text={text} />
          </p>
        ))}
      </Notice>
      <p>{t('onServer')}</p>
      <p className="command">
        <code>{RESTORE}</code> <Copy text={RESTORE} />
      </p>
      <p>{t('onServerText')}</p>
      <p>
        {t('pass')}: <code className="desk-pass">{pass}</code> <Copy text={pass} label={t('copyPass')} />
      </p>
    </>
  );
}

function Connect({ server: { name, url } }: PartProps): ReactNode {
  const t = useText(TEXTS);
  return (
    <>
      <p>{t('connectText')}</p>
      <JoinForm as={name} at={url.replace(/^https:\/\//, '')} onJoined={() => go(hashOf(guideAt(name, 'sign')))} />
    </>
  );
}

const hashOf = (page: string): string => page.slice(page.indexOf('#'));

/** Only for another server than the one that showed the foreign address, once all addresses of it were compared. */
function Sign({ server: { name, alarm, alarmed, line, joined, audited } }: PartProps): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  if (!alarm) return <p role="status">{t('signOver', { server: name })}</p>;
  const { seen, more } = alarm;
  if (joined === null || !seen.some(({ at }) => at < joined)) return <p role="status">{t('signOld')}</p>;
  if (alarmed) return <p role="status">{t('signNew')}</p>;
  if (line !== 'connected') return <p role="status">{t('signAway')}</p>;
  const wholeAt = audited?.wholeAt ?? null;
  if (wholeAt === null || wholeAt < joined) return <p role="status">{t('signWaits')}</p>;
  return (
    <>
      <p role="status">{t('signText', { time: times.full(wholeAt) })}</p>
      <SignForm name={name} shown={seen.length + more} />
    </>
  );
}

function Confirm(): ReactNode {
  const t = useText(TEXTS);
  return (
    <>
      <p>{t('confirmText')}</p>
      <p className="command">
        <code>{CONFIRM}</code> <Copy text={CONFIRM} />
      </p>
      <p>{t('confirmThen')}</p>
    </>
  );
}
