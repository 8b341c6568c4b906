/** The wallet: its lock and passphrase, its words, backup and drill, the proof of the books, and its addresses. */
import { type FormEvent, type ReactNode, useEffect, useState } from 'react';
import type { Result } from '../../bridge.ts';
import { useCall, useData } from '../../data.tsx';
import { useBusiness } from '../../frame/business.tsx';
import { Page } from '../../frame/page.tsx';
import { useText } from '../../i18n.ts';
import { useKeyholder } from '../../keyholder.ts';
import { Field } from '../../parts/controls.tsx';
import { useTimes } from '../../parts/format.ts';
import { Answer, Facts, Notice, Section, State } from '../../parts/parts.tsx';
import { href, useHashRoute } from '../../router.ts';
import { Addresses } from './addresses.tsx';
import { Backup } from './backup.tsx';
import { useDoing } from './doing.ts';
import { Off } from './off.tsx';
import { Proof } from './proof.tsx';
import { PASSPHRASE_CHARS_MIN, PassphraseForm, whyNot } from './secret.tsx';
import { SecretWords } from './secret-words.tsx';
import TEXTS from './texts.ts';
import './wallet.css';

type Wallet = Result<'wallet.status'>['wallet'];

const READ_EVERY_MS = 15_000;

/** The keys that may have been revoked since the data was made, as the operator knows them. */
const namesOf = ({ sleeping_keys }: Result<'restore.status'>): string =>
  sleeping_keys.map(({ business, name, hint }) => `${name} (${business}, ${hint}…)`).join(', ');

export default function WalletScreen(): ReactNode {
  const t = useText(TEXTS);
  const status = useCall('wallet.status', {}, { every: READ_EVERY_MS });
  const restored = useCall('restore.status', {});
  const business = useBusiness();
  const { session } = useData();
  const hasWallet = status.data !== undefined && status.data.wallet.state !== 'none';
  const [part = ''] = useHashRoute().parts;
  const isRead = status.data !== undefined && business !== null;
  useEffect(() => {
    if (isRead) document.getElementById(part)?.scrollIntoView();
  }, [part, isRead]);
  return (
    <Page title={t('title')}>
      {restored.data?.quarantined && (
        <div className="section">
          <Notice tone="warn" title={t('quarantine')}>
            {t('quarantineText')}
            {restored.data.sleeping_keys.length > 0 && <p>{t('sleeping', { keys: namesOf(restored.data) })}</p>}
          </Notice>
        </div>
      )}
      <Answer of={status}>
        {({ wallet }) => (
          <>
            <Lock wallet={wallet} />
            {wallet.state !== 'none' && <SecretWords wallet={wallet} />}
            {wallet.state !== 'none' && <Backup wallet={wallet} />}
          </>
        )}
      </Answer>
      <Proof />
      {business && <Addresses key={business.id} business={business} />}
      {session.approvals && hasWallet && <Change />}
    </Page>
  );
}

function Lock({ wallet }: { wallet: Wallet }): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  const { session } = useData();
  if (wallet.state === 'none') {
    return (
      <div className="section">
        <Notice
          tone="main"
          title={t('none')}
          actions={
            <a className="button filled" href={href('first', 'live')}>
              {t('makeOne')}
            </a>
          }
        >
          {t('noneText')}
        </Notice>
      </div>
    );
  }
  const isOpen = wallet.state === 'unlocked';
  const rows: [ReactNode, ReactNode][] = [
    [t('fingerprint'), <code key="fingerprint">{wallet.fingerprint}</code>],
    [t('opens'), wallet.unlock === 'prompt' ? t('byYou') : t('bySelf', { source: wallet.unlock })],
  ];
  if (wallet.locks_at !== null) rows.push([t('locks'), t('locksAt', { time: times.clock(wallet.locks_at) })]);
  return (
    <Section title={t('lockTitle')}>
      <p>
        <State shape={isOpen ? 'done' : 'ended'} tone={isOpen ? 'good' : 'quiet'}>
          {t(isOpen ? 'unlocked' : 'locked')}
        </State>
      </p>
      <Facts rows={rows} />
      {isOpen ? <LockNow /> : session.approvals ? <Unlock wallet={wallet} /> : <Off />}
    </Section>
  );
}

function LockNow(): ReactNode {
  const t = useText(TEXTS);
  const keyholder = useKeyholder();
  const { busy, run } = useDoing();
  return (
    <button type="button" className="button" disabled={busy} onClick={() => void run(() => keyholder.lock())}>
      {t('lock')}
    </button>
  );
}

function Unlock({ wallet }: { wallet: Wallet }): ReactNode {
  const t = useText(TEXTS);
  const keyholder = useKeyholder();
  return (
    <PassphraseForm
      isMain
      label={t('passphrase')}
      action={t('unlock')}
      waitSeconds={wallet.retry_after_seconds}
      work={(passphrase) => keyholder.unlock(passphrase)}
    />
  );
}

function Change(): ReactNode {
  const t = useText(TEXTS);
  const keyholder = useKeyholder();
  const { error, busy, run } = useDoing();
  const [done, setDone] = useState(false);
  const [old, setOld] = useState('');
  const [fresh, setFresh] = useState('');
  const [again, setAgain] = useState('');
  const isReady = old !== '' && fresh.length >= PASSPHRASE_CHARS_MIN && fresh === again && !busy;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void run(() => keyholder.changePassphrase(old, fresh)).then((isDone) => {
      setDone(isDone);
      for (const clear of [setOld, setFresh, setAgain]) clear('');
    });
  };
  const secret = (label: string, value: string, set: (text: string) => void) => ({
    label,
    value,
    type: 'password',
    onChange: (event: { target: { value: string } }) => set(event.target.value),
  });
  return (
    <Section title={t('changeTitle')} note={t('changeNote')}>
      {done && (
        <Notice tone="good" title={t('changed')}>
          {t('changedText')}
        </Notice>
      )}
      <form className="form" onSubmit={submit}>
        <Field {...secret(t('old'), old, setOld)} error={error ? whyNot(error, t('wrong')) : undefined} />
        <Field {...secret(t('fresh'), fresh, setFresh)} hint={t('short', { n: PASSPHRASE_CHARS_MIN })} />
        <Field
          {...secret(t('again'), again, setAgain)}
          error={again !== '' && again !== fresh ? t('differs') : undefined}
        />
        <button type="submit" className="button" disabled={!isReady}>
          {t('change')}
        </button>
      </form>
    </Section>
  );
}
