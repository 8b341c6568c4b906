/** The first step to real money: a new wallet, one from words, or the passphrase of the one that is there. */
import { type FormEvent, type ReactNode, useState } from 'react';
import type { Result } from '../../bridge.ts';
import { useConnection, useData } from '../../data.tsx';
import { useText } from '../../i18n.ts';
import { useCustody, useKeyholder } from '../../keyholder.ts';
import { Choices, Field } from '../../parts/controls.tsx';
import { Notice } from '../../parts/parts.tsx';
import { Code } from '../developers/connect.tsx';
import '../developers/developers.css';
import { useDoing } from '../wallet/doing.ts';
import { PASSPHRASE_CHARS_MIN, whyNot } from '../wallet/secret.tsx';
import TEXTS from './live-texts.ts';
import { type Past, usePast, WordsField } from './past.tsx';
import { Head } from './steps.tsx';

type Wallet = Result<'wallet.status'>['wallet'];

/** `words`: those to be written down and proved; null: there is nothing to prove. `remember`: in the system's keychain. */
export type Opened = { passphrase: string; words: string[] | null; past: Past | null; remember: boolean };

const COMMAND = 'countinghouse business add --name "My shop" --network mainnet';

type WalletProps = { wallet: Wallet; onOpened(opened: Opened): void };

export function LiveWallet({ wallet, onOpened }: WalletProps): ReactNode {
  const t = useText(TEXTS);
  const { bridge, session } = useData();
  if (wallet.separate || !session.approvals) {
    return (
      <>
        <Head
          title={t('commandTitle')}
          note={t(session.home !== null ? 'commandHome' : wallet.separate ? 'commandSeparate' : 'commandOff')}
        />
        <Code
          text={session.home === null ? COMMAND : COMMAND.replace('countinghouse', 'countinghouse --server NAME')}
        />
      </>
    );
  }
  return (
    <>
      {wallet.state === 'none' ? (
        <Make onOpened={onOpened} />
      ) : (
        <Open unproved={wallet.words_unproved} onOpened={onOpened} />
      )}
      <Notice tone="quiet" title={t('trustTitle')}>
        {t(session.place === 'desktop' ? 'trustDesktop' : 'trust')}
      </Notice>
      {!bridge.desktop && (
        <Notice tone="quiet" title={t('keychainTitle')}>
          {t('keychain')}
        </Notice>
      )}
    </>
  );
}

function Open({ unproved, onOpened }: { unproved: boolean; onOpened(opened: Opened): void }): ReactNode {
  const t = useText(TEXTS);
  const { up } = useConnection();
  const keyholder = useKeyholder();
  const custody = useCustody();
  const { error, busy, run } = useDoing();
  const [passphrase, setPassphrase] = useState('');
  const [remember, setRemember] = useState(false);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    let words: string[] | null = null;
    const work = async (): Promise<void> => {
      if (unproved) words = await custody.words(passphrase);
      else await keyholder.unlock(passphrase);
    };
    void run(work).then((done) => done && onOpened({ passphrase, words, past: null, remember }));
  };
  return (
    <>
      <Head title={t('openTitle')} note={t(unproved ? 'openUnproved' : 'openNote')} />
      <form className="form" onSubmit={submit}>
        <Field
          label={t('passphrase')}
          type="password"
          autoFocus
          value={passphrase}
          onChange={(event) => setPassphrase(event.target.value)}
          error={error ? whyNot(error, t('wrong')) : undefined}
        />
        <RememberBox checked={remember} onChange={setRemember} />
        <button type="submit" className="button filled large" disabled={!up || busy || passphrase === ''}>
          {t('next')}
        </button>
      </form>
    </>
  );
}

function Make({ onOpened }: { onOpened(opened: Opened): void }): ReactNode {
  const t = useText(TEXTS);
  const { up } = useConnection();
  const custody = useCustody();
  const { error, busy, run } = useDoing();
  const [from, setFrom] = useState<'new' | 'words'>('new');
  const [words, setWords] = useState('');
  const { past, isRight, fields } = usePast();
  const [passphrase, setPassphrase] = useState('');
  const [again, setAgain] = useState('');
  const [remember, setRemember] = useState(false);
  const imported = from === 'words';
  const isLong = [...passphrase].length >= PASSPHRASE_CHARS_MIN;
  const isReady = up && !busy && isLong && passphrase === again && (!imported || (words.trim() !== '' && isRight));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!isReady) return;
    let made: string[] | null = null;
    const work = async (): Promise<void> => {
      made = await custody.create(passphrase, imported ? words : null);
    };
    const opened = () => ({ passphrase, words: made, past: imported ? past : null, remember });
    void run(work).then((done) => done && onOpened(opened()));
  };
  const more = (
    <div className="first-import">
      <WordsField label={t('typeWords')} value={words} onChange={setWords} />
      {fields}
    </div>
  );
  return (
    <>
      <Head title={t('makeTitle')} note={t('makeNote')} />
      <form className="form" onSubmit={submit}>
        <Choices<'new' | 'words'>
          label={t('wallet')}
          value={from}
          onChange={setFrom}
          options={[
            { value: 'new', title: t('newWallet'), text: t('newWalletText') },
            { value: 'words', title: t('haveWords'), text: t('haveWordsText'), more },
          ]}
        />
        <Field
          label={t('newPassphrase')}
          type="password"
          autoComplete="new-password"
          hint={t('passphraseHint', { n: PASSPHRASE_CHARS_MIN })}
          value={passphrase}
          onChange={(event) => setPassphrase(event.target.value)}
        />
        <Field
          label={t('passphraseAgain')}
          type="password"
          autoComplete="new-password"
          value={again}
          onChange={(event) => setAgain(event.target.value)}
          error={again !== '' && again !== passphrase ? t('differs') : undefined}
        />
        <RememberBox checked={remember} onChange={setRemember} />
        {error && <p className="bad">{whyNot(error, t('wrong'))}</p>}
        <button type="submit" className="button filled large" disabled={!isReady}>
          {t(busy ? 'making' : imported ? 'importIt' : 'makeIt')}
        </button>
      </form>
    </>
  );
}

/** Only the desktop program reaches the keychain, where it signs. */
function RememberBox({ checked, onChange }: { checked: boolean; onChange(checked: boolean): void }): ReactNode {
  const t = useText(TEXTS);
  const { bridge } = useData();
  if (!bridge.desktop?.keychain) return null;
  return (
    <label className="check">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.target.checked)} />
      <span>{t('remember')}</span>
    </label>
  );
}
