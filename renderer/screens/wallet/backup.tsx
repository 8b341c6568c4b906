/** A backup, and the drill that proves it. */
import { type FormEvent, type ReactNode, useState } from 'react';
import { useChange } from '../../data.tsx';
import { useText } from '../../i18n.ts';
import { Field } from '../../parts/controls.tsx';
import { useTimes } from '../../parts/format.ts';
import { Copy, Notice, Problem, Section } from '../../parts/parts.tsx';
import TEXTS from './texts.ts';

const MEBIBYTE = 1_048_576;
const DRILL = 'countinghouse backup verify FILE';

export function Backup(): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  const [file, setFile] = useState('');
  const make = useChange('backup.make', 'status');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    make.mutate({ file: file.trim() });
  };
  return (
    <>
      <Section title={t('backupTitle')} note={t('backupNote')}>
        <form className="form" onSubmit={submit}>
          <Field
            label={t('backupFile')}
            hint={t('backupHint')}
            placeholder="/mnt/usb/countinghouse.age"
            spellCheck={false}
            value={file}
            onChange={(event) => setFile(event.target.value)}
          />
          {make.error && <Problem error={make.error} means={t('nothingMoved')} />}
          {make.data && (
            <Notice tone="good" title={t('backupDone', { file: make.data.file })}>
              {t('backupDoneText', {
                size: `${(make.data.bytes / MEBIBYTE).toFixed(1)} MiB`,
                time: times.full(make.data.made_at),
              })}
            </Notice>
          )}
          <button type="submit" className="button" disabled={file.trim() === '' || make.isPending}>
            {t(make.isPending ? 'backupMaking' : 'backup')}
          </button>
        </form>
      </Section>
      <Section title={t('drillTitle')} note={t('drillNote')}>
        <p>{t('drillText')}</p>
        <p className="command drill">
          <code>{DRILL}</code> <Copy text={DRILL} />
        </p>
      </Section>
    </>
  );
}
