/** The drill that proves a backup: of a file on this device, which is sent to the service, or of one on the service's machine. */
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import type { Desktop, Result } from '../../bridge.ts';
import { useCall, useConnection, useData } from '../../data.tsx';
import { useText } from '../../i18n.ts';
import { useCustody } from '../../keyholder.ts';
import { Choices, Field } from '../../parts/controls.tsx';
import { useTimes } from '../../parts/format.ts';
import { Copy, Foreign, Notice, Problem, Progress, Said, Section } from '../../parts/parts.tsx';
import type { FileProps } from './backup.tsx';
import { useDoing } from './doing.ts';
import { PassphraseField } from './secret.tsx';
import TEXTS from './texts.ts';

const DRILL = 'countinghouse backup verify FILE';
const DRILL_EVERY_MS = 2_000;
/** Where the service keeps a file that a browser has sent. */
const SENT = /\/upload-[0-9a-f]{32}\.backup$/;

type Wallet = Result<'wallet.status'>['wallet'];
type Place = 'device' | 'service';

export function Drill({ wallet, file, setFile }: FileProps & { wallet: Wallet }): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  const { session } = useData();
  const status = useCall('backup.drillStatus', {}, { every: DRILL_EVERY_MS });
  const { drill = null, last_good_at: last = null } = status.data ?? {};
  const isHere = session.approvals && !wallet.separate && wallet.state !== 'none';
  const begun = (): void => void status.refetch();
  return (
    <Section title={t('drillTitle')} note={t('drillNote')}>
      {isHere ? (
        <DrillForm wallet={wallet} file={file} setFile={setFile} isRunning={drill?.running === true} onBegun={begun} />
      ) : (
        <>
          <p>{t('drillText')}</p>
          <p className="command drill">
            <code>{DRILL}</code> <Copy text={DRILL} />
          </p>
        </>
      )}
      {drill && <Drilled drill={drill} />}
      {status.data && !drill && (
        <p className="quiet">{last === null ? t('drillNever') : t('drillLast', { time: times.full(last) })}</p>
      )}
    </Section>
  );
}

type FormProps = FileProps & { wallet: Wallet; isRunning: boolean; onBegun(): void };

function DrillForm({ wallet, file, setFile, isRunning, onBegun }: FormProps): ReactNode {
  const t = useText(TEXTS);
  const { up } = useConnection();
  const { bridge } = useData();
  const custody = useCustody();
  const { error, busy, run } = useDoing();
  const upload = useUpload();
  const [place, setPlace] = useState<Place>(bridge.uploadBackup ? 'device' : 'service');
  const [passphrase, setPassphrase] = useState('');
  const wait = wallet.retry_after_seconds;
  const isChosen = place === 'device' ? upload.file !== null : file.trim() !== '';
  const isOfPassphrase = error !== null && 'code' in error && String(error.code).startsWith('vault.');
  const isReady = up && !busy && wait === 0 && passphrase !== '' && isChosen && !isRunning;
  const work = async (): Promise<void> => {
    await custody.drill(passphrase, place === 'device' ? await upload.send() : file.trim());
    setPassphrase('');
    upload.used();
    onBegun();
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isReady) void run(work);
  };
  return (
    <form className="form" onSubmit={submit}>
      <Which file={file} setFile={setFile} choose={upload.choose} place={place} setPlace={setPlace} />
      <PassphraseField
        label={t('passphraseForDrill')}
        value={passphrase}
        onChange={setPassphrase}
        waitSeconds={wait}
        error={isOfPassphrase ? error : null}
      />
      {error && !isOfPassphrase && <Problem error={error} means={t('nothingMoved')} />}
      {upload.percent !== null && <Progress percent={upload.percent}>{t('drillSending')}</Progress>}
      <button type="submit" className="button" disabled={!isReady}>
        {t('drillNow')}
      </button>
    </form>
  );
}

type WhichProps = FileProps & { choose(file: File | null): void; place: Place; setPlace(place: Place): void };

