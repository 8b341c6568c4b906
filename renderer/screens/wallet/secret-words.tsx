/**
 * The words of the wallet, and the 25 words of the chosen business's Monero account, behind the wallet's passphrase. They leave the
 * page's memory when they are hidden.
 */
import { type FormEvent, type ReactNode, useState } from 'react';
import { GAP } from '../../../daemon/domain/indices.ts';
import type { Result } from '../../bridge.ts';
import { useConnection, useData } from '../../data.tsx';
import { nameOf, useBusiness } from '../../frame/business.tsx';
import { useText } from '../../i18n.ts';
import { useCustody } from '../../keyholder.ts';
import { Notice, Section } from '../../parts/parts.tsx';
import { href } from '../../router.ts';
import { useDoing } from './doing.ts';
import { Off } from './off.tsx';
import { PassphraseField } from './secret.tsx';
import TEXTS from './texts.ts';
import { Words } from './words.tsx';

type Wallet = Result<'wallet.status'>['wallet'];

export function SecretWords({ wallet }: { wallet: Wallet }): ReactNode {
  const t = useText(TEXTS);
  const { session } = useData();
  const [words, setWords] = useState<string[] | null>(null);
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
        <Off />
      ) : words ? (
        <div className="wallet-words">
          <Words words={words} />
          {wallet.gap > GAP && <Notice tone="warn" title={t('wordsGap', { gap: wallet.gap })} />}
        </div>
      ) : (
        <Ask waitSeconds={wallet.retry_after_seconds} onShown={setWords} />
      )}
    </Section>
  );
}

/** Asks for the passphrase, and which words are wanted. */
function Ask({ waitSeconds, onShown }: { waitSeconds: number; onShown(words: string[]): void }): ReactNode {
  const t = useText(TEXTS);
  const { up } = useConnection();
  const custody = useCustody();
  const { error, busy, run } = useDoing();
  const [passphrase, setPassphrase] = useState('');
  const business = useBusiness();
  const cannot = !up || busy || passphrase === '' || waitSeconds > 0;
  const show = (read: () => Promise<string[]>): void => {
    void run(() =>
      read()
        .then(onShown)
        .finally(() => setPassphrase('')),
    );
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    show(() => custody.words(passphrase));
  };
  const monero = business !== null && business.network !== 'sandbox' && (
    <>
      <button
        type="button"
        className="button"
        disabled={cannot}
        onClick={() => show(() => custody.moneroWords(passphrase, business.network, business.account_no))}
      >
        {t('showMoneroWords')}
      </button>
      <p className="quiet">{t('moneroWordsNote', { name: nameOf(business) })}</p>
    </>
  );
  return (
    <form className="form" onSubmit={submit}>
      <PassphraseField
        label={t('passphraseForWords')}
        value={passphrase}
        onChange={setPassphrase}
        waitSeconds={waitSeconds}
        error={error}
      />
      <button type="submit" className="button" disabled={cannot}>
        {t('showWords')}
      </button>
      {monero}
    </form>
  );
}
