/** A withdrawal that another wallet signs: the file for that wallet, and the way back. */
import { type ReactNode, useState } from 'react';
import type { Result } from '../../bridge.ts';
import { useChange, useConnection } from '../../data.tsx';
import { useText } from '../../i18n.ts';
import { Field } from '../../parts/controls.tsx';
import { useTimes } from '../../parts/format.ts';
import { Copy, Problem, Section } from '../../parts/parts.tsx';
import { base64Of, saveBytes } from '../../parts/save.ts';
import TEXTS from './texts.ts';

type Handed = Result<'withdrawal.psbt'>;

export function Outside({ id, until }: { id: string; until: string | null }): ReactNode {
  const t = useText(TEXTS);
  const connection = useConnection();
  const [handed, setHanded] = useState<Handed | null>(null);
  const [signed, setSigned] = useState<string | null>(null);
  const download = useChange('withdrawal.psbt', 'withdrawal.');
  const upload = useChange('withdrawal.signed', 'withdrawal.');
  const save = (found: Handed): void => {
    setHanded(found);
    saveBytes(
      found.name,
      Uint8Array.from(atob(found.psbt), (character) => character.charCodeAt(0)),
    );
  };
  return (
    <Section title={t('outsideTitle')} note={t('outsideNote')}>
      <ol className="outside">
        <li>
          <p>{t('outsideGet')}</p>
          {download.error && <Problem error={download.error} />}
          <button
            type="button"
            className="button filled"
            disabled={!connection.up || download.isPending}
            onClick={() => download.mutate({ id }, { onSuccess: save })}
          >
            {t('outsideDownload')}
          </button>{' '}
          {handed && <Copy text={handed.psbt} />}
        </li>
        <li>{t('outsideSign')}</li>
        <li>
          {upload.error && <Problem error={upload.error} means={t('outsideRefused')} />}
          <Field
            label={t('outsideFile')}
            hint={t('outsideFileHint')}
            type="file"
            accept=".psbt,.txt,.txn,.hex"
            onChange={(event) => void base64Of(event.target.files?.[0]).then((text) => setSigned(text ?? null))}
          />
          <button
            type="button"
            className="button filled"
            disabled={!connection.up || upload.isPending || signed === null}
            onClick={() => signed !== null && upload.mutate({ id, signed })}
          >
            {t('outsideUpload')}
          </button>
        </li>
      </ol>
      {until !== null && <GiveUp id={id} until={until} />}
    </Section>
  );
}

/** The end of a payment that was handed out and that nobody signed: when it comes by itself, and a way to have it now. */
function GiveUp({ id, until }: { id: string; until: string }): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  const connection = useConnection();
  const [asking, setAsking] = useState(false);
  const reject = useChange('withdrawal.reject', 'withdrawal.');
  return (
    <>
      <p className="quiet">{t('outsideEnds', { day: times.full(until) })}</p>
      {reject.error && <Problem error={reject.error} />}
      {asking ? (
        <fieldset className="asking">
          <legend>{t('giveUpSure')}</legend>
          <div className="actions">
            <button
              type="button"
              className="button"
              disabled={!connection.up || reject.isPending}
              onClick={() => reject.mutate({ id })}
            >
              {t('giveUpYes')}
            </button>
            <button type="button" className="link" onClick={() => setAsking(false)}>
              {t('rejectNo')}
            </button>
          </div>
        </fieldset>
      ) : (
        <button type="button" className="button plain" onClick={() => setAsking(true)}>
          {t('giveUp')}
        </button>
      )}
    </>
  );
}