/** The backup that is drilled. */
function Which({ file, setFile, choose, place, setPlace }: WhichProps): ReactNode {
  const t = useText(TEXTS);
  const { bridge } = useData();
  const path = (
    <Field
      label={t('drillFile')}
      hint={t('drillHint')}
      spellCheck={false}
      value={file}
      onChange={(event) => setFile(event.target.value)}
    />
  );
  if (bridge.desktop) return <ChosenFile choose={bridge.desktop.chooseBackup} file={file} setFile={setFile} />;
  if (!bridge.uploadBackup) return path;
  const own = (
    <Field
      label={t('drillOwnFile')}
      type="file"
      hint={t('drillOwnHint')}
      onChange={(event) => choose(event.target.files?.[0] ?? null)}
    />
  );
  return (
    <Choices<Place>
      label={t('drillWhere')}
      value={place}
      onChange={setPlace}
      options={[
        { value: 'device', title: t('drillOwn'), more: own },
        { value: 'service', title: t('drillThere'), more: path },
      ]}
    />
  );
}

/** In the desktop program the system asks for the file. */
function ChosenFile({ choose, file, setFile }: FileProps & { choose: Desktop['chooseBackup'] }): ReactNode {
  const t = useText(TEXTS);
  return (
    <p>
      <button
        type="button"
        className="button"
        onClick={() => void choose().then((chosen) => chosen && setFile(chosen))}
      >
        {t('chooseBackup')}
      </button>{' '}
      {file && <Foreign text={file} />}
    </p>
  );
}

/** A chosen file, and its sending, which ends with the screen. After a wrong passphrase it is not sent again. */
function useUpload() {
  const { bridge } = useData();
  const [file, setFile] = useState<File | null>(null);
  const [percent, setPercent] = useState<number | null>(null);
  const sent = useRef<{ file: File; path: string } | null>(null);
  const end = useRef(new AbortController());
  useEffect(() => {
    end.current = new AbortController();
    return () => end.current.abort();
  }, []);
  const send = async (): Promise<string> => {
    if (sent.current && sent.current.file === file) return sent.current.path;
    if (file === null || !bridge.uploadBackup) throw new Error('no file is chosen');
    setPercent(0);
    try {
      const path = await bridge.uploadBackup(file, setPercent, end.current.signal);
      sent.current = { file, path };
      return path;
    } finally {
      setPercent(null);
    }
  };
  const choose = (chosen: File | null): void => {
    sent.current = null;
    setFile(chosen);
  };
  const used = (): void => {
    sent.current = null;
  };
  return { file, percent, choose, send, used };
}

type DrillState = NonNullable<Result<'backup.drillStatus'>['drill']>;

function Drilled({ drill: { running, error, report, file, ended_at } }: { drill: DrillState }): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  if (running) return <p role="status">{t('drilling', { file: SENT.test(file) ? t('drillSent') : file })}</p>;
  if (!report)
    return (
      <Notice tone="bad" title={t('drillFailed')}>
        {error && <Said text={error} />}
      </Notice>
    );
  const { made_at, invoices, deposits, addresses, watch_only: watchOnly, problems, newer } = report;
  const isWhole = problems.length === 0;
  return (
    <Notice tone={isWhole ? 'good' : 'bad'} title={t(isWhole ? 'drillGood' : 'drillBad')}>
      <p>{t('drillMade', { made: times.full(made_at), at: ended_at === null ? '' : times.full(ended_at) })}</p>
      <p>{t('drillHolds', { invoices, deposits, addresses })}</p>
      {watchOnly.length > 0 && (
        <>
          <p>{t('drillWatchOnly', { n: watchOnly.length })}</p>
          {watchOnly.map((text) => (
            <p key={text} className="mono">
              {text}
            </p>
          ))}
        </>
      )}
      {problems.map((text) => (
        <p key={text}>
          <Said text={text} />
        </p>
      ))}
      {newer.length > 0 && (
        <details>
          <summary>{t('drillNewer', { n: newer.length })}</summary>
          {newer.map((text) => (
            <p key={text}>
              <Said text={text} />
            </p>
          ))}
        </details>
      )}
    </Notice>
  );
}
