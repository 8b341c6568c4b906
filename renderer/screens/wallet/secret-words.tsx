/** The words of the wallet, behind its passphrase. They leave the page's memory when they are hidden. */
import { type FormEvent, type ReactNode, useState } from 'react';
import type { Result } from '../../bridge.ts';
import { useConnection, useData } from '../../data.tsx';
import { useText } from '../../i18n.ts';
import { useCustody } from '../../keyholder.ts';
import { Notice, Section } from '../../parts/parts.tsx';
import { href } from '../../router.ts';
import { useDoing } from './doing.ts';
import { PassphraseField } from './secret.tsx';
import TEXTS from './texts.ts';
import { Words } from './words.tsx';

export function SecretWords({ wallet }: { wallet: Result<'wallet.status'>['wallet'] }): ReactNode {
  const t = useText(TEXTS);
  const { session } = useData();
  const { up } = useConnection();
  const custody = useCustody();
  const { error, busy, run } = useDoing();
  const [passphrase, setPassphrase] = useState('');
  const [words, setWords] = useState<string[] | null>(null);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void run(async () => setWords(await custody.words(passphrase))).then(() => setPassphrase(''));
  };
  const wait = wallet.retry_after_seconds;
  const hide = (
    <button type="button" className="button" onClick={() => setWords(null)}>
      {t('hideWords')}
    </button>
  );
  return (
    <Section id="words" title={t('words')} note={t('wordsNote')} {...(words ? { side: hide } : {})}>
      {wallet.words_unproved && (
        <Notice
          tone="warn"
          title={t('unproved')}
          actions={
            <a className="button" href={href('first', 'live')}>
              {t('proveNow')}
            </a>
          }
        >
          {t('unprovedText')}
        </Notice>
      )}
      {wallet.separate ? (
        <p className="quiet">{t('separate')}</p>
      ) : !session.approvals ? (
        <p className="quiet">{t('off')}</p>
      ) : words ? (
        <div className="wallet-words">
          <Words words={words} />
        </div>
      ) : (
        <form className="form" onSubmit={submit}>
          <PassphraseField
            label={t('passphraseForWords')}
            value={passphrase}
            onChange={setPassphrase}
            waitSeconds={wait}
            error={error}
          />
          <button type="submit" className="button" disabled={!up || busy || passphrase === '' || wait > 0}>
            {t('showWords')}
          </button>
        </form>
      )}
    </Section>
  );
}
