/** The passphrase's field, and what is wrong with the last one. */
import type { ReactNode } from 'react';
import { useData } from '../../data.tsx';
import { useText } from '../../i18n.ts';
import { Field } from '../../parts/controls.tsx';
import TEXTS from './texts.ts';

type PassphraseProps = {
  label: string;
  hint?: string;
  value: string;
  type(text: string): void;
  error: Error | null;
  wait: number;
};

export const isWrongPassphrase = (error: Error): boolean => 'code' in error && error.code === 'vault.passphrase';

export function Passphrase({ label, hint, value, type, error, wait }: PassphraseProps): ReactNode {
  const t = useText(TEXTS);
  const { session } = useData();
  const wrong = error && isWrongPassphrase(error) ? t('wrongPassphrase') : null;
  return (
    <Field
      label={label}
      type="password"
      value={value}
      onChange={(event) => type(event.target.value)}
      hint={hint ?? (session.place === 'browser' ? t('inBrowser', { host: location.host }) : t('onDesktop'))}
      error={wait > 0 ? t('waitNow', { n: wait }) : wrong}
    />
  );
}
