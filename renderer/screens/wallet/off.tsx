/** Why no passphrase is asked for here. */
import type { ReactNode } from 'react';
import { useData } from '../../data.tsx';
import { useText } from '../../i18n.ts';
import TEXTS from './texts.ts';

export function Off(): ReactNode {
  const t = useText(TEXTS);
  const { home } = useData().session;
  return <p className="quiet">{home === null ? t('off') : t('atHome', { machine: home })}</p>;
}
