/** A backup, into the browser's downloads or into a file of the service's machine. */
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { GAP } from '../../../daemon/domain/indices.ts';
import type { Result } from '../../bridge.ts';
import { useChange, useConnection, useData } from '../../data.tsx';
import { useLanguage, useText } from '../../i18n.ts';
import { Field } from '../../parts/controls.tsx';
import { useTimes } from '../../parts/format.ts';
import { Notice, Problem, Section } from '../../parts/parts.tsx';
import { Drill } from './drill.tsx';
import TEXTS from './texts.ts';

const BYTES_PER_MB = 1e6;
const DIGITS = { minimumFractionDigits: 1, maximumFractionDigits: 1 };

export function Backup({ wallet }: { wallet: Result<'wallet.status'>['wallet'] }): ReactNode {
  const [file, setFile] = useState('');
  return (
    <>
      <Make file={file} setFile={setFile} />
      <Drill wallet={wallet} file={file} setFile={setFile} />
    </>
  );
}

export type FileProps = { file: string; setFile(file: string): void };

function Make({ file, setFile }: FileProps): ReactNode {
  const t = useText(TEXTS);
  const language = useLanguage();
  const times = useTimes();
  const { up } = useConnection();
  const { bridge } = useData();
  const make = useChange('backup.make', 'status');
  const download = useMutation({
    mutationFn: async () => bridge.downloadBackup?.() ?? null,
    onSuccess: (made) => made?.file && setFile(made.file),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    make.mutate({ file: file.trim() });
  };
  const error = make.error ?? download.error;
  const made = make.data ?? download.data;
  const gap = make.data?.gap ?? GAP;
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
          {t(download.isPending ? 'backupMaking' : bridge.desktop ? 'saveBackup' : 'download')}
        </button>
      )}
      {bridge.desktop?.server && <p>{t('backupThere', { server: bridge.desktop.server })}</p>}
      {!bridge.desktop && (
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
      )}
      {error && <Problem error={error} means={t('nothingMoved')} />}
      {made && (
        <Notice tone="good" title={made.file === null ? t('downloaded') : t('backupDone', { file: made.file })}>
          {t('backupDoneText', {
            size: `${(made.bytes / BYTES_PER_MB).toLocaleString(language, DIGITS)} MB`,
            time: times.full(made.made_at),
          })}
          {gap > GAP && ` ${t('backupGap', { gap })}`}
        </Notice>
      )}
    </Section>
  );
}
