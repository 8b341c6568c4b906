/** Rules and words about passphrases. */
import type { ReactNode } from 'react';
import { Foreign } from '../../parts/parts.tsx';

/** Of a new one. */
export const PASSPHRASE_CHARS_MIN = 10;

/** The words for a refused passphrase; every other error in its own words. */
export const whyNot = (error: Error, wrong: string): ReactNode =>
  'code' in error && error.code === 'vault.passphrase' ? wrong : <Foreign text={error.message} />;
