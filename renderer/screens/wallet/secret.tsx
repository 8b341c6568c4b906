/** Rules and words about passphrases. */
import { type FormEvent, type ReactNode, useState } from 'react';
import { useConnection } from '../../data.tsx';
import { useText } from '../../i18n.ts';
import { Field } from '../../parts/controls.tsx';
import { Reason } from '../../parts/parts.tsx';
import { useDoing } from './doing.ts';
import TEXTS from './texts.ts';

/** Of a new one. */
export const PASSPHRASE_CHARS_MIN = 10;

/** The words for a refused passphrase; every other error in its own words. */
export const whyNot = (error: Error, wrong: string): ReactNode =>
  'code' in error && error.code === 'vault.passphrase' ? wrong : <Reason error={error} />;

type PassphraseProps = {
  label: string;
  value: string;
  onChange(passphrase: string): void;
  /** Until the next try, after wrong ones. */
  waitSeconds: number;
  error: Error | null;
};

/** The passphrase of the wallet, and why the last one was refused. */
export function PassphraseField({ label, value, onChange, waitSeconds, error }: PassphraseProps): ReactNode {
  const t = useText(TEXTS);
  return (
    <Field
      label={label}
      type="password"
      value={value}
      onChange={(event) => onChange(event.target.value)}
      error={waitSeconds > 0 ? t('wait', { n: waitSeconds }) : error ? whyNot(error, t('wrong')) : undefined}
    />
  );
}

type FormProps = {
  label: string;
  action: string;
  /** Whether it is the screen's main button. */
  isMain?: boolean;
  waitSeconds: number;
  work(passphrase: string): Promise<unknown>;
};

/** Asks for the wallet's passphrase for one thing that needs it. */
export function PassphraseForm({ label, action, isMain = false, waitSeconds, work }: FormProps): ReactNode {
  const { up } = useConnection();
  const { error, busy, run } = useDoing();
  const [passphrase, setPassphrase] = useState('');
  const isReady = up && !busy && waitSeconds === 0 && passphrase !== '';
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isReady) void run(() => work(passphrase).finally(() => setPassphrase('')));
  };
  return (
    <form className="form" onSubmit={submit}>
      <PassphraseField
        label={label}
        waitSeconds={waitSeconds}
        error={error}
        value={passphrase}
        onChange={setPassphrase}
      />
      <button type="submit" className={isMain ? 'button filled' : 'button'} disabled={!isReady}>
        {action}
      </button>
    </form>
  );
}
