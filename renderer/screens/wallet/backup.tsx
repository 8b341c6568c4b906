/** A backup, into the browser's downloads or into a file of the service's machine, and the drill that proves it. */
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import type { Result } from '../../bridge.ts';
import { useCall, useChange, useConnection, useData } from '../../data.tsx';
import { useText } from '../../i18n.ts';
import { useCustody } from '../../keyholder.ts';
import { Field } from '../../parts/controls.tsx';
import { useTimes } from '../../parts/format.ts';
import { Copy, Foreign, Notice, Problem, Section } from '../../parts/parts.tsx';
import { useDoing } from './doing.ts';
import { PassphraseField } from './secret.tsx';
import TEXTS from './texts.ts';

const MEBIBYTE = 1_048_576;
const DRILL = 'countinghouse backup verify FILE';
const DRILL_EVERY_MS = 2_000;

const sizeOf = (bytes: number): string => `${(bytes / MEBIBYTE).toFixed(1)} MiB`;

export function Backup({ wallet }: { wallet: Result<'wallet.status'>['wallet'] }): ReactNode {
  const [file, setFile] = useState('');
  return (
    <>
      <Make file={file} setFile={setFile} />
      <Drill wallet={wallet} file={file} setFile={setFile} />
    </>
  );
}

type FileProps = { file: string; setFile(file: string): void };

function Make({ file, setFile }: FileProps): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  const { up } = useConnection();
  const { bridge } = useData();
  const make = useChange('backup.make', 'status');
  const download = useMutation({ mutationFn: async () => bridge.downloadBackup?.() });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    make.mutate({ file: file.trim() });
  };
  const error = make.error ?? download.error;
  const made = make.data ?? download.data;
  return (
    <Section id="backup" title={t('backupTitle')} note={t('backupNote')}>
      {bridge.downloadBackup && (
        <button
          type="button"
          className="button"
          disabled={!up || download.isPending}
          onClick={() => {
            make.reset();
            download.mutate();
          }}
        >
          {t(download.isPending ? 'backupMaking' : 'download')}
        </button>
      )}
      <form className="form" onSubmit={submit}>
        <Field
          label={t('backupFile')}
          hint={t('backupHint')}
          placeholder="/mnt/usb/countinghouse.backup"
          spellCheck={false}
          value={file}
          onChange={(event) => setFile(event.target.value)}
        />
        <button type="submit" className="button" disabled={!up || file.trim() === '' || make.isPending}>
          {t(make.isPending ? 'backupMaking' : 'backup')}
        </button>
      </form>
      {error && <Problem error={error} means={t('nothingMoved')} />}
      {made && (
        <Notice tone="good" title={make.data ? t('backupDone', { file: make.data.file }) : t('downloaded')}>
          {t('backupDoneText', { size: sizeOf(made.bytes), time: times.full(made.made_at) })}
        </Notice>
      )}
    </Section>
  );
}

function Drill({ wallet, file, setFile }: FileProps & Parameters<typeof Backup>[0]): ReactNode {
  const t = useText(TEXTS);
  const { session } = useData();
  const { up } = useConnection();
  const custody = useCustody();
  const { error, busy, run } = useDoing();
  const [passphrase, setPassphrase] = useState('');
  const status = useCall('backup.drillStatus', {}, { every: DRILL_EVERY_MS });
  const drill = status.data?.drill ?? null;
  const wait = wallet.retry_after_seconds;
  const isHere = session.approvals && !wallet.separate && wallet.state !== 'none';
  const isReady = up && !busy && wait === 0 && passphrase !== '' && file.trim() !== '' && !drill?.running;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!isReady) return;
    void run(() => custody.drill(passphrase, file.trim())).then(() => {
      setPassphrase('');
      void status.refetch();
    });
  };
  return (
    <Section title={t('drillTitle')} note={t('drillNote')}>
      {isHere ? (
        <form className="form" onSubmit={submit}>
          <Field
            label={t('drillFile')}
            hint={t('drillHint')}
            spellCheck={false}
            value={file}
            onChange={(event) => setFile(event.target.value)}
          />
          <PassphraseField
            label={t('passphraseForDrill')}
            value={passphrase}
            onChange={setPassphrase}
            waitSeconds={wait}
            error={error}
          />
          <button type="submit" className="button" disabled={!isReady}>
            {t('drillNow')}
          </button>
        </form>
      ) : (
        <>
          <p>{t('drillText')}</p>
          <p className="command drill">
            <code>{DRILL}</code> <Copy text={DRILL} />
          </p>
        </>
      )}
      {drill && <Drilled drill={drill} />}
    </Section>
  );
}

type DrillState = NonNullable<Result<'backup.drillStatus'>['drill']>;

function Drilled({ drill: { running, error, report, file, ended_at } }: { drill: DrillState }): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  if (running) return <p role="status">{t('drilling', { file })}</p>;
  if (!report)
    return (
      <Notice tone="bad" title={t('drillFailed')}>
        {error && <Foreign text={error} />}
      </Notice>
    );
  const { made_at, invoices, deposits, addresses, problems, newer } = report;
  const isWhole = problems.length === 0;
  return (
    <Notice tone={isWhole ? 'good' : 'bad'} title={t(isWhole ? 'drillGood' : 'drillBad')}>
      <p>{t('drillMade', { made: times.full(made_at), at: ended_at === null ? '' : times.full(ended_at) })}</p>
      <p>{t('drillHolds', { invoices, deposits, addresses })}</p>
      {problems.map((text) => (
        <p key={text}>
          <Foreign text={text} />
        </p>
      ))}
      {newer.length > 0 && (
        <details>
          <summary>{t('drillNewer', { n: newer.length })}</summary>
          {newer.map((text) => (
            <p key={text}>
              <Foreign text={text} />
            </p>
          ))}
        </details>
      )}
    </Notice>
  );
}
