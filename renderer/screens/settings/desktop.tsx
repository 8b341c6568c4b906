/** The desktop program's own settings: its start at login, and the keychain that opens the wallet. */
import { useMutation, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Desktop, Keychain as SystemKeychain } from '../../bridge.ts';
import { useCall, useData } from '../../data.tsx';
import { Notice, Problem, Section } from '../../parts/parts.tsx';
import { useDoing } from '../wallet/doing.ts';
import { PassphraseForm } from '../wallet/secret.tsx';
import type { T } from './settings.tsx';

const SETTINGS = ['desktop.settings'];

/** Absent where the program cannot be started at login, as from a clone. */
export function StartAtLogin({ desktop, t }: { desktop: Desktop; t: T }): ReactNode {
  const { client } = useData();
  const { data } = useQuery({ queryKey: SETTINGS, queryFn: () => desktop.settings() });
  const change = useMutation({
    mutationFn: (on: boolean) => desktop.setStartAtLogin(on),
    // the answer is what the system says now
    onSuccess: (settings) => client.setQueryData(SETTINGS, settings),
  });
  if (!data || data.startAtLogin === null) return null;
  return (
    <>
      <label className="check">
        <input
          type="checkbox"
          checked={data.startAtLogin}
          disabled={change.isPending}
          onChange={(event) => change.mutate(event.target.checked)}
        />
        <span>{t('atLogin')}</span>
      </label>
      {change.error && <Problem error={change.error} />}
    </>
  );
}

/** Absent without a wallet, and where the configuration says how it is opened. */
export function Keychain({ keychain, t }: { keychain: SystemKeychain; t: T }): ReactNode {
  const wallet = useCall('wallet.status', {}).data?.wallet;
  const isOffered =
    wallet && wallet.state !== 'none' && !wallet.separate && /^(?:prompt|keychain)$/.test(wallet.unlock);
  if (!isOffered) return null;
  return (
    <Section title={t('keychain')} note={t('keychainNote')}>
      {wallet.unlock === 'keychain' ? (
        <Forget keychain={keychain} t={t} />
      ) : (
        <PassphraseForm
          label={t('passphrase')}
          action={t('remember')}
          waitSeconds={wallet.retry_after_seconds}
          work={(passphrase) => keychain.remember(passphrase)}
        />
      )}
    </Section>
  );
}

function Forget({ keychain, t }: { keychain: SystemKeychain; t: T }): ReactNode {
  const { error, busy, run } = useDoing();
  return (
    <>
      <Notice tone="good" title={t('remembered')}>
        {t('rememberedText')}
      </Notice>
      <button type="button" className="button" disabled={busy} onClick={() => void run(() => keychain.forget())}>
        {t('forget')}
      </button>
      {error && <Problem error={error} />}
    </>
  );
}
